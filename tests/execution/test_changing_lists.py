"""Lists that change while they are read: a record that stays in the list is yielded exactly once."""

from collections.abc import Callable, Sequence

import anyio
from hypothesis import example, given
from hypothesis import strategies as st

from .changing_list import ChangingList

Change = Callable[[ChangingList], object]

SHARES = st.floats(0, 1, exclude_max=True)


def inserting(share: float) -> Change:
    """Insert a record."""
    return lambda server: server.insert(share)


def removing(share: float) -> Change:
    """Remove a record."""
    return lambda server: server.remove(share)


def together(changes: Sequence[Change]) -> Change:
    """Make several changes."""
    return lambda server: [change(server) for change in changes]


CHANGES = st.lists(st.one_of(SHARES.map(inserting), SHARES.map(removing)), max_size=6).map(together)


async def walk(
    server: ChangingList, page_size: int, *, removes: Callable[[int], bool] = lambda _: False, late: bool = False
) -> list[str]:
    """Iterate over a list whose loop removes some of the records that it gets.

    `late` answers are made when the next page is needed; others when they are requested, which is a page or two before.
    """
    seen: list[str] = []
    async with server.gateway() as gateway:
        pages = gateway.contacts.list(page_size=page_size).by_page()
        while True:
            server.release()
            try:
                page = await anext(pages)
            except StopAsyncIteration:
                return seen
            if late:
                server.hold()
            for record in page.records:
                seen.append(str(record.id))
                if removes(len(seen)):
                    server.discard(str(record.id))


def names(number: int) -> list[str]:
    """The ids of a list."""
    return [f"c{each}" for each in range(number)]


@given(
    number=st.integers(0, 60),
    page_size=st.integers(1, 25),
    changes=st.lists(CHANGES, max_size=25),
    removes=st.sampled_from([0, 1, 2, 3, 7]),
    late=st.booleans(),
    largest=st.sampled_from([5000, 5000, 5000, 12]),
)
@example(number=60, page_size=10, changes=[], removes=1, late=False, largest=5000)
@example(number=60, page_size=10, changes=[], removes=1, late=True, largest=5000)
def test_a_record_that_stays_listed_is_yielded_exactly_once(
    number: int, page_size: int, changes: list[Change], removes: int, late: bool, largest: int
) -> None:
    """Whatever is inserted and removed meanwhile, by the loop or by others, and however early pages are read."""

    async def run() -> tuple[ChangingList, list[str]]:
        server = ChangingList(names(number), [lambda _: None, *changes], largest=largest)
        return server, await walk(server, page_size, removes=lambda n: bool(removes) and n % removes == 0, late=late)

    server, seen = anyio.run(run)
    stayed = set(names(number)) - server.removed
    assert stayed <= set(seen), "skipped"
    assert len(seen) == len(set(seen)), "yielded twice"
