"""`PageStream`: iterate over a list that may change meanwhile, and fetch the next pages while one is used.

A record that is in the list from the first request to the last is yielded exactly once, if the order of the list is
fixed. Each page has to begin with a record that was yielded before (`PagePlan`); a page that does not is read again
from further ahead. Records that were yielded recently are not yielded again (`RecentIds`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, NoReturn, TypeVar

import anyio.lowlevel
import attrs

from gateway_async._background import Prefetch
from gateway_async._secrets import strip_traceback
from gateway_async._wire.pagination import RawPage
from gateway_async._wire.query import MAX_PAGE_SIZE
from gateway_async.errors import GatewayError, MalformedReplyError
from gateway_async.models.page import Page

T = TypeVar("T")
FetchPage = Callable[[int, int], Awaitable[RawPage[T]]]

_MAX_READS_WITHOUT_PROGRESS: Final = 20
"""Pages in a row without a new record, after which iteration fails."""

_FIXED: Final = frozenset({"id", "created_ts"})
"""Fields that no change of a record alters. A list that is sorted by them has a fixed order."""

_SMALLEST_CHOICE: Final = 20
"""Up to this size, a page may be larger than the caller wants: almost no sizes below would overlap."""

_MAX_REMEMBERED: Final = 25_000
"""Number of ids in each of the two generations; twice as many while pages are read again."""


async def read_in_slices(raw: RawPage[T]) -> Page[T]:
    """Read a page's records, and let other tasks run between slices."""
    records: list[T] = []
    await anyio.lowlevel.checkpoint()  # before this, the response was decoded
    try:
        for some in raw.slices():
            records += some
            await anyio.lowlevel.checkpoint()
    except GatewayError as error:
        failure = strip_traceback(error)  # the frames below contain rows
        del raw, records
    else:
        return raw.page(records)
    raise failure


@attrs.frozen
class PageWindow:
    """The part of a list that page `number` shows if pages have `size` records."""

    number: int
    size: int

    @property
    def start(self) -> int:
        """The number of records before it."""
        return (self.number - 1) * self.size

    @property
    def end(self) -> int:
        """The number of records before its end."""
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
        """Return a window of about `wanted` records, to read after the first `position` records."""
        wanted = min(wanted or self.size, self._largest)
        if self.overlaps:
            if position <= 0:
                return PageWindow(1, wanted)
            size = _overlapping_size(position, wanted, self._largest)
            if size:
                return PageWindow((position - 1) // size + 1, size)
        return PageWindow(max(position, 0) // self.size + 1, self.size)

    def observe(self, window: PageWindow, raw: RawPage[Any]) -> PageWindow:
        """Return the window that a response shows, and learn from its size."""
        if raw.page_count is None:  # a shorter page must be the last one, so none may exceed the gateway's maximum
            self._largest = self.size
        obeys, is_trial = self._obeys(window, raw), self._is_trial(window)
        self._largest_seen = max(self._largest_seen, raw.row_count)
        if not self.overlaps or obeys:
            return window
        shown = raw.page_size or raw.row_count
        if 0 < shown < window.size and is_trial:
            self._largest, self.size = shown, min(shown, self.size)  # the gateway's maximum
            return PageWindow(window.number, shown)
        self.overlaps = False
        self.size = raw.page_size or (raw.row_count if window.number == 1 else 0) or self.size
        return PageWindow(window.number, self.size)

    def is_end(self, window: PageWindow, raw: RawPage[Any]) -> bool:
        """Return whether a response shows the end of the list.

        A full page may be followed by another one, whatever the response counts: the gateway may count records at
        another moment than it reads them.
        """
        if not self.overlaps:
            return raw.is_last
        return raw.row_count < window.size and (raw.is_last or raw.page_count is None)

    def _obeys(self, window: PageWindow, raw: RawPage[Any]) -> bool:
        """Return whether a response may have the requested page size."""
        size = raw.page_size or window.size
        if window.number == 1 and raw.is_last and raw.row_count < min(size, window.size):
            return True  # the whole list, whatever the sizes are
        is_short_end = raw.is_last or (raw.page_count is None and not self._is_trial(window))
        return size == window.size and (raw.row_count == size or (raw.row_count < size and is_short_end))

    def _is_trial(self, window: PageWindow) -> bool:
        """Return whether the gateway's maximum may be smaller than a window."""
        return window.size > self._largest_seen


@lru_cache(maxsize=1024)
def _overlapping_size(position: int, size: int, largest: int) -> int:
    """Return the size of a page with the record before `position`, many new records and few old ones; 0 if none."""
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


@attrs.frozen
class _Reading(Generic[T]):
    """A page that was read.

    Attributes:
        window: the part of the list that it shows.
        is_last: whether the gateway calls it the last one.
        is_end: whether the list ends with it.
        has_fixed_order: whether, as far as is known, no change of a record moves it in the list.
    """

    window: PageWindow
    page: Page[T]
    is_last: bool
    is_end: bool
    has_fixed_order: bool


class _Lookahead(Generic[T]):
    """Requests the two pages after the one in use, and reads the first of them.

    The gateway and the network therefore work while a page is read and used. Without a page count, a page is requested
    only when the one before it has arrived and was not empty.
    """

    def __init__(self, fetch: FetchPage[T], plan: PagePlan, sorted_by: tuple[str, ...]) -> None:
        self._fetch = fetch
        self._plan = plan
        self._sorted_by = sorted_by
        self._responses: dict[PageWindow, Prefetch[RawPage[T]]] = {}
        self._reading: Prefetch[_Reading[T]] | None = None
        self._window = plan.after(0)
        self._length = 0

    async def next(self) -> _Reading[T]:
        reading = await (self._reading or self._start()).result()
        self._reading = None if reading.is_end else self._start()
        return reading

    async def read_alone(self, window: PageWindow) -> Page[T]:
        """Read a page out of turn."""
        return await read_in_slices(await self._fetch(window.number, window.size))

    def continue_after(self, position: int, size: int) -> None:
        """Read on after the first `position` records, with a page of `size`."""
        self.cancel()
        self._reading = None
        self._window = self._plan.after(position, size)

    def cancel(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._cancel_responses()

    def _start(self) -> Prefetch[_Reading[T]]:
        self._reading = Prefetch(self._read)
        return self._reading

    async def _read(self) -> _Reading[T]:
        await anyio.lowlevel.checkpoint_if_cancelled()  # a cancelled read requests nothing more
        requested = self._window
        response = self._request(requested)
        if requested.end < self._length:
            self._request(self._plan.after(requested.end))
        raw = await response.result()
        await anyio.lowlevel.checkpoint_if_cancelled()
        window = self._plan.observe(requested, raw)
        is_end = self._plan.is_end(window, raw)
        self._length = raw.total_count or (raw.page_count or 0) * window.size
        self._window = self._plan.after(window.end)
        del self._responses[requested]
        if is_end:
            self._cancel_responses()  # the list has become shorter
        else:
            self._cancel_responses(but=self._window)
            self._request(self._window)
        has_fixed_order = _FIXED.issuperset(raw.sorted_by or self._sorted_by)
        return _Reading(window, await read_in_slices(raw), raw.is_last, is_end, has_fixed_order)

    def _request(self, window: PageWindow) -> Prefetch[RawPage[T]]:
        if window not in self._responses:
            self._responses[window] = Prefetch(lambda: self._fetch(window.number, window.size))
        return self._responses[window]

    def _cancel_responses(self, *, but: PageWindow | None = None) -> None:
        for window in [each for each in self._responses if each != but]:
            self._responses.pop(window).cancel()


class PageStream(Generic[T]):
    """Iterates over the new records of each page.

    Args:
        call: the call, for errors.
        fetch: function from the number and the size of a page to the page.
        page_size: records in a page.
        sorted_by: the fields that the list is sorted by, if the caller chose them.
    """

    def __init__(self, call: str, fetch: FetchPage[T], page_size: int, sorted_by: tuple[str, ...] = ()) -> None:
        self._call = call
        self._plan = PagePlan(page_size)
        self._lookahead = _Lookahead(fetch, self._plan, sorted_by)  # has no reference to this stream: see `__del__`
        self._recent = RecentIds()
        self._ended = False
        self._position = 0  # how many records of the list are behind the iteration
        self._furthest = 0  # the furthest end of a page so far
        self._reread_until = 0  # the position up to which pages are read again
        self._total_count: int | None = None
        self._reads_without_progress = 0
        self._steps_back = 0  # in a row

    @property
    def page_size(self) -> int:
        """Records in a page, as the caller and the gateway want it."""
        return self._plan.size

    def __aiter__(self) -> AsyncIterator[Page[T]]:
        return self

    async def __anext__(self) -> Page[T]:
        while not self._ended:
            try:
                reading = await self._lookahead.next()
                new_records = await self._accept(reading)
            except BaseException:
                self._end()
                raise
            if new_records:
                return attrs.evolve(reading.page, records=new_records)
        raise StopAsyncIteration

    async def _accept(self, reading: _Reading[T]) -> tuple[T, ...]:
        """Return a page's new records, and decide where to read on."""
        window, page = reading.window, reading.page
        ids = [getattr(record, "id", None) for record in page.records]
        known = self._recent.among(ids)
        if not await self._is_next(window, page, ids, known):
            self._go_back(page)
            return ()
        new_records = self._new_records(page.records, ids, known)
        is_beginning = window.start == 0 and bool(new_records) and not self._recent.has_forgotten
        self._recent.remember(
            ids, others_are_gone=is_beginning and reading.has_fixed_order, may_forget=window.end >= self._reread_until
        )
        self._move_on(window, page, is_new=bool(new_records), is_known=bool(known))
        if None in ids and self._plan.overlaps:  # such records cannot be recognized
            self._plan.overlaps = False
            self._lookahead.continue_after(window.end, self._plan.size)
        if reading.is_end or (reading.is_last and not new_records):
            self._end()
        return new_records

    async def _is_next(self, window: PageWindow, page: Page[T], ids: Sequence[Any], known: set[Any]) -> bool:
        """Return whether the page follows the yielded records without a gap."""
        if window.start == 0:
            if ids and not known and self._recent.has_forgotten:
                self._fail(
                    "no record that was yielded recently is listed any more, so where to continue is unknown "
                    "(list again, and sort by created_ts or id)"
                )
            return True
        if known or None in ids:
            return True
        if window.start < self._position:
            return False
        before = await self._lookahead.read_alone(PageWindow(window.number - 1, window.size))
        ids_before = {getattr(record, "id", None) for record in before.records}
        return self._recent.among(ids_before) == ids_before and (
            bool(ids_before) or before.total_count == page.total_count is not None
        )

    def _new_records(self, records: tuple[T, ...], ids: Sequence[Any], known: set[Any]) -> tuple[T, ...]:
        """Return the records of a page that were not yielded before.

        If ids were forgotten, an unknown record before all known ones may have been yielded long ago.
        """
        begin = 0
        if known and self._recent.has_forgotten:
            begin = next(index for index, its_id in enumerate(ids) if its_id in known)
        new_or_known = zip(records[begin:], ids[begin:], strict=True)
        if len(set(ids)) == len(ids):  # which is almost always so
            return tuple([record for record, its_id in new_or_known if its_id not in known])
        seen = known.copy()
        new_records: list[T] = []
        for record, its_id in new_or_known:
            if its_id is None or its_id not in seen:
                seen.add(its_id)
                new_records.append(record)
        return tuple(new_records)

    def _move_on(self, window: PageWindow, page: Page[T], *, is_new: bool, is_known: bool) -> None:
        """Read on behind a page with new or known records.

        If it has known ones only, records that were added before them have shifted the list.
        """
        position = window.end
        if is_new:
            self._reads_without_progress = 0
        elif position > self._furthest:
            self._count_read()
            if is_known and self._total_count is not None and page.total_count is not None:
                position = max(position, self._position + page.total_count - self._total_count)
        self._steps_back = 0
        self._total_count, self._position = page.total_count, position
        self._furthest = max(self._furthest, window.end)
        if position != window.end:
            self._continue_after(position)

    def _go_back(self, page: Page[T]) -> None:
        """Read again from before the records that may have moved.

        As many as the list has lost may be before the reader. If that is not enough, others were added meanwhile.
        """
        self._count_read()
        removed = 0
        if self._total_count is not None and page.total_count is not None:
            removed = max(self._total_count - page.total_count, 0)
        self._reread_until = self._position - removed
        if self._recent.has_forgotten:
            removed = min(removed, self._recent.reach)
        step = removed + max(self._plan.size // 4, 1) * 4**self._steps_back
        self._steps_back += 1
        self._continue_after(self._position - step)

    def _continue_after(self, position: int) -> None:
        """Read on elsewhere, with a larger page after repeated failures."""
        self._lookahead.continue_after(position, self._plan.size * 2 ** (self._reads_without_progress - 1))

    def _count_read(self) -> None:
        self._reads_without_progress += 1
        if self._reads_without_progress > _MAX_READS_WITHOUT_PROGRESS:
            self._fail(
                f"{_MAX_READS_WITHOUT_PROGRESS} pages in a row have no new record "
                "(expected a list in a fixed order: sort by created_ts or id)"
            )

    def _fail(self, reason: str) -> NoReturn:
        raise MalformedReplyError("$.meta.pagination", reason, call=self._call)

    def _end(self) -> None:
        self._ended = True
        self._lookahead.cancel()

    def __del__(self) -> None:
        self._lookahead.cancel()
