"""`Pages[T]`: a list to await for one page, or to iterate.

Iteration fetches one page ahead.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

import anyio.lowlevel
import attrs

from gateway_async._execution.executor import CallExecutor
from gateway_async._execution.prefetch import Prefetch
from gateway_async._wire.pagination import is_last
from gateway_async._wire.query import Params, list_params
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import MalformedReplyError
from gateway_async.models.page import Page
from gateway_async.models.record import Record

__all__ = ["Pages", "pages_of"]

T = TypeVar("T")
R = TypeVar("R", bound=Record)

_PAGE_SIZE: Final = 1000
_CHECKPOINT_EVERY: Final = 250
"""Records between two checkpoints.

Without checkpoints, the read of the next page would not run.
"""

_MAX_REMEMBERED_IDS: Final = 25_000
"""Maximum number of ids in each of the two generations of `_SeenIds`."""

_MAX_STALE_PAGES: Final = 3
"""Pages in a row without a new record, after which iteration fails."""


class Pages(Generic[T]):
    """The records that match a list call (contract, *Pagination, sorting*).

        async for vault in pages: ...            # every record, the next page fetched meanwhile
        async for page in pages.by_page(): ...   # page.records, page.number, page.total_count, page.page_count
        page = await pages                       # the first page only
        first = await pages.first()              # a record or None
        n = await pages.count()                  # how many there are, without fetching them

    Nothing is fetched before first use. Iteration holds at most two pages in memory, and ends when the gateway has no
    more. It yields no id twice: it remembers at least the last 25,000 ids, more than a list can shift between two
    pages.

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
        """Iterate over the pages that have new records."""
        size = self._page_size or _PAGE_SIZE
        return _PageStream(self._call, lambda number: self._page(number, size))

    def __await__(self) -> Generator[Any, Any, Page[T]]:
        return self._page(1, self._page_size).__await__()

    async def first(self) -> T | None:
        """Return the first record, or None if the list is empty."""
        page = await self._page(1, 1)
        return page.records[0] if page.records else None

    async def count(self) -> int:
        """Return the number of records, without fetching them.

        Raises:
            MalformedReplyError: the response has no total count.
        """
        page = await self._page(1, 1)
        if page.total_count is None:
            raise MalformedReplyError("$.meta.pagination.totalCount", "missing", call=self._call)
        return page.total_count

    async def _page(self, number: int, size: int | None) -> Page[T]:
        sized = self._params if size is None else (*self._params, ("page_size", str(size)))
        return await self._fetch(number, sized)


def pages_of(
    spec: ResourceSpec[R],
    executor: CallExecutor,
    filters: Mapping[str, Any] | None,
    *,
    sort: str | None,
    page_size: int | None,
    expand: Sequence[str],
) -> Pages[R]:
    """Build the list of a resource's records.

    Raises:
        InvalidRequestError: a filter, the sort, the page size or the expansion is invalid.
    """
    params = list_params(filters, sort, page_size, expand)
    return Pages(
        f"GET {spec.path}", lambda number, sized: executor.execute(spec.page(number, sized)), params, page_size
    )


class _PageStream(Generic[T]):
    """Iterates over pages, and fetches the next one while this one is used."""

    def __init__(self, call: str, fetch: Callable[[int], Awaitable[Page[T]]]) -> None:
        self._call = call
        self._fetch = fetch
        self._prefetch: Prefetch[Page[T]] | None = None
        self._number = 0
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
                return attrs.evolve(page, records=new_records)
        raise StopAsyncIteration

    async def _next(self) -> Page[T]:
        prefetch = self._prefetch or self._start()
        self._prefetch = None
        try:
            page = await prefetch.result()
        except BaseException:
            self._ended = True
            raise
        self._ended = is_last(page)
        if not self._ended:
            self._prefetch = self._start()
        return page

    def _start(self) -> Prefetch[Page[T]]:
        self._number += 1
        return Prefetch(partial(self._fetch, self._number))  # no reference to this stream: dropping it ends the read

    def _new_records(self, page: Page[T]) -> tuple[T, ...]:
        """Return the page's records that are new.

        Raises `MalformedReplyError` instead of iterating without end.
        """
        ids = tuple(getattr(record, "id", None) for record in page.records)
        if ids and ids == self._previous:
            self._fail(f"page {page.number} repeats the page before it")
        self._previous = ids
        new_records = tuple(record for record, name in zip(page.records, ids, strict=True) if self._seen.is_new(name))
        self._stale_pages = 0 if new_records else self._stale_pages + 1
        if self._stale_pages >= _MAX_STALE_PAGES and not self._ended:
            self._fail(f"page {page.number} is the third page in a row without a new record")
        return new_records

    def _fail(self, reason: str) -> None:
        self._ended = True
        self.cancel()
        raise MalformedReplyError("$.meta.pagination", reason, call=self._call)

    def cancel(self) -> None:
        if self._prefetch is not None:
            self._prefetch.cancel()

    def __del__(self) -> None:
        self.cancel()


class _Records(Generic[T]):
    """Iterates over the records of a stream of pages."""

    def __init__(self, pages: AsyncIterator[Page[T]]) -> None:
        self._pages = pages
        self._records: tuple[T, ...] = ()
        self._index = 0

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if self._index == len(self._records):
            self._records = (await anext(self._pages)).records
            self._index = 0
        elif self._index % _CHECKPOINT_EVERY == 0:
            await anyio.lowlevel.checkpoint()
        record = self._records[self._index]
        self._index += 1
        return record


class _SeenIds:
    """The ids seen recently, in bounded memory.

    There are two generations; the older one is dropped when the younger one is full.
    """

    def __init__(self) -> None:
        self._young: set[Any] = set()
        self._old: set[Any] = set()

    def is_new(self, name: Any) -> bool:
        if name is None:
            return True
        if name in self._young or name in self._old:
            return False
        if len(self._young) >= _MAX_REMEMBERED_IDS:
            self._old, self._young = self._young, set()
        self._young.add(name)
        return True
