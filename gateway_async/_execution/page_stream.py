"""`PageStream`: iterate over pages, and fetch the next ones while one is used."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import anyio.lowlevel
import attrs

from gateway_async._execution.prefetch import Prefetch
from gateway_async._secrets import detach
from gateway_async._wire.pagination import RawPage
from gateway_async.errors import GatewayError, MalformedReplyError
from gateway_async.models.page import Page

__all__ = ["PageStream", "read_in_slices"]

T = TypeVar("T")

_MAX_REMEMBERED_IDS: Final = 25_000
"""Maximum number of ids in each of the two generations of `_SeenIds`."""

_MAX_STALE_PAGES: Final = 3
"""Pages in a row without a new record, after which iteration fails."""


async def read_in_slices(raw: RawPage[T]) -> Page[T]:
    """Read a page's records, and let other tasks run between slices.

    Raises:
        MalformedReplyError: a record cannot be read.
    """
    records: list[T] = []
    await anyio.lowlevel.checkpoint()  # before this, the response was decoded
    try:
        for some in raw.slices():
            records += some
            await anyio.lowlevel.checkpoint()
    except GatewayError as error:
        failure = detach(error)  # the frames below contain rows
        del raw, records
    else:
        return raw.page(records)
    raise failure


class _Lookahead(Generic[T]):
    """Requests the two pages after the one in use, and reads the first of them.

    The gateway and the network therefore work while a page is read and used. Without a page count, a page is requested
    only when the one before it has arrived and was not empty.
    """

    def __init__(self, fetch: Callable[[int], Awaitable[RawPage[T]]]) -> None:
        self._fetch = fetch
        self._responses: dict[int, Prefetch[RawPage[T]]] = {}
        self._page: Prefetch[Page[T]] | None = None
        self._number = 0
        self._page_count = 0
        self._is_last = False

    async def next(self) -> tuple[Page[T], bool]:
        """Return the next page, and whether it is the last one."""
        page = await (self._page or self._start_page()).result()
        is_last = self._is_last
        self._page = None if is_last else self._start_page()
        return page, is_last

    def _start_page(self) -> Prefetch[Page[T]]:
        self._number += 1
        self._page = Prefetch(self._read)
        return self._page

    async def _read(self) -> Page[T]:
        await anyio.lowlevel.checkpoint_if_cancelled()  # a cancelled read requests nothing more
        number = self._number
        response = self._request(number)
        if number < self._page_count:
            self._request(number + 1)
        raw = await response.result()
        await anyio.lowlevel.checkpoint_if_cancelled()
        self._page_count, self._is_last = raw.page_count or 0, raw.is_last
        del self._responses[number]
        if raw.is_last:
            self._cancel_responses()  # the list has become shorter
        else:
            self._request(number + 1)
        return await read_in_slices(raw)

    def _request(self, number: int) -> Prefetch[RawPage[T]]:
        if number not in self._responses:
            self._responses[number] = Prefetch(lambda: self._fetch(number))
        return self._responses[number]

    def cancel(self) -> None:
        """Cancel all reads."""
        if self._page is not None:
            self._page.cancel()
        self._cancel_responses()

    def _cancel_responses(self) -> None:
        while self._responses:
            _, response = self._responses.popitem()
            response.cancel()


class PageStream(Generic[T]):
    """Iterates over the pages that have new records."""

    def __init__(self, call: str, fetch: Callable[[int], Awaitable[RawPage[T]]]) -> None:
        self._call = call
        self._lookahead = _Lookahead(fetch)  # has no reference to this stream: dropping the stream ends the reads
        self._ended = False
        self._stale_pages = 0
        self._previous: tuple[Any, ...] = ()
        self._seen = _SeenIds()

    def __aiter__(self) -> AsyncIterator[Page[T]]:
        return self

    async def __anext__(self) -> Page[T]:
        while not self._ended:
            page = await self._next()
            new_records = self._new_records(page)
            if new_records:
                return page if new_records is page.records else attrs.evolve(page, records=new_records)
        raise StopAsyncIteration

    async def _next(self) -> Page[T]:
        try:
            page, self._ended = await self._lookahead.next()
        except BaseException:
            self._ended = True
            self._lookahead.cancel()
            raise
        return page

    def _new_records(self, page: Page[T]) -> tuple[T, ...]:
        """Return the page's records that are new.

        Raises `MalformedReplyError` instead of iterating without end.
        """
        ids = tuple(getattr(record, "id", None) for record in page.records)
        if ids and ids == self._previous:
            self._fail(f"page {page.number} repeats the page before it")
        self._previous = ids
        if self._seen.are_new(ids):
            new_records = page.records
        else:
            named = zip(page.records, ids, strict=True)
            new_records = tuple(record for record, name in named if self._seen.is_new(name))
        self._stale_pages = 0 if new_records else self._stale_pages + 1
        if self._stale_pages >= _MAX_STALE_PAGES and not self._ended:
            self._fail(f"page {page.number} is the third page in a row without a new record")
        return new_records

    def _fail(self, reason: str) -> None:
        self._ended = True
        self._lookahead.cancel()
        raise MalformedReplyError("$.meta.pagination", reason, call=self._call)

    def __del__(self) -> None:
        self._lookahead.cancel()


class _SeenIds:
    """The ids seen recently, in bounded memory.

    There are two generations; the older one is dropped when the younger one is full.
    """

    def __init__(self) -> None:
        self._young: set[Any] = set()
        self._old: set[Any] = set()

    def are_new(self, names: Sequence[Any]) -> bool:
        """Remember `names` if all are different, new and not None.

        Almost every page has only such ids, which sets compare in much less time than a loop.
        """
        different = set(names)
        if len(different) < len(names) or None in different:
            return False
        if not (self._young.isdisjoint(different) and self._old.isdisjoint(different)):
            return False
        if len(self._young) + len(different) > _MAX_REMEMBERED_IDS:
            self._old, self._young = self._young, set()
        self._young |= different
        return True

    def is_new(self, name: Any) -> bool:
        if name is None:
            return True
        if name in self._young or name in self._old:
            return False
        if len(self._young) >= _MAX_REMEMBERED_IDS:
            self._old, self._young = self._young, set()
        self._young.add(name)
        return True
