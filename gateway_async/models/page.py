"""`Page`: one page of a list."""

from collections.abc import Iterator
from typing import Generic, TypeVar

import attrs

from gateway_async._text import pluralize

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Page(Generic[T]):
    """One page of a list (contract, *Pagination, sorting*). It is a collection of its records."""

    records: tuple[T, ...] = attrs.field(repr=lambda records: f"<{len(records)} {pluralize(len(records), 'record')}>")
    """The records, in the gateway's order."""
    number: int
    """The page's number, 1-based regardless of the gateway's numbering."""
    total_count: int | None
    """The number of records on all pages; None when the gateway does not report it."""
    page_count: int | None
    """The number of pages; None when the gateway does not report it."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)
