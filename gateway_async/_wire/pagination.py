"""Readers for pages of a list and for single rows in it (contract, *Pagination, sorting*).

A page's number is the requested one: `currentPage` is 0-based or 1-based in different responses. `links` are never
followed.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from gateway_async._wire.convert.read import FieldError
from gateway_async.models.page import Page

__all__ = ["find_row", "is_last", "read_page"]

T = TypeVar("T")

_FILTER_SYNTAX: Final = ",|\\"
"""Characters with a special meaning in a filter: alternatives, ranges, escapes."""


def read_page(content: Any, plural: str, number: int, read_record: Callable[[Any], T]) -> Page[T]:
    """Read the page requested as `number` from the decoded response.

    Raises:
        FieldError: the response is not a list of such records.
    """
    if not isinstance(content, dict) or not isinstance(content.get(plural), list):
        raise FieldError(f".{plural}", "missing, or not a list")
    pagination = _mapping(_mapping(content.get("meta")).get("pagination"))
    return Page(
        records=_records(content[plural], plural, read_record),
        number=number,
        total_count=_count(pagination, "totalCount"),
        page_count=_count(pagination, "pageCount"),
    )


def _records(rows: list[Any], plural: str, read_record: Callable[[Any], T]) -> tuple[T, ...]:
    records: list[T] = []
    try:
        for row in rows:
            records.append(read_record(row))  # noqa: PERF401  its length says which row failed
    except FieldError as error:
        raise FieldError(f".{plural}[{len(records)}]{error.path}", error.reason) from None
    return tuple(records)


def is_last(page: Page[Any]) -> bool:
    """Return whether `page` is the last one. Without a page count, the first empty page is the last."""
    if page.page_count is None:
        return not page.records
    return page.number >= page.page_count


def find_row(content: Any, plural: str, wanted: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Find the raw row that has the wanted values.

    Filters match parts of a text, so every row is compared. A row without a location may be the wanted one. None means
    that the first page is the complete list and does not contain the row.

    Raises:
        FieldError: the response is not a list or may be incomplete, or several rows have the wanted values.
    """
    page = read_page(content, plural, 1, _raw_row)
    rows = [row for row in page.records if all(_has_value(row, name, value) for name, value in wanted.items())]
    if len(rows) > 1:
        raise FieldError(f".{plural}", f"{len(rows)} rows have the id")
    if rows:
        return rows[0]
    if page.page_count is None and page.total_count is None:
        raise FieldError(".meta.pagination", "missing, so the list may be incomplete")
    if (page.page_count or 0) > 1 or (page.total_count or 0) > len(page.records):
        raise FieldError(".meta.pagination", "the list has more rows than were read")
    if any(character in value for value in wanted.values() for character in _FILTER_SYNTAX):
        raise FieldError(f".{plural}", "the id cannot be used in a filter, so its absence proves nothing")
    return None


def _raw_row(row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise FieldError("", "not an object")
    return row


def _has_value(row: Mapping[str, Any], name: str, value: str) -> bool:
    got = row.get(name)
    return str(got) == value or (name == "location_id" and got in (None, ""))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(pagination: Mapping[str, Any], name: str) -> int | None:
    value = pagination.get(name)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
