"""A list's answer → a page; a page → whether there is another one (contract, *Pagination, sorting*).

Pages are counted by the number they were asked for: `currentPage` has two bases, and `links` are never followed.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gateway_async._wire.convert import FieldError
from gateway_async.models.page import Page

__all__ = ["is_last", "read_page"]

T = TypeVar("T")


def read_page(content: Any, plural: str, number: int, read_record: Callable[[Any], T]) -> Page[T]:
    """The page that was asked for as `number` from a decoded list answer.

    Raises:
        FieldError: it is no list of such records.
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
    """Whether nothing follows `page`. Without a page count, the first empty page is the last."""
    if page.page_count is None:
        return not page.records
    return page.number >= page.page_count


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(pagination: Mapping[str, Any], name: str) -> int | None:
    value = pagination.get(name)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
