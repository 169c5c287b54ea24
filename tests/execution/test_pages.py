"""Lists: awaited for a page, iterated to the end, one page ahead."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import Contact, InvalidRequestError, MalformedReplyError, TimeRange
from gateway_async._execution.page_stream import read_in_slices
from gateway_async._wire.convert.write import encode
from gateway_async._wire.pagination import decode_page, read_raw_page

from .scripted_transport import Answer, Script, error_of, listed

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


def paged(pages: list[list[str]], *, base: int = 0, count: int | None = None, meta: bool = True) -> Callable[..., Any]:
    """A list of contacts with the given ids on each page."""

    def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params.get("page", "1"))
        ids = pages[number - 1] if number <= len(pages) else []
        pagination = {
            "totalCount": sum(map(len, pages)),
            "pageCount": len(pages) if count is None else count,
            "currentPage": number - 1 + base,
            "perPage": 2,
        }
        body: dict[str, Any] = {"contacts": [{"id": each} for each in ids]}
        return httpx.Response(200, json=body | ({"meta": {"pagination": pagination}} if meta else {}))

    return answer


async def ids_of(script: Script, **options: Any) -> list[str]:
    """All ids that iterating yields."""
    async with script.gateway() as gateway:
        return [contact.id async for contact in gateway.contacts.list(**options)]


@pytest.mark.parametrize("base", [0, 1])
async def test_every_record_of_every_page_comes_once_in_order(base: int) -> None:
    """Number pages from 1, whatever `currentPage` counts from."""
    script = Script(get=[paged([["a", "b"], ["c", "d"], ["e"]], base=base)])
    assert await ids_of(script) == ["a", "b", "c", "d", "e"]
    assert [request.url.params["page"] for request in script.asked] == ["1", "2", "3"]


async def test_a_list_without_meta_ends_with_its_first_empty_page() -> None:
    """A gateway that does not count its pages is asked until it has no more."""
    script = Script(get=[paged([["a"], ["b"]], meta=False)])
    assert await ids_of(script) == ["a", "b"]
    assert len(script.asked) == 3


async def test_an_empty_page_in_between_is_survived() -> None:
    """Deleted records may empty a page; the following ones still come."""
    assert await ids_of(Script(get=[paged([["a"], [], ["b"]])])) == ["a", "b"]


async def test_an_id_that_moves_to_the_next_page_is_not_yielded_twice() -> None:
    """A record that is inserted meanwhile shifts the others."""
    assert await ids_of(Script(get=[paged([["a", "b"], ["b", "c"], ["c", "d"]])])) == ["a", "b", "c", "d"]


async def test_a_gateway_that_sends_the_same_page_for_ever_is_an_error() -> None:
    """Rather than loop, and rather than end as if that had been all."""
    script = Script(get=[paged([["a", "b"]] * 10)])
    await error_of(ids_of(script), MalformedReplyError, match="page 2 repeats the page before it")


async def test_a_gateway_that_sends_nothing_but_empty_pages_is_an_error() -> None:
    """Three in a row are enough."""
    script = Script(get=[paged([["a"]] + [[]] * 100)])
    await error_of(ids_of(script), MalformedReplyError, match="third page in a row")
    assert len(script.asked) < 10


async def test_an_empty_list_yields_nothing() -> None:
    """No record, no page, no first."""
    async with Script(get=[paged([], count=0)]).gateway() as gateway:
        contacts = gateway.contacts.list()
        assert [contact async for contact in contacts] == []
        assert [page async for page in contacts.by_page()] == []
        assert await contacts.first() is None
        assert await contacts.count() == 0
        assert (await contacts).records == ()


async def test_a_page_has_its_number() -> None:
    """`by_page` and `await` give records, a 1-based number and the counts."""
    async with Script(get=[paged([["a", "b"], ["c"]])]).gateway() as gateway:
        pages = [page async for page in gateway.contacts.list().by_page()]
        first = await gateway.contacts.list()
    facts = [([record.id for record in page.records], page.number, page.total_count, page.page_count) for page in pages]
    assert facts == [(["a", "b"], 1, 3, 2), (["c"], 2, 3, 2)]
    assert first == pages[0]


async def test_first_and_count_fetch_one_record_at_most() -> None:
    """Request a page of one record."""
    script = Script(get=[paged([["a"], ["b"]])])
    async with script.gateway() as gateway:
        contacts = gateway.contacts.list({"city": "Bern"}, page_size=500)
        assert (await contacts.first(), await contacts.count()) == ((await contacts.first()), 2)
    assert {request.url.params["page_size"] for request in script.asked} == {"1"}


async def test_the_next_two_pages_are_fetched_while_one_is_used() -> None:
    """Request a page when the one before it has arrived, but not a third one ahead."""
    script = Script(get=[paged([["a"], ["b"], ["c"], ["d"], ["e"]])])
    async with script.gateway() as gateway:
        records = aiter(gateway.contacts.list())
        await anext(records)
        await anyio.wait_all_tasks_blocked()
        assert [request.url.params["page"] for request in script.asked] == ["1", "2", "3"]
        await anext(records)
        await anyio.wait_all_tasks_blocked()
        assert [request.url.params["page"] for request in script.asked] == ["1", "2", "3", "4"]


async def test_leaving_a_list_early_cancels_the_page_ahead() -> None:
    """`break` leaves no task behind."""
    ended = anyio.Event()

    async def second_page(_: httpx.Request) -> httpx.Response:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    async with Script(get=[paged([["a"], ["b"]]), second_page]).gateway() as gateway:
        async for _ in gateway.contacts.list():
            await anyio.wait_all_tasks_blocked()
            break
        with anyio.fail_after(5):
            await ended.wait()


async def test_a_failing_page_ends_the_iteration_with_its_error() -> None:
    """After the records before it, and without a second surprise."""
    async with Script(get=[paged([["a"], ["b"]]), httpx.Response(500)]).gateway() as gateway:
        records = aiter(gateway.contacts.list())
        assert (await anext(records)).id == "a"
        await error_of(anext(records), Exception, match="500")
        await error_of(anext(records), StopAsyncIteration)


async def test_leaving_a_list_at_its_first_record_requests_nothing_more() -> None:
    """A read that is cancelled before its first step requests no page."""
    under_way: set[str] = set()

    async def later_page(request: httpx.Request) -> httpx.Response:
        number = request.url.params["page"]
        under_way.add(number)
        try:
            await anyio.sleep_forever()
        finally:
            under_way.discard(number)
        raise AssertionError

    script = Script(get=[paged([["a"], ["b"], ["c"], ["d"]]), later_page])
    async with script.gateway() as gateway:
        async for _ in gateway.contacts.list():
            break
        await anyio.wait_all_tasks_blocked()
        assert (len(script.asked) <= 2, under_way) == (True, set())


async def test_a_list_that_becomes_shorter_ends_early() -> None:
    """Cancel the request for a page that no longer exists."""
    started, ended = anyio.Event(), anyio.Event()

    async def second_page(_: httpx.Request) -> Answer:
        await started.wait()
        return paged([["a"], ["b"]])

    async def third_page(_: httpx.Request) -> httpx.Response:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    script = Script(get=[paged([["a"], ["b"], ["c"]]), second_page, third_page])
    async with script.gateway() as gateway:
        assert [contact.id async for contact in gateway.contacts.list()] == ["a", "b"]
        with anyio.fail_after(5):
            await ended.wait()


async def test_other_tasks_run_while_a_large_page_is_read() -> None:
    """Pause between slices, of which a page of 1 MB has ten."""
    checkpoints = 0

    async def count_checkpoints() -> None:
        nonlocal checkpoints
        while True:
            await anyio.lowlevel.checkpoint()
            checkpoints += 1

    rows = [{"id": str(number), "city": "x" * 1000} for number in range(1000)]
    raw = read_raw_page(decode_page(encode({"contacts": rows}), "contacts"), "contacts", 1, Contact)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count_checkpoints)
        page = await read_in_slices(raw)
        tasks.cancel_scope.cancel()
    assert len(page.records) == 1000
    assert checkpoints >= 5


async def first_page(contacts: Any) -> None:
    """Await a list."""
    await contacts


async def next_page(contacts: Any) -> None:
    """Take one step over the pages."""
    await anext(contacts.by_page())


async def next_record(contacts: Any) -> None:
    """Take one step over the records."""
    await anext(aiter(contacts))


@pytest.mark.parametrize("use", [first_page, next_page, next_record])
async def test_a_row_that_cannot_be_read_is_an_error_with_its_position(use: Callable[[Any], Awaitable[None]]) -> None:
    """The error is the same however the list is used, and has no context whose frames would show the row."""
    row = {"id": "b", "contact_balance": "much"}
    script = Script(get=[httpx.Response(200, json={"contacts": [{"id": "a"}, row]})])
    async with script.gateway() as gateway:
        with pytest.raises(MalformedReplyError, match="not an amount") as failed:
            await use(gateway.contacts.list())
    assert failed.value.path == "$.contacts[1].contact_balance"
    assert failed.value.call == "GET /v2/contacts"
    assert (failed.value.__cause__, failed.value.__context__) == (None, None)


async def test_a_list_asks_as_it_was_told() -> None:
    """Filters, sort, expand and page size are in the query; a page size of 1000 by default."""
    script = Script(get=[listed("transactions", {"id": "a"})])
    async with script.gateway() as gateway:
        filters = {"contact_id": "c 1", "created_ts": TimeRange.LAST_30_DAYS, "status_id": [101, 102]}
        async for _ in gateway.transactions.list(filters, sort="-created_ts", expand=("location", "tags")):
            pass
    assert dict(script.asked[0].url.params) == {
        "contact_id": "c 1",
        "created_ts": "last 30 days",
        "status_id": "101,102",
        "sort": "-created_ts",
        "expand": "location,tags",
        "page_size": "1000",
        "page": "1",
    }


async def test_awaiting_leaves_the_page_size_to_the_gateway() -> None:
    """No page_size goes out unless the caller gives one."""
    script = Script(get=[paged([["a"]])])
    async with script.gateway() as gateway:
        await gateway.contacts.list()
        await gateway.contacts.list(page_size=5000)
    assert [request.url.params.get("page_size") for request in script.asked] == [None, "5000"]


@pytest.mark.parametrize("size", [0, -1, 5001, True, 2.5, "20"])
async def test_a_page_size_out_of_bounds_is_refused_before_sending(size: Any) -> None:
    """The cap of 5000 is the gateway's; nothing is sent to learn it."""
    async with Script(get=[]).gateway() as gateway:
        with pytest.raises(InvalidRequestError, match="page_size"):
            gateway.contacts.list(page_size=size)


async def test_two_iterations_of_one_list_are_independent() -> None:
    """Fetch the list again for every iteration."""
    async with Script(get=[paged([["a"], ["b"]])]).gateway() as gateway:
        contacts = gateway.contacts.list()
        assert [c.id async for c in contacts] == [c.id async for c in contacts] == ["a", "b"]


@pytest.mark.parametrize(
    ("limit", "ids", "pages"),
    [(None, "abcde", ["1", "2", "3"]), (2, "ab", ["1"]), (4, "abcd", ["1", "2"]), (99, "abcde", ["1", "2", "3"])],
)
async def test_a_list_of_the_first_records(limit: int | None, ids: str, pages: list[str]) -> None:
    """No more than the limit is returned, and no more is fetched than a page ahead."""
    script = Script(get=[paged([["a", "b"], ["c", "d"], ["e"]])])
    async with script.gateway() as gateway:
        records = await gateway.contacts.list(page_size=2).to_list(limit)
    assert "".join(record.id for record in records) == ids
    assert [request.url.params["page"] for request in script.asked][: len(pages)] == pages
    if limit == 2:
        assert script.asked[0].url.params["page_size"] == "2"
        assert len(script.asked) == 1


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "5"])
async def test_a_limit_is_a_whole_number(limit: Any) -> None:
    """Nothing is fetched otherwise."""
    script = Script()
    await script.fail(lambda gateway: gateway.contacts.list().to_list(limit), InvalidRequestError, match="limit: must")
    assert script.asked == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"filters": {"last_nme": "x"}}, "last_nme: is not a field of contacts .did you mean last_name"),
        ({"filters": {"zzz": "x"}}, "zzz: is not a field of contacts .extra_filters sends it"),
        ({"sort": "-created_tz"}, "sort: created_tz is not a field of contacts .did you mean created_ts"),
        ({"filters": {"city": "x"}, "extra_filters": {"city": "y"}}, "city: is in both"),
        ({"extra_filters": {"page": 2}}, "page: cannot be used as a filter"),
        ({"extra_filters": "x"}, "extra_filters: must be a mapping"),
    ],
)
async def test_a_misspelled_name_is_reported_before_anything_is_sent(arguments: dict[str, Any], problem: str) -> None:
    """With the name of a similar field, if there is one."""
    async with Script().gateway() as gateway:
        with pytest.raises(InvalidRequestError, match=problem):
            gateway.contacts.list(**arguments)


async def test_names_that_the_package_does_not_know_can_be_sent() -> None:
    """In `extra_filters`, or by a client that leaves checks to the gateway."""
    script = Script(get=[paged([["a"]])])
    async with script.gateway() as gateway:
        await gateway.contacts.list({"city": "x"}, extra_filters={"shoe_size": [42, 43]}, sort="shoe_size")
        await gateway.with_options(check_limits=False).contacts.list({"hat_size": 7}, sort="-hat_size")
        await gateway.contacts.list({"created_ts": "custom", "created_ts_from": 1, "created_ts_to": 2})
    first, second, third = (dict(request.url.params) for request in script.asked)
    assert first == {"city": "x", "shoe_size": "42,43", "sort": "shoe_size", "page": "1"}
    assert second == {"hat_size": "7", "sort": "-hat_size", "page": "1"}
    assert third["created_ts_to"] == "2"
