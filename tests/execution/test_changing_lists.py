"""Lists that change while they are read: a record that stays in the list is yielded exactly once."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway_async import MalformedReplyError
from gateway_async._wire import page_plan
from gateway_async._wire.page_plan import RecentIds
from tests.support.scripted_transport import error_of

from .changing_list import ChangingList

Change = Callable[[ChangingList], object]

REMEMBERED = 100
"""Ids in each generation, in tests in which ids are forgotten."""


def unchanged(_: ChangingList) -> None:
    """Change nothing."""


def together(changes: Sequence[Change]) -> Change:
    return lambda server: [change(server) for change in changes]


def inserting(share: float, count: int = 1) -> Change:
    return together([lambda server: server.insert(share)] * count)


def removing(share: float, count: int = 1) -> Change:
    return together([lambda server: server.remove(share)] * count)


SHARES = st.one_of(st.floats(0, 1, exclude_max=True), st.just(0.0), st.just(0.999))
CHANGES = st.lists(
    st.builds(lambda kind, share: kind(share), st.sampled_from([inserting, removing]), SHARES), max_size=6
)
SERVERS = st.fixed_dictionaries(
    {
        "changes": st.lists(CHANGES.map(together), max_size=16),  # fewer new records than ids are remembered
        "largest": st.sampled_from([5000, 5000, 5000, 12]),
        "counts_first": st.booleans(),
    }
)


def names(number: int) -> list[str]:
    return [f"c{each}" for each in range(number)]


async def walk(
    server: ChangingList,
    page_size: int,
    *,
    removes: int = 0,
    late: bool = False,
    by_page: bool = False,
    sort: str | None = None,
) -> list[str]:
    """Iterate over a list; the loop removes every `removes`-th record that it gets.

    `late` responses are made when the next page is needed; others when they are requested, one or two pages before.
    """
    seen: list[str] = []
    async with server.gateway() as gateway:
        listed = gateway.contacts.list(page_size=page_size, sort=sort)
        steps: AsyncIterator[Any] = listed.by_page() if by_page else aiter(listed)
        while True:
            server.release()
            step = await anext(steps, None)
            if step is None:
                return seen
            if late:
                server.hold()
            for record in getattr(step, "records", [step]):
                seen.append(record.id)
                if removes and len(seen) % removes == 0:
                    server.discard(record.id)


def check(server: ChangingList, seen: Sequence[str]) -> None:
    assert server.stayed <= set(seen), "skipped"
    assert len(seen) == len(set(seen)), "yielded twice"


@given(
    number=st.integers(0, 60),
    page_size=st.integers(1, 25),
    server=SERVERS,
    removes=st.sampled_from([0, 0, 1, 2, 3]),
    late=st.booleans(),
    by_page=st.booleans(),
    backend=st.sampled_from(["asyncio", "trio"]),
)
@example(number=60, page_size=10, server={}, removes=1, late=False, by_page=False, backend="asyncio")
@example(number=60, page_size=10, server={}, removes=1, late=True, by_page=True, backend="trio")
def test_listed_record(
    number: int, page_size: int, server: dict[str, Any], removes: int, late: bool, by_page: bool, backend: str
) -> None:
    """The loop and others insert and remove records, and pages are read earlier or later."""
    changing = ChangingList(names(number), **server)
    iterate = partial(walk, changing, page_size, removes=removes, late=late, by_page=by_page)
    check(changing, anyio.run(iterate, backend=backend))


@given(
    number=st.integers(0, 3 * REMEMBERED),
    page_size=st.integers(1, REMEMBERED // 5),
    server=SERVERS,
    removes=st.sampled_from([0, 1, 2, 3]),
    late=st.booleans(),
)
def test_long_list(number: int, page_size: int, server: dict[str, Any], removes: int, late: bool) -> None:
    """A list that is longer than what is remembered: nothing is skipped and nothing yielded twice without an error."""
    changing = ChangingList(names(number), **(server | {"largest": REMEMBERED // 5}))
    with patch.object(page_plan, "_MAX_REMEMBERED", REMEMBERED):
        try:
            seen = anyio.run(partial(walk, changing, page_size, removes=removes, late=late))
        except MalformedReplyError:
            return
    check(changing, seen)


@pytest.fixture
def short_memory() -> Iterator[None]:
    """A client that remembers few ids."""
    with patch.object(page_plan, "_MAX_REMEMBERED", REMEMBERED):
        yield


@pytest.mark.anyio
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.usefixtures("short_memory")
async def test_a_loop_may_delete_a_list_of_any_length(late: bool) -> None:
    server = ChangingList(names(2000))
    assert await walk(server, 20, removes=1, late=late, sort="-created_ts") == names(2000)
    assert server.ids == []


@pytest.mark.anyio
@pytest.mark.usefixtures("short_memory")
async def test_kept_records() -> None:
    """Keep records at the beginning, so that nothing that was yielded recently is listed."""
    server = ChangingList(names(2000))

    async def run() -> list[str]:
        seen: list[str] = []
        async with server.gateway() as gateway:
            async for contact in gateway.contacts.list(page_size=20):
                seen.append(contact.id)
                if len(seen) not in (1, 2, 17):
                    server.discard(contact.id)
        return seen

    assert await run() == names(2000)


@pytest.mark.anyio
@pytest.mark.usefixtures("short_memory")
async def test_old_record() -> None:
    """Its id is forgotten, and it moves to a page with records that were yielded recently."""

    def remove_all_between(server: ChangingList) -> None:
        number, size = server.asked[-1]
        removed = server.ids[5 : (number - 1) * size - 20]
        for name in removed:
            server.discard(name)
        inserting(0.9999, len(removed))(server)

    server = ChangingList(names(700), [*[unchanged] * 20, remove_all_between], largest=20)
    check(server, await walk(server, 20))
    assert server.ids[0] == "c0"


@pytest.mark.anyio
async def test_repeated_pages() -> None:
    """Keep the ids of the records behind them, which are needed next."""
    server = ChangingList(names(750), largest=25)
    with patch.object(page_plan, "_MAX_REMEMBERED", 125):
        check(server, await walk(server, 25, removes=3))


@pytest.mark.anyio
@pytest.mark.usefixtures("short_memory")
async def test_deleted_memory() -> None:
    """Fail, because others would be yielded twice: which of them were yielded is unknown."""

    def purge(server: ChangingList) -> None:
        for name in names(600)[200:]:
            server.discard(name)

    server = ChangingList(names(700), [*[unchanged] * 32, purge])
    error = await error_of(walk(server, 20), MalformedReplyError, match="the place to continue is unknown")
    assert "sort by created_ts or id" in str(error)


@pytest.mark.anyio
@pytest.mark.usefixtures("short_memory")
async def test_changed_order() -> None:
    """Records that change their place could be those that are listed, so that a loop over them might never end."""
    server = ChangingList(names(2000))
    await error_of(walk(server, 20, removes=1, sort="modified_ts"), MalformedReplyError, match="sort by created_ts")


@pytest.mark.anyio
async def test_moved_records() -> None:
    """Sorted by the time of change: each is yielded once, as far as ids are remembered."""
    server = ChangingList(names(25))
    seen: list[str] = []
    async with server.gateway() as gateway:
        async for contact in gateway.contacts.list(sort="modified_ts", page_size=10):
            seen.append(contact.id)
            server.ids.remove(contact.id)
            server.ids.append(contact.id)
    assert len(seen) == len(set(seen))


@pytest.mark.anyio
@pytest.mark.parametrize("removed", [1, 9, 10, 11, 60])
@pytest.mark.parametrize("late", [False, True])
async def test_equal_counts_hide_no_removal(removed: int, late: bool) -> None:
    changes = [*[unchanged] * 9, together([removing(0, removed), inserting(1, removed)])]
    server = ChangingList(names(200), changes)
    check(server, await walk(server, 10, late=late))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("change", "most"), [(removing(0, 60), 2600), (together([removing(0, 300), inserting(0.9999, 300)]), 3400)]
)
async def test_removed_records(change: Change, most: int) -> None:
    """Little more is read again than may have moved."""
    server = ChangingList(names(2000), [*[unchanged] * 10, change])
    check(server, await walk(server, 100))
    assert sum(size for _, size in server.asked) <= most
    assert len(server.asked) < 33


@pytest.mark.anyio
async def test_new_records() -> None:
    """The gateway's count says how far they have moved the others."""
    still, growing = ChangingList(names(1000)), ChangingList(names(1000), [*[unchanged] * 80, inserting(0, 500)])
    assert await walk(still, 10) == names(1000)
    check(growing, await walk(growing, 10))
    assert len(growing.asked) <= len(still.asked) + 6


@pytest.mark.anyio
async def test_fast_growth() -> None:
    """Each request finds more new records at the front than a page has."""
    server = ChangingList(names(60), [unchanged, unchanged, *[inserting(0, 50)] * 100])
    check(server, await walk(server, 10))


@pytest.mark.anyio
async def test_a_loop_that_deletes_costs_a_request_more_for_each_unread_page() -> None:
    server = ChangingList(names(10_000))
    assert await walk(server, 100, removes=1, late=True) == names(10_000)
    assert len(server.asked) <= 250


@pytest.mark.anyio
async def test_short_page() -> None:
    """A gateway may count before it reads a page; records added in between move others behind the last page."""
    server = ChangingList(names(20), [unchanged, inserting(0, 6)], counts_first=True)
    check(server, await walk(server, 11))


@pytest.mark.anyio
async def test_a_list_that_does_not_change_costs_hardly_more_requests_than_it_has_pages() -> None:
    server = ChangingList(names(99_000))
    assert await walk(server, 1000) == names(99_000)
    assert len(server.asked) <= 105
    assert sum(size for _, size in server.asked) < 1.03 * 99_000


@pytest.mark.anyio
@pytest.mark.parametrize("meta", [False, True])
async def test_missing_page_sizes(meta: bool) -> None:
    """A gateway that ignores the page size, or counts nothing: the page before is read again."""
    server = ChangingList(names(30), [unchanged, removing(0, 2), removing(0, 3)], fixed_size=5, has_meta=meta)
    check(server, await walk(server, 5))


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("its_id", ["null", ""])
async def test_missing_ids(size: int, its_id: str) -> None:
    """Pages do not overlap, because such records cannot be recognized: all of a list, or the one at any place."""
    for ids in ([its_id] * 7, *([*names(place), its_id, *names(9)[place + 1 :]] for place in range(9))):
        async with ChangingList(ids).gateway() as gateway:
            things = gateway.resource("contacts", name="contact").list(page_size=size)
            assert [thing.id or its_id async for thing in things] == ids


@pytest.mark.anyio
@pytest.mark.parametrize("page_size", [2, 700])
async def test_cancelled_waits(page_size: int) -> None:
    """A program that waited for too short a time can ask for the next record again."""

    async def cancel(scope: anyio.CancelScope, rounds: int) -> None:
        for _ in range(rounds):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    async with ChangingList(names(600)).gateway() as gateway, anyio.create_task_group() as tasks:
        records, seen = aiter(gateway.contacts.list(page_size=page_size)), list[str]()
        while len(seen) < 600:
            with anyio.move_on_after(len(seen) % 50) as scope:  # 0: at once
                tasks.start_soon(cancel, scope, len(seen) // 2 % 20)
                seen.append((await anext(records)).id)
                continue
            seen.append((await anext(records)).id)
    assert seen == names(600)


def test_memory_is_bounded() -> None:
    """However many ids were remembered, the last 20,000 still are, and no more than 100,000."""
    recent = RecentIds()
    for start in range(0, 1_000_000, 5000):
        recent.remember(range(start, start + 5000), others_are_gone=False, may_forget=start % 3 == 0)
    remembered = recent.among(range(1_000_000))
    assert set(range(980_000, 1_000_000)) <= remembered
    assert len(remembered) <= 100_000
