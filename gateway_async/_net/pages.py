"""`Pages[T]`: a list that is awaited for its first page or iterated to its end, one page ahead."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

import anyio.lowlevel
import attrs

from gateway_async._net.ahead import Ahead
from gateway_async._net.sender import Sender
from gateway_async._wire.noun import Noun
from gateway_async._wire.paging import is_last
from gateway_async._wire.query import Params, list_params
from gateway_async.errors import MalformedReplyError
from gateway_async.models.page import Page
from gateway_async.models.record import Record

__all__ = ["Pages", "pages_of"]

T = TypeVar("T")
R = TypeVar("R", bound=Record)

_PAGE_SIZE: Final = 1000
_BREATH: Final = 250
"""Records between two checkpoints: without them the next page's read would never get a turn."""
_REMEMBERED: Final = 25_000
_STALE_PAGES: Final = 3


class Pages(Generic[T]):
    """The records that match a list call (contract, *Pagination, sorting*); nothing is fetched until it is used.

        async for vault in pages: ...            # every record, the next page fetched meanwhile
        async for page in pages.by_page(): ...   # page.records, page.number, page.total_count, page.page_count
        page = await pages                       # the first page only
        first = await pages.first()              # a record or None
        n = await pages.count()                  # how many there are, without fetching them

    Iteration holds two pages in memory at most, ends when the gateway has no more, and yields no id twice (it
    remembers the last 25,000 at least, more than a list can shift between two pages).

    Raises:
        MalformedReplyError: the gateway sends the same page again, or three in a row with nothing new.
    """

    def __init__(
        self, call: str, fetch: Callable[[int, Params], Awaitable[Page[T]]], params: Params, page_size: int | None
    ) -> None:
        self._call = call
        self._fetch = fetch
        self._params = params
        self._page_size = page_size

    def __repr__(self) -> str:
        return f"<Pages of {self._call}>"

    def __aiter__(self) -> AsyncIterator[T]:
        return _Records(self.by_page())

    def by_page(self) -> AsyncIterator[Page[T]]:
        """Every page that brings something new."""
        size = self._page_size or _PAGE_SIZE
        return _PageStream(self._call, lambda number: self._page(number, size))

    def __await__(self) -> Generator[Any, Any, Page[T]]:
        return self._page(1, self._page_size).__await__()

    async def first(self) -> T | None:
        """The first record, or None when there is none."""
        page = await self._page(1, 1)
        return page.records[0] if page.records else None

    async def count(self) -> int:
        """How many records there are, without fetching them.

        Raises:
            MalformedReplyError: the gateway does not say.
        """
        page = await self._page(1, 1)
        if page.total_count is None:
            raise MalformedReplyError("$.meta.pagination.totalCount", "missing", call=self._call)
        return page.total_count

    async def _page(self, number: int, size: int | None) -> Page[T]:
        sized = self._params if size is None else (*self._params, ("page_size", str(size)))
        return await self._fetch(number, sized)


def pages_of(
    noun: Noun[R],
    sender: Sender,
    filters: Mapping[str, Any] | None,
    *,
    sort: str | None,
    page_size: int | None,
    expand: Sequence[str],
) -> Pages[R]:
    """The list of a noun's records.

    Raises:
        InvalidRequestError: a filter, the sort, the page size or the expansion cannot be sent.
    """
    params = list_params(filters, sort, page_size, expand)
    return Pages(f"GET {noun.path}", lambda number, sized: sender.send(noun.page(number, sized)), params, page_size)


class _PageStream(Generic[T]):
    """Page after page, the next one on its way while this one is used."""

    def __init__(self, call: str, fetch: Callable[[int], Awaitable[Page[T]]]) -> None:
        self._call = call
        self._fetch = fetch
        self._ahead: Ahead[Page[T]] | None = None
        self._number = 0
        self._over = False
        self._stale = 0
        self._previous: tuple[Any, ...] = ()
        self._seen = _Seen()

    def __aiter__(self) -> AsyncIterator[Page[T]]:
        return self

    async def __anext__(self) -> Page[T]:
        while not self._over:
            page = await self._next()
            fresh = self._fresh(page)
            if fresh:
                return attrs.evolve(page, records=fresh)
        raise StopAsyncIteration

    async def _next(self) -> Page[T]:
        ahead = self._ahead or self._start()
        self._ahead = None
        try:
            page = await ahead.result()
        except BaseException:
            self._over = True
            raise
        self._over = is_last(page)
        if not self._over:
            self._ahead = self._start()
        return page

    def _start(self) -> Ahead[Page[T]]:
        self._number += 1
        return Ahead(partial(self._fetch, self._number))  # no way back to this stream: dropping it ends the read

    def _fresh(self, page: Page[T]) -> tuple[T, ...]:
        """The page's records that have not been yielded; raises rather than go round for ever."""
        ids = tuple(getattr(record, "id", None) for record in page.records)
        if ids and ids == self._previous:
            self._stop(f"page {page.number} is the page before it again")
        self._previous = ids
        fresh = tuple(record for record, name in zip(page.records, ids, strict=True) if self._seen.is_new(name))
        self._stale = 0 if fresh else self._stale + 1
        if self._stale >= _STALE_PAGES and not self._over:
            self._stop(f"page {page.number} is the third in a row without anything new")
        return fresh

    def _stop(self, reason: str) -> None:
        self._over = True
        self.cancel()
        raise MalformedReplyError("$.meta.pagination", reason, call=self._call)

    def cancel(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()

    def __del__(self) -> None:
        self.cancel()


class _Records(Generic[T]):
    """The records of a stream of pages."""

    def __init__(self, pages: AsyncIterator[Page[T]]) -> None:
        self._pages = pages
        self._records: tuple[T, ...] = ()
        self._place = 0

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._place == len(self._records):
            self._records = (await anext(self._pages)).records
            self._place = 0
        elif self._place % _BREATH == 0:
            await anyio.lowlevel.checkpoint()
        record = self._records[self._place]
        self._place += 1
        return record


class _Seen:
    """The ids of late, in bounded memory: two generations, the older one dropped when the younger is full."""

    def __init__(self) -> None:
        self._young: set[Any] = set()
        self._old: set[Any] = set()

    def is_new(self, name: Any) -> bool:
        if name is None:
            return True
        if name in self._young or name in self._old:
            return False
        if len(self._young) >= _REMEMBERED:
            self._old, self._young = self._young, set()
        self._young.add(name)
        return True
