"""`PageStream`: iterate over a list that may change meanwhile, and fetch the next pages while one is used.

A record that is in the list from the first request to the last is yielded exactly once, if the order of the list is
fixed. Each page has to begin with a record that was yielded before (`PagePlan`); a page that does not is read again
from further ahead. Records that were yielded recently are not yielded again (`RecentIds`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, Generic, NoReturn, TypeVar

import anyio.lowlevel
import attrs

from gateway_async._background import Prefetch
from gateway_async._secrets import strip_traceback
from gateway_async._wire.page_plan import PagePlan, PageWindow, RecentIds
from gateway_async._wire.pagination import RawPage
from gateway_async.errors import GatewayError, MalformedReplyError
from gateway_async.models.page import Page

T = TypeVar("T")
FetchPage = Callable[[int, int], Awaitable[RawPage[T]]]

_MAX_READS_WITHOUT_PROGRESS: Final = 20
"""Pages in a row without a new record, after which iteration fails."""

_FIXED: Final = frozenset({"id", "created_ts"})
"""Fields that no change of a record alters. A list that is sorted by them has a fixed order."""


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


def _ids(page: Page[Any]) -> Sequence[Any]:
    """The ids of a page's records. An empty text is none: some gateways write it for null."""
    return [getattr(record, "id", None) or None for record in page.records]


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
        return self._plan.size

    def __aiter__(self) -> AsyncIterator[Page[T]]:
        return self

    async def __anext__(self) -> Page[T]:
        while not self._ended:
            try:
                reading = await self._lookahead.next()
                new_records = await self._accept(reading)
            except Exception:
                self._end()
                raise
            except BaseException:  # cancelled: the next request for a page reads on from here
                self._lookahead.continue_after(self._position, self._plan.size)
                raise
            if new_records:
                return attrs.evolve(reading.page, records=new_records)
        raise StopAsyncIteration

    async def _accept(self, reading: _Reading[T]) -> tuple[T, ...]:
        """Return a page's new records, and decide where to read on."""
        window, page = reading.window, reading.page
        ids = _ids(page)
        known = self._recent.among(ids)
        if not await self._is_next(window, page, ids, known):
            self._go_back(page)
            return ()
        new_records = self._new_records(window, page.records, ids, known)
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
        """Whether the page follows the yielded records without a gap."""
        if window.start == 0:
            if ids and not known and self._recent.has_forgotten:
                self._fail(
                    "none of the records yielded recently is still listed, so the place to continue is unknown "
                    "(list again, and sort by created_ts or id)"
                )
            return True
        if known or None in ids:
            return True
        if window.start < self._position:
            return False
        before = await self._lookahead.read_alone(PageWindow(window.number - 1, window.size))
        ids_before = set(_ids(before))
        return self._recent.among(ids_before) == ids_before - {None} and (
            bool(ids_before) or before.total_count == page.total_count is not None
        )

    def _new_records(
        self, window: PageWindow, records: tuple[T, ...], ids: Sequence[Any], known: set[Any]
    ) -> tuple[T, ...]:
        """The records of a page that were not yielded before; the position of one without an id decides.

        If ids were forgotten, an unknown record before all known ones may have been yielded long ago.
        """
        begin = 0
        if known and self._recent.has_forgotten:
            begin = next(index for index, its_id in enumerate(ids) if its_id in known)
        new_or_known = zip(records[begin:], ids[begin:], strict=True)
        if len(set(ids) - {None}) == len(ids):  # which is almost always so
            return tuple([record for record, its_id in new_or_known if its_id not in known])
        seen = known.copy()
        new_records: list[T] = []
        for position, (record, its_id) in enumerate(new_or_known, window.start + begin):
            if position >= self._position if its_id is None else its_id not in seen:
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
