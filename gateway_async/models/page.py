"""`Page`: one page of a list."""

from typing import Generic, TypeVar

import attrs

__all__ = ["Page"]

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Page(Generic[T]):
    """One page of a list (contract, *Pagination, sorting*).

    Attributes:
        records: the records, in the gateway's order.
        number: the page's number, 1-based regardless of the gateway's numbering.
        total_count: the number of records on all pages; None when the gateway does not report it.
        page_count: the number of pages; None when the gateway does not report it.
    """

    records: tuple[T, ...] = attrs.field(repr=lambda records: f"<{len(records)} records>")
    number: int
    total_count: int | None
    page_count: int | None
