"""A record that bears no name of ours: it is known by being new in a list.

What was there is read before the write, and kept by ids alone; after a lost answer the list is read again. Exactly one
newcomer is the one, none is "not there", and of several nobody can tell which. The law of this file: a filter is not
trusted, as gateways match parts of texts; every row is compared.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from gateway_async._secrets import mask_text
from gateway_async._wire.call import NOT_DONE, Call, NotDone
from gateway_async._wire.convert import FieldError, structure
from gateway_async._wire.inquiry import Inquiry
from gateway_async._wire.noun import Noun
from gateway_async._wire.query import filters
from gateway_async._wire.recovery import EXISTS
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.record import Record

__all__ = ["KIND", "check_new", "newcomer", "read_before"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")

KIND: Final = "newcomer"
"""The kind of such an inquiry. It stands in ledgers on disk: it is never given to anything else."""

_NEWEST: Final = 100
"""Rows that are read: of what came in meanwhile nobody expects more."""


def read_before(noun: Noun[R], expected: Mapping[str, Any], then: Callable[[Inquiry], T]) -> Call[T]:
    """The read of what is there before a write.

    Args:
        noun: what the write makes.
        expected: what the record will say of itself, such as whose it is.
        then: the inquiry that finds what the write makes → the result of the read.
    """

    def read(content: Any) -> T:
        rows = list(_rows(noun, content, expected))
        before = {"ids": [str(row["id"]) for row in rows], "created_ts": max(map(_created, rows), default=0)}
        return then(Inquiry(kind=KIND, resource=noun.resource, id="", expected=expected, mark=EXISTS.name, sent=before))

    return _newest(noun, expected, read)


def newcomer(noun: Noun[R], inquiry: Inquiry) -> "Call[R | NotDone]":
    """The read that answers an inquiry of `read_before`."""
    known, since = set(inquiry.sent["ids"]), inquiry.sent["created_ts"]

    def read(content: Any) -> R | NotDone:
        rows = [row for row in _rows(noun, content, inquiry.expected) if str(row["id"]) not in known]
        rows = [row for row in rows if not (noun.api_id and row.get(noun.api_id))]  # somebody else's, who named it
        new = [row for row in rows if _created(row) >= since]  # an older one has only moved up in the list
        if len(new) > 1:
            ids = mask_text(", ".join(str(row["id"]) for row in new))
            raise FieldError(f".{noun.plural}", f"any of these may be the one, all are new: {ids}")
        return structure(noun.record, new[0]) if new else NOT_DONE

    return _newest(noun, inquiry.expected, read)


def check_new(inquiry: Inquiry, record: Mapping[str, Any]) -> None:
    """Compare the raw record of the write's own answer: an older answer may come late, or another's.

    Raises:
        MismatchedReplyError: it was there before.
    """
    if str(record.get("id")) in inquiry.sent["ids"]:
        raise MismatchedReplyError(("id is that of a record that was there before",))


def _newest(noun: Noun[Any], expected: Mapping[str, Any], read: Callable[[Any], T]) -> Call[T]:
    params = (*filters(expected), ("sort", "-created_ts"), ("page", "1"), ("page_size", str(_NEWEST)))
    return Call(method="GET", path=noun.path, params=params, read=read)


def _rows(noun: Noun[Any], content: Any, expected: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The raw rows that are what was asked for.

    Raises:
        FieldError: it is no list of such records.
    """
    rows = content.get(noun.plural) if isinstance(content, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.get("id") for row in rows):
        raise FieldError(f".{noun.plural}", "missing, or not a list of records")
    yield from (row for row in rows if all(str(row.get(name)) == str(value) for name, value in expected.items()))


def _created(row: Mapping[str, Any]) -> int:
    created = str(row.get("created_ts"))
    return int(created) if created.isascii() and created.isdigit() else 0
