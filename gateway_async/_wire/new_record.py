"""Lookup of a record without an integrator id, by comparing a list before and after the write.

The list is read before the write, and only the ids of its rows are kept. If the response is lost, the list is read
again:

- one new row is the record of the write;
- without a new row, the write was not executed so far;
- with several new rows, the outcome stays unknown.

Gateways match filters against parts of a text, so every row is also compared here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus
from gateway_async._wire.convert.read import FieldError
from gateway_async._wire.convert.records import structure
from gateway_async._wire.evidence import EXISTS
from gateway_async._wire.outcome_query import OutcomeQuery
from gateway_async._wire.pagination import read_page
from gateway_async._wire.query import filters
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.record import Record

__all__ = ["KIND", "check_new", "new_record", "read_before"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")

KIND: Final = "new_record"
"""The kind of such an outcome query. Ledgers on disk contain this value, so its meaning must never change."""

_MAX_ROWS: Final = 100
"""Maximum rows to read. Between two reads, more new rows than this are not expected."""


def read_before(spec: ResourceSpec[R], expected: Mapping[str, Any], then: Callable[[OutcomeQuery], T]) -> Call[T]:
    """Build the read of the existing records before a write.

    Args:
        spec: the resource that the write creates.
        expected: values that the new record will have, such as its contact.
        then: builds the result of the read from the outcome query that finds the new record.
    """

    def read(content: Any) -> T:
        rows = list(_rows(spec, content, expected))
        before = {"ids": [str(row["id"]) for row in rows], "created_ts": max(map(_created_ts, rows), default=0)}
        return then(
            OutcomeQuery(kind=KIND, resource=spec.resource, id="", expected=expected, evidence=EXISTS.name, sent=before)
        )

    return Call(request=_list_newest(spec, expected), read=read)


def new_record(spec: ResourceSpec[R], outcome_query: OutcomeQuery) -> Lookup[R]:
    """Build the lookup for an outcome query of `read_before`."""
    known, since = set(outcome_query.sent["ids"]), outcome_query.sent["created_ts"]

    def read(content: Any) -> LookupResult[R]:
        rows = [row for row in _rows(spec, content, outcome_query.expected) if str(row["id"]) not in known]
        rows = [row for row in rows if not (spec.api_id and row.get(spec.api_id))]  # one with an id is another call's
        new = [row for row in rows if _created_ts(row) >= since]  # an older one has only moved up in the list
        if len(new) > 1:
            ids = mask_text(", ".join(str(row["id"]) for row in new))
            raise FieldError(f".{spec.plural}", f"several records are new: {ids}")
        if not new:
            return LookupResult(LookupStatus.NOT_EXECUTED)
        return LookupResult(LookupStatus.EXECUTED, structure(spec.record, new[0]))

    return Lookup(request=_list_newest(spec, outcome_query.expected), read=read)


def check_new(outcome_query: OutcomeQuery, record: Mapping[str, Any]) -> None:
    """Check that the raw record in the write's own response is new.

    The response may be a late one of an earlier request, or another request's.

    Raises:
        MismatchedReplyError: the record existed before the write.
    """
    if str(record.get("id")) in outcome_query.sent["ids"]:
        raise MismatchedReplyError(("id is that of a record that existed before",))


def _list_newest(spec: ResourceSpec[Any], expected: Mapping[str, Any]) -> HttpRequest:
    params = (*filters(expected), ("sort", "-created_ts"), ("page", "1"), ("page_size", str(_MAX_ROWS)))
    return HttpRequest(path=spec.path, params=params)


def _rows(spec: ResourceSpec[Any], content: Any, expected: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the raw rows that have the expected values.

    Raises:
        FieldError: `content` is not a list of such records, or may be incomplete.
    """
    page = read_page(content, spec.plural, 1, lambda row: row)
    if not all(isinstance(row, dict) and row.get("id") for row in page.records):
        raise FieldError(f".{spec.plural}", "not a list of records")
    if page.page_count is None and page.total_count is None:
        raise FieldError(".meta.pagination", "missing, so the list may be incomplete")
    for row in page.records:
        if all(str(row.get(name)) == str(value) for name, value in expected.items()):
            yield row


def _created_ts(row: Mapping[str, Any]) -> int:
    created = str(row.get("created_ts"))
    return int(created) if created.isascii() and created.isdigit() else 0
