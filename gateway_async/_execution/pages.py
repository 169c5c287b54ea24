"""`Pages[T]`: a list to await for one page, or to iterate."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Generic, TypeVar

import anyio.lowlevel

from gateway_async._arguments import check_numbers
from gateway_async._execution.execute import CallExecutor
from gateway_async._execution.page_stream import PageStream, read_in_slices
from gateway_async._wire.pagination import RawPage
from gateway_async._wire.query import NamesToCheck, Params, list_params, plain_params
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import GatewayError, MalformedReplyError
from gateway_async.models.page import Page
from gateway_async.models.record import Record

T = TypeVar("T")
R = TypeVar("R", bound=Record)

_PAGE_SIZE: Final = 1000
_CHECKPOINT_EVERY: Final = 250
"""Records between two checkpoints.

Without checkpoints, the reads of the next pages would not run.
"""


class Pages(Generic[T]):
    """The records that match a list call (contract, *Pagination, sorting*).

        async for vault in pages: ...            # every record, the next pages fetched meanwhile
        async for page in pages.by_page(): ...   # page.records, page.number, page.total_count, page.page_count
        page = await pages                       # the first page only
        first = await pages.first()              # a record or None
        n = await pages.count()                  # how many there are, without fetching them
        newest = await pages.to_list(limit=50)   # a list of the first records

    Nothing is fetched before first use. Iteration holds a few pages in memory: the one in use, the next one, and the
    response with the one after it.

    The list may change meanwhile, for example because the loop deletes what it gets. If the list has a
    fixed order, such as by `id` or `created_ts`, a record that is in it from the first request to the last is
    yielded exactly once. To notice changes, requested pages overlap by some records: page 2 of 1000 records has a size
    of 999. At least the last 20,000 ids are remembered.

    Raises:
        MalformedReplyError: twenty pages in a row have nothing new, or none of the remembered records is listed any
            more, so where to continue is unknown.
    """

    def __init__(
        self, call: str, fetch: Callable[[int, Params], Awaitable[RawPage[T]]], params: Params, page_size: int | None
    ) -> None:
        self._call = call
        self._fetch = fetch
        self._params = params
        self._page_size = page_size

    def __repr__(self) -> str:
        return f"<Pages of {self._call}>"

    def __aiter__(self) -> AsyncIterator[T]:
        return _Records(self._stream())

    def by_page(self) -> AsyncIterator[Page[T]]:
        """Iterate over pages of `page_size` records; the last one may have fewer."""
        return _EvenPages(self._stream())

    def _stream(self) -> PageStream[T]:
        return PageStream(
            self._call,
            lambda number, size: self._fetch(number, self._params_with_size(size)),
            self._page_size or _PAGE_SIZE,
            tuple(value.removeprefix("-") for name, value in plain_params(self._params) if name == "sort"),
        )

    def __await__(self) -> Generator[Any, Any, Page[T]]:
        return self._first_page(self._page_size).__await__()

    async def first(self) -> T | None:
        """The first record, or None if the list is empty."""
        page = await self._first_page(1)
        return page.records[0] if page.records else None

    async def count(self) -> int:
        """Count the records without fetching them.

        Raises:
            MalformedReplyError: the response has no total count.
        """
        page = await self._first_page(1)
        if page.total_count is None:
            raise MalformedReplyError("$.meta.pagination.totalCount", "missing", call=self._call)
        return page.total_count

    async def to_list(self, limit: int | None = None) -> list[T]:
        """Collect the records in a list: the first `limit`, or all of them.

        All records are in memory at the same time. Iterate over a long list instead.

        Raises:
            InvalidRequestError: `limit` is not a whole number above 0.
        """
        check_numbers(whole=True, above=0, optional=True, limit=limit)
        size = self._page_size or _PAGE_SIZE
        if limit is not None and limit <= size:
            page = await self._first_page(limit)
            if len(page.records) == limit or page.page_count in (0, 1):
                return list(page.records)
        records: list[T] = []
        async for record in self:
            records.append(record)
            if len(records) == limit:
                break
        return records

    async def _first_page(self, size: int | None) -> Page[T]:
        return await read_in_slices(await self._fetch(1, self._params_with_size(size)))

    def _params_with_size(self, size: int | None) -> Params:
        return self._params if size is None else (*self._params, ("page_size", str(size)))


def pages_of(
    spec: ResourceSpec[R],
    executor: CallExecutor,
    filters: Mapping[str, Any] | None,
    *,
    sort: str | None,
    page_size: int | None,
    expand: Sequence[str],
    extra_filters: Mapping[str, Any] | None = None,
    names: NamesToCheck | None = None,
) -> Pages[R]:
    """Build the list of a resource's records.

    `names` are those that filters and sort may have; without them, any name is sent.

    Raises:
        InvalidRequestError: a filter, the sort, the page size or the expansion is invalid.
    """
    params = list_params(filters, sort, page_size, expand, extra_filters=extra_filters, names=names)
    return Pages(
        f"GET {spec.path}", lambda number, sized: executor.execute(spec.page(number, sized)), params, page_size
    )


class _EvenPages(Generic[T]):
    """Divides the records of a stream into pages of the same size."""

    def __init__(self, stream: PageStream[T]) -> None:
        self._stream = stream
        self._records: list[T] = []
        self._number = 0
        self._failure: GatewayError | None = None
        self._last = Page[T](records=(), number=0, total_count=None, page_count=None)

    def __aiter__(self) -> AsyncIterator[Page[T]]:
        return self

    async def __anext__(self) -> Page[T]:
        ended = False
        while not ended and self._failure is None and len(self._records) < self._stream.page_size:
            try:
                self._last = await anext(self._stream)
                self._records += self._last.records
            except StopAsyncIteration:
                ended = True
            except GatewayError as error:
                self._failure = error
        if self._records:
            return self._next_page()
        failure, self._failure = self._failure, None
        raise failure or StopAsyncIteration

    def _next_page(self) -> Page[T]:
        size, self._number = self._stream.page_size, self._number + 1
        records, self._records = self._records[:size], self._records[size:]
        total_count, page_count = self._last.total_count, self._last.page_count
        if total_count is not None:
            page_count = max(-(-total_count // size), self._number)
        return Page(records=tuple(records), number=self._number, total_count=total_count, page_count=page_count)


class _Records(Generic[T]):
    """Iterates over the records of a stream of pages."""

    def __init__(self, pages: AsyncIterator[Page[T]]) -> None:
        self._pages = pages
        self._records: Iterator[T] = iter(())
        self._ready: Iterator[T] = iter(())

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        for record in self._ready:
            return record
        return await self._after_ready()

    async def _after_ready(self) -> T:
        """The record after those that need no checkpoint."""
        await anyio.lowlevel.checkpoint()  # before a record is taken, which a cancelled wait would lose
        self._ready = islice(self._records, _CHECKPOINT_EVERY)
        for record in self._ready:
            return record
        self._records = iter((await anext(self._pages)).records)
        self._ready = islice(self._records, _CHECKPOINT_EVERY)
        return next(self._ready)  # a stream has no empty pages
