"""Lookup of a new record: the outcome of a create without an integrator id.

The ids in a list are read before the write and kept in the outcome query. The list is read again afterwards:

- One new row with the sent values is the record of the write.
- Without a new row in a complete list, the write was not executed so far.
- With several such rows, or new rows with other values only, the outcome stays unknown.

A row is new if its id was not in a complete list before. If that list was not complete, the row may have moved up, and
only its time of creation shows that it is new. An older row leaves the outcome unknown, because the gateway's clock may
have stepped back. Gateways match filters against parts of a text, so every row is also compared here.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

import attrs

from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus, OutcomeQuery, Resolver
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import EXISTS
from gateway_async._wire.pagination import LISTED_ROWS, check_complete, check_link, read_page
from gateway_async._wire.query import filters
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import check_belongs, find_differences
from gateway_async._wire.rows import structure
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.record import Record

R = TypeVar("R", bound=Record)
T = TypeVar("T")

NEW_RECORD: Final = "new_record"
"""The kind of these outcome queries. Ledgers on disk contain the value, so its meaning must never change."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def with_new_record_lookup(
    call: Call[R],
    spec: ResourceSpec[R],
    expected: Mapping[str, Any],
    *,
    values: Mapping[str, Any] = _NOTHING,
    in_response: Mapping[str, Any] | None = None,
    response_spec: ResourceSpec[R] | None = None,
) -> Call[R]:
    """Add the lookup of a new record to a create. Its prerequisite reads the existing records.

    Args:
        call: creates the record.
        spec: the resource that lists the record.
        expected: filters of the list, which the new record matches, such as its contact.
        values: other sent values of the new record. One that a record does not show proves nothing.
        in_response: values that the response to the create must not contradict; by default `expected`.
        response_spec: reads that response, if it is not `spec`.
    """

    def add_lookup(outcome_query: OutcomeQuery) -> Call[R]:
        def read(content: Any) -> R:
            record = (response_spec or spec).unwrap(content)
            check_belongs({**expected, **values} if in_response is None else in_response, record)
            check_new(outcome_query, record)
            return call.read(content)

        return call.with_resolver(outcome_query, Resolver(lookup=partial(new_record, spec, outcome_query)), read)

    return attrs.evolve(call, prerequisite=read_before(spec, expected, add_lookup, values))


def read_before(
    spec: ResourceSpec[R],
    expected: Mapping[str, Any],
    then: Callable[[OutcomeQuery], T],
    values: Mapping[str, Any] = _NOTHING,
) -> Call[T]:
    """Build the read of the existing records before a write.

    Args:
        spec: the resource that the write creates.
        expected: filters of the list, which the new record will match, such as its contact.
        then: builds the result of the read from the outcome query that finds the new record.
        values: other values that the new record will have.
    """

    def read(content: Any) -> T:
        rows, is_complete = _rows(spec, content, expected)
        ids, created_ts = [str(row["id"]) for row in rows], max(map(_created_ts, rows), default=0)
        before = {"ids": ids, "created_ts": created_ts, "is_complete": is_complete}
        sent = before | ({"values": dict(values)} if values else {})
        return then(
            OutcomeQuery(
                kind=NEW_RECORD, resource=spec.resource, id="", expected=expected, evidence=EXISTS.name, sent=sent
            )
        )

    return Call(request=_list_newest(spec, expected), read=read, fresh_connection=True)


def new_record(spec: ResourceSpec[R], outcome_query: OutcomeQuery) -> Lookup[R]:
    """Build the lookup for an outcome query of `read_before`."""
    known, since = set(outcome_query.sent["ids"]), outcome_query.sent["created_ts"]
    was_complete = outcome_query.sent.get("is_complete", False)
    expected, values = outcome_query.expected, outcome_query.sent.get("values", _NOTHING)

    def read(content: Any) -> LookupResult[R]:
        listed, is_complete = _rows(spec, content, expected)
        rows = [row for row in listed if all(str(row.get(name)) == str(value) for name, value in expected.items())]
        unknown = [row for row in rows if str(row["id"]) not in known]
        if spec.api_id:  # a row with an integrator id is of another call
            unknown = [row for row in unknown if not row.get(spec.api_id)]
        new = [row for row in unknown if was_complete or _created_ts(row) >= since]
        if new:
            return LookupResult(LookupStatus.EXECUTED, structure(spec.record, _only_match(spec, new, values)))
        if unknown or not is_complete:
            raise FieldError(f".{spec.plural}", "the list has more rows than were read, so one may be new")
        return LookupResult(LookupStatus.NO_RECORD)

    return Lookup(request=_list_newest(spec, expected), read=read)


def _only_match(spec: ResourceSpec[Any], new: list[Mapping[str, Any]], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The only new row that has the sent values.

    Raises:
        FieldError: no row has them, so a gateway may have changed them; or several rows have them.
    """
    matching = [row for row in new if not find_differences(values, row)]
    if len(matching) == 1:
        return matching[0]
    ids = mask_text(", ".join(str(row["id"]) for row in matching or new))
    raise FieldError(f".{spec.plural}", f"several records are new: {ids}" if matching else f"not as sent: {ids}")


def check_new(outcome_query: OutcomeQuery, record: Mapping[str, Any]) -> None:
    """Check that the raw record in the write's own response is new.

    Raises:
        MismatchedReplyError: the record existed before the write, so the response answers another request.
    """
    if str(record.get("id")) in outcome_query.sent["ids"]:
        raise MismatchedReplyError(("id is that of a record that existed before",))


def _list_newest(spec: ResourceSpec[Any], expected: Mapping[str, Any]) -> HttpRequest:
    params = (*filters(expected), ("sort", "-created_ts"), ("page", "1"), ("page_size", str(LISTED_ROWS)))
    return HttpRequest(path=spec.path, params=params)


def _rows(spec: ResourceSpec[Any], content: Any, expected: Mapping[str, Any]) -> tuple[tuple[Any, ...], bool]:
    """The listed rows, and whether all are there.

    Raises:
        FieldError: `content` is not a list of such records.
        MismatchedReplyError: it is the list of another request.
    """
    check_link(content, _list_newest(spec, expected).params)
    page = read_page(content, spec.plural, 1, lambda row: row)
    if not all(isinstance(row, dict) and row.get("id") for row in page.records):
        raise FieldError(f".{spec.plural}", "not a list of records")
    if page.page_count is None and page.total_count is None:
        raise FieldError(".meta.pagination", "missing, so the list may be incomplete")
    try:
        check_complete(content, page)
        is_complete = True
    except FieldError:
        is_complete = False
    return page.records, is_complete


def _created_ts(row: Mapping[str, Any]) -> int:
    created = str(row.get("created_ts"))
    return int(created) if created.isascii() and created.isdigit() else 0
