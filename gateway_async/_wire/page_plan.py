"""Which pages of a changing list to request, and which of its records were yielded: `PagePlan` and `RecentIds`."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import attrs

from gateway_async._wire.pagination import RawPage
from gateway_async._wire.query import MAX_PAGE_SIZE

_SMALLEST_CHOICE: Final = 20
"""Up to this size, a page may be larger than the caller wants: almost no sizes below would overlap."""

_MAX_REMEMBERED: Final = 25_000
"""Number of ids in each of the two generations; twice as many while pages are read again."""


@attrs.frozen
class PageWindow:
    """The part of a list that page `number` shows if pages have `size` records."""

    number: int
    size: int

    @property
    def start(self) -> int:
        return (self.number - 1) * self.size

    @property
    def end(self) -> int:
        return self.number * self.size


class PagePlan:
    """Chooses the pages to request, so that each one begins with records that were read before.

    When a record before the reader is removed, the first record of the next page moves to the page that was read, and
    would be skipped. Pages of slightly different sizes overlap: page 2 of 999 records begins with the last of 1000
    records. A response that contains it continues the list without a gap. The plan learns how the gateway divides it.

    Attributes:
        size: records in a page, as the caller and the gateway want it.
        overlaps: whether windows overlap. They cannot if the gateway ignores the requested size.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.overlaps = True
        self._largest = MAX_PAGE_SIZE
        self._largest_seen = 0

    def after(self, position: int, wanted: int | None = None) -> PageWindow:
        """A window of about `wanted` records, to read after the first `position` records."""
        wanted = min(wanted or self.size, self._largest)
        if self.overlaps:
            if position <= 0:
                return PageWindow(1, wanted)
            size = _overlapping_size(position, wanted, self._largest)
            if size:
                return PageWindow((position - 1) // size + 1, size)
        return PageWindow(max(position, 0) // self.size + 1, self.size)

    def observe(self, window: PageWindow, raw: RawPage[Any]) -> PageWindow:
        """Work out the window that a response shows, and learn from its size."""
        if raw.page_count is None:  # a shorter page must be the last one, so none may exceed the gateway's maximum
            self._largest = self.size
        has_requested_size, is_trial = self._has_requested_size(window, raw), self._is_trial(window)
        self._largest_seen = max(self._largest_seen, raw.row_count)
        if not self.overlaps or has_requested_size:
            return window
        shown = raw.page_size or raw.row_count
        if 0 < shown < window.size and is_trial:
            self._largest, self.size = shown, min(shown, self.size)  # the gateway's maximum
            return PageWindow(window.number, shown)
        self.overlaps = False
        self.size = raw.page_size or (raw.row_count if window.number == 1 else 0) or self.size
        return PageWindow(window.number, self.size)

    def is_end(self, window: PageWindow, raw: RawPage[Any]) -> bool:
        """Whether a response shows the end of the list.

        A full page may be followed by another one, whatever the response counts: the gateway may count records at
        another moment than it reads them.
        """
        if not self.overlaps:
            return raw.is_last
        return raw.row_count < window.size and (raw.is_last or raw.page_count is None)

    def _has_requested_size(self, window: PageWindow, raw: RawPage[Any]) -> bool:
        """Whether a response may have the requested page size; records may be removed after they were counted."""
        size = raw.page_size or window.size
        if window.number == 1 and raw.is_last and raw.row_count < min(size, window.size):
            return True  # the whole list, whatever the sizes are
        is_short = raw.is_last or (not self._is_trial(window) and (raw.page_count is None or raw.page_size is not None))
        return size == window.size and (raw.row_count == size or (raw.row_count < size and is_short))

    def _is_trial(self, window: PageWindow) -> bool:
        """Whether the gateway's maximum may be smaller than a window."""
        return window.size > self._largest_seen


@lru_cache(maxsize=1024)
def _overlapping_size(position: int, size: int, largest: int) -> int:
    """The size of a page with the record before `position`, many new records and few old ones; 0 if none."""
    begin = size - size // 4 if size > _SMALLEST_CHOICE else 2
    sizes = range(begin, min(max(size, _SMALLEST_CHOICE), largest) + 1)
    best = max(sizes, key=lambda each: min(-position % each, size) / (size + each), default=0)
    return best if best and position % best else 0


class RecentIds:
    """Remembers the ids of the last 20,000 to 100,000 records that a list has yielded.

    There are two generations; the older one is dropped when the younger one is full. The ids of a page that is read
    again become young again. In a list with a fixed order, all yielded records behind a remembered one are therefore
    remembered.

    Attributes:
        has_forgotten: whether an id was dropped whose record may still be listed.
    """

    def __init__(self) -> None:
        self.has_forgotten = False
        self._young: set[Any] = set()
        self._old: set[Any] = set()
        self._young_may_be_listed = self._old_may_be_listed = False

    @property
    def reach(self) -> int:
        """Maximum records to go back in the list and certainly reach a remembered one, if none was removed."""
        return _MAX_REMEMBERED // 2

    def among(self, ids: Iterable[Any]) -> set[Any]:
        wanted = set(ids)
        return (wanted & self._young) | (wanted & self._old)

    def remember(self, ids: Iterable[Any], *, others_are_gone: bool, may_forget: bool) -> None:
        """Remember the ids of a page, except None.

        Args:
            ids: the ids.
            others_are_gone: whether no other record that was yielded is still listed.
            may_forget: whether older ids may be dropped, because no record behind the page was yielded.
        """
        if others_are_gone:
            self._young_may_be_listed = self._old_may_be_listed = False
        new = set(ids) - {None}
        if len(self._young) + len(new) > (_MAX_REMEMBERED if may_forget else 2 * _MAX_REMEMBERED):
            self.has_forgotten = self.has_forgotten or self._old_may_be_listed
            self._old, self._old_may_be_listed = self._young, self._young_may_be_listed
            self._young = set()
        self._young |= new
        self._young_may_be_listed = True
