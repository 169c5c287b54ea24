"""Lists: awaited for a page, iterated to the end, one page ahead. `test_changing_lists.py` has lists that change."""

from collections.abc import Awaitable, Callable
from string import ascii_letters
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import Contact, InvalidRequestError, MalformedReplyError, ServerError, TimeRange
from gateway_async._execution.page_stream import read_in_slices
from gateway_async._wire.json_text import encode
from gateway_async._wire.pagination import decode_page, read_raw_page
from tests.support.scripted_transport import Script, ScriptedResponse, error_of, listed
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


def paged(pages: list[list[str]], *, base: int = 0, count: int | None = None, meta: bool = True) -> Callable[..., Any]:
    """A list of contacts of a gateway that divides it into these pages, whatever page size is requested."""

    def respond(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params.get("page", "1"))
        ids = pages[number - 1] if number <= len(pages) else []
        pagination = {
            "totalCount": sum(map(len, pages)),
            "pageCount": len(pages) if count is None else count,
            "currentPage": number - 1 + base,
        }
        body: dict[str, Any] = {"contacts": [{"id": each} for each in ids]}
        return httpx.Response(200, json=body | ({"meta": {"pagination": pagination}} if meta else {}))

    return respond


def divided(ids: str, *, base: int = 0, meta: bool = True, largest: int = 5000) -> Callable[..., Any]:
    """A list of contacts, each with a letter as its id, of a gateway that obeys the page size up to a maximum."""

    def respond(request: httpx.Request) -> httpx.Response:
        size = min(int(request.url.params.get("page_size", "20")), largest)
        pages = [[*ids[start : start + size]] for start in range(0, len(ids), size)]
        return httpx.Response(200, json=paged(pages, base=base, meta=meta)(request).json())

    return respond


def asked(script: Script) -> list[tuple[int, int]]:
    return [(int(request.url.params["page"]), int(request.url.params["page_size"])) for request in script.asked]


async def ids_of(script: Script, **options: Any) -> list[str]:
    async with script.gateway() as gateway:
        return [contact.id async for contact in gateway.contacts.list(**options)]


@pytest.mark.parametrize("base", [0, 1])
async def test_order(base: int) -> None:
    """Number pages from 1, whatever `currentPage` counts from."""
    script = Script(get=[divided(ascii_letters, base=base)])
    assert await ids_of(script, page_size=25) == [*ascii_letters]
    assert asked(script) == [(1, 25), (2, 24), (3, 23)]  # each begins with a record of the one before it


async def test_page_sizes() -> None:
    """Few more requests are needed than there are pages."""
    for size in range(1, 60):
        script = Script(get=[divided(ascii_letters)])
        assert await ids_of(script, page_size=size) == [*ascii_letters], size
        assert len(script.asked) <= 1.5 * len(ascii_letters) / size + 3, size


@pytest.mark.parametrize("largest", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("meta", [True, False])
async def test_smaller_maximum(largest: int, meta: bool) -> None:
    """The first response shows it."""
    assert await ids_of(Script(get=[divided(ascii_letters, largest=largest, meta=meta)])) == [*ascii_letters]


async def test_missing_meta() -> None:
    """A gateway that does not count its pages is asked until it has no more."""
    script = Script(get=[divided("abc", meta=False)])
    assert await ids_of(script) == ["a", "b", "c"]
    assert asked(script) == [(1, 1000), (2, 2)]


async def test_ignored_size() -> None:
    """If the gateway ignores the size, pages do not overlap, so each is read again to see that no record has moved."""
    script = Script(get=[paged([["a", "b"], ["c", "d"], ["e"]])])
    assert await ids_of(script) == ["a", "b", "c", "d", "e"]
    assert sorted(number for number, _ in asked(script)) == [1, 1, 2, 2, 3]


async def test_empty_page() -> None:
    """Deleted records may empty a page; the following ones still come."""
    assert await ids_of(Script(get=[paged([["a"], [], ["b"]])])) == ["a", "b"]


@pytest.mark.parametrize("pages", [[["a", "b"]] * 100, [["a"], *[[]] * 100]], ids=["the same page", "empty pages"])
async def test_endless_pages(pages: list[list[str]]) -> None:
    """A page that is sent for ever is an error: neither a loop nor the end of the list."""
    script = Script(get=[paged(pages)])
    await error_of(ids_of(script), MalformedReplyError, match="20 pages in a row have no new record")
    assert 22 < len(script.asked) < 50


async def test_an_empty_list_yields_no_record_no_page_and_no_first() -> None:
    async with Script(get=[paged([], count=0)]).gateway() as gateway:
        contacts = gateway.contacts.list()
        assert [contact async for contact in contacts] == []
        assert [page async for page in contacts.by_page()] == []
        assert await contacts.first() is None
        assert await contacts.count() == 0
        assert (await contacts).records == ()


async def test_page_numbers() -> None:
    """`by_page` and `await` give records, a 1-based number and the counts."""
    async with Script(get=[divided("abc")]).gateway() as gateway:
        pages = [page async for page in gateway.contacts.list(page_size=2).by_page()]
        first = await gateway.contacts.list(page_size=2)
    facts = [([record.id for record in page.records], page.number, page.total_count, page.page_count) for page in pages]
    assert facts == [(["a", "b"], 1, 3, 2), (["c"], 2, 3, 2)]
    assert first == pages[0]


@pytest.mark.parametrize("size", [1, 2, 3, 10, 25, 26, 51, 52, 53])
async def test_requested_size(size: int) -> None:
    """Pages but the last have the requested size, although each request reads some records again."""
    async with Script(get=[divided(ascii_letters)]).gateway() as gateway:
        pages = [page async for page in gateway.contacts.list(page_size=size).by_page()]
    expected = [[*ascii_letters[start : start + size]] for start in range(0, 52, size)]
    assert [[record.id for record in page.records] for page in pages] == expected
    assert [(page.number, page.page_count) for page in pages] == [(n + 1, len(expected)) for n in range(len(expected))]


async def test_first_and_count_request_a_page_of_one_record() -> None:
    script = Script(get=[paged([["a"], ["b"]])])
    async with script.gateway() as gateway:
        contacts = gateway.contacts.list({"city": "Bern"}, page_size=500)
        assert (await contacts.first(), await contacts.count()) == ((await contacts.first()), 2)
    assert {request.url.params["page_size"] for request in script.asked} == {"1"}


async def test_prefetch() -> None:
    """Request a page when the one before it has arrived, but not a third one ahead."""
    script = Script(get=[divided(ascii_letters)])
    async with script.gateway() as gateway:
        records = aiter(gateway.contacts.list(page_size=10))
        await anext(records)
        await anyio.wait_all_tasks_blocked()
        assert len(script.asked) == 3
        for _ in range(10):
            await anext(records)
        await anyio.wait_all_tasks_blocked()
        assert len(script.asked) == 4


async def test_leaving_a_list_early_leaves_no_task_behind() -> None:
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
        with anyio.fail_after(PATIENCE):
            await ended.wait()


async def test_failing_page() -> None:
    """The error of a page comes after the records before it, and once."""
    async with Script(get=[paged([["a"], ["b"]]), httpx.Response(500)]).gateway() as gateway:
        records = aiter(gateway.contacts.list())
        assert (await anext(records)).id == "a"
        await error_of(anext(records), Exception, match="500")
        await error_of(anext(records), StopAsyncIteration)


async def test_incomplete_page() -> None:
    """When a list fails, `by_page` first yields the records that do not fill a page."""
    response = divided(ascii_letters)
    async with Script(get=[response, response, httpx.Response(500)]).gateway() as gateway:
        pages = gateway.contacts.list(page_size=20).by_page()
        assert len((await anext(pages)).records) == 20
        assert 0 < len((await anext(pages)).records) < 20
        await error_of(anext(pages), ServerError, match="500")
        await error_of(anext(pages), StopAsyncIteration)


async def test_first_record() -> None:
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


async def test_shorter_list() -> None:
    """Cancel the request for a page that no longer exists."""
    started, ended = anyio.Event(), anyio.Event()

    async def second_page(_: httpx.Request) -> ScriptedResponse:
        await started.wait()
        return divided("abc")

    async def third_page(_: httpx.Request) -> httpx.Response:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError

    script = Script(get=[divided("abcdef"), second_page, third_page])
    async with script.gateway() as gateway:
        assert [contact.id async for contact in gateway.contacts.list(page_size=2)] == ["a", "b", "c"]
        with anyio.fail_after(PATIENCE):
            await ended.wait()


async def test_fairness() -> None:
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
    await contacts


async def next_page(contacts: Any) -> None:
    await anext(contacts.by_page())


async def next_record(contacts: Any) -> None:
    await anext(aiter(contacts))


@pytest.mark.parametrize("use", [first_page, next_page, next_record])
async def test_unreadable_row(use: Callable[[Any], Awaitable[None]]) -> None:
    """The error is the same however the list is used, and has no context whose frames would show the row."""
    row = {"id": "b", "contact_balance": "much"}
    script = Script(get=[httpx.Response(200, json={"contacts": [{"id": "a"}, row]})])
    async with script.gateway() as gateway:
        with pytest.raises(MalformedReplyError, match="not an amount") as failed:
            await use(gateway.contacts.list())
    assert failed.value.path == "$.contacts[1].contact_balance"
    assert failed.value.call == "GET /v2/contacts"
    assert (failed.value.__cause__, failed.value.__context__) == (None, None)


async def test_query() -> None:
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
    script = Script(get=[paged([["a"]])])
    async with script.gateway() as gateway:
        await gateway.contacts.list()
        await gateway.contacts.list(page_size=5000)
    assert [request.url.params.get("page_size") for request in script.asked] == [None, "5000"]


async def test_two_iterations_of_one_list_are_independent() -> None:
    async with Script(get=[paged([["a"], ["b"]])]).gateway() as gateway:
        contacts = gateway.contacts.list()
        assert [c.id async for c in contacts] == [c.id async for c in contacts] == ["a", "b"]


@pytest.mark.parametrize(
    ("limit", "ids", "requests"), [(None, "abcde", 4), (2, "ab", 1), (4, "abcd", 4), (99, "abcde", 4)]
)
async def test_limit(limit: int | None, ids: str, requests: int) -> None:
    """No more than the limit is returned, and no more is fetched than a page ahead."""
    script = Script(get=[divided("abcde")])
    async with script.gateway() as gateway:
        records = await gateway.contacts.list(page_size=2).to_list(limit)
    assert "".join(record.id for record in records) == ids
    assert len(script.asked) <= requests
    assert asked(script)[0] == (1, 2)


async def test_a_limit_is_reached_although_the_gateway_sends_smaller_pages() -> None:
    script = Script(get=[divided("abcde", largest=2)])
    async with script.gateway() as gateway:
        records = await gateway.contacts.list().to_list(4)
    assert "".join(record.id for record in records) == "abcd"


@pytest.mark.parametrize("ids", ["", "abc"])
async def test_a_list_below_the_limit_is_requested_once(ids: str) -> None:
    script = Script(get=[divided(ids)])
    async with script.gateway() as gateway:
        assert [record.id for record in await gateway.contacts.list().to_list(5)] == [*ids]
        assert len(script.asked) == 1
        first = await gateway.contacts.list().first()
        assert (first and first.id) == (ids[0] if ids else None)


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "5"])
async def test_a_limit_is_a_whole_number(limit: Any) -> None:
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
        ({"page_size": 5001}, "page_size: must be a whole number from 1 to 5000"),
    ],
)
async def test_wrong_arguments(arguments: dict[str, Any], problem: str) -> None:
    """Wrong arguments are reported before anything is sent, a misspelled name with a similar field."""
    async with Script().gateway() as gateway:
        with pytest.raises(InvalidRequestError, match=problem):
            gateway.contacts.list(**arguments)


async def test_extra_names() -> None:
    """Unknown names are sent in `extra_filters`, or by a client that leaves checks to the gateway."""
    script = Script(get=[paged([["a"]])])
    async with script.gateway() as gateway:
        await gateway.contacts.list({"city": "x"}, extra_filters={"shoe_size": [42, 43]}, sort="shoe_size")
        await gateway.with_options(check_limits=False).contacts.list({"hat_size": 7}, sort="-hat_size")
        await gateway.contacts.list({"created_ts": "custom", "created_ts_from": 1, "created_ts_to": 2})
    first, second, third = (dict(request.url.params) for request in script.asked)
    assert first == {"city": "x", "shoe_size": "42,43", "sort": "shoe_size", "page": "1"}
    assert second == {"hat_size": "7", "sort": "-hat_size", "page": "1"}
    assert third["created_ts_to"] == "2"
