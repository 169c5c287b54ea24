"""The inboxes: what both of them keep, hand out, and write; each on every event loop that it runs on."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import anyio
import attrs
import pytest

from gateway_async.models.codes import PostbackResource
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import Claim, Inbox, InboxError, PostbackState

from .inboxes import Store, change, empty_store, states

WAITING, HANDLED, SUPERSEDED, DEAD, DISCARDED = PostbackState
pytestmark = pytest.mark.anyio
MINUTE = 60.0


store = pytest.fixture(empty_store)


@pytest.fixture
def inbox(store: Store) -> Inbox:
    """An empty inbox."""
    return store.inbox


async def put(inbox: Inbox, *postbacks: Postback[Any]) -> list[bool]:
    """Put them in, one after the other."""
    return [await inbox.store(postback) for postback in postbacks]


async def handle_all(inbox: Inbox) -> list[tuple[Any, bool]]:
    """Handle all that is due; the times of the changes, and whether they were superseded."""
    handled: list[tuple[Any, bool]] = []
    while claims := await inbox.claim(100, MINUTE):
        for claim in claims:
            handled.append((claim.postback.raw["modified_ts"], claim.superseded))
            assert await inbox.complete(claim, SUPERSEDED if claim.superseded else HANDLED)
    return handled


async def only_claim(inbox: Inbox) -> Claim:
    """The one claim that there is to be had."""
    (claim,) = await inbox.claim(100, MINUTE)
    return claim


# --- what is kept


async def test_round_trip(inbox: Inbox) -> None:
    """Every value comes back, with the digits of amounts, also for another process; and its columns as stored."""
    sent = change(
        transaction_amount="12.50", tax=Decimal("0.10"), note="Grüße \0 \u2603 'x'", more=[{"n": 10**18}, None, True]
    )
    assert await inbox.store(sent) is True
    claim = await only_claim(inbox)
    assert claim.postback == sent
    assert str(claim.postback.raw["tax"]) == "0.10"
    (stored,) = await inbox.list()
    assert stored == attrs.evolve(stored, number=claim.number, postback=sent, state=WAITING, attempts=1, error="")
    assert abs(stored.received_at - datetime.now(UTC)) < timedelta(minutes=1)


async def test_repetition(inbox: Inbox) -> None:
    """A repetition is dropped before and after the handling; the number of attempts makes no difference."""
    again = attrs.evolve(change(), number_of_attempts=2)
    assert await put(inbox, change(), again) == [True, False]
    assert await handle_all(inbox) == [(1, False)]
    assert await inbox.store(again) is False
    assert await states(inbox) == [("t1", 1, HANDLED)]


async def test_simultaneous_repetitions(inbox: Inbox) -> None:
    """A hundred deliveries of ten changes at once: ten are new."""
    news: list[bool] = []

    async def deliver(number: int) -> None:
        news.append(await inbox.store(change(f"t{number % 10}")))

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(deliver, number)
    assert (sum(news), len(await inbox.list())) == (10, 10)


async def test_other_process(store: Store) -> None:
    """One process stores a postback, another handles it and recognizes a repetition."""
    other = store.another()
    assert await store.inbox.store(change()) is True
    assert await handle_all(other) == [(1, False)]
    assert await other.store(change()) is False
    assert await states(store.inbox) == [("t1", 1, HANDLED)]


async def test_postbacks_are_listed_by_pages_and_states(inbox: Inbox) -> None:
    await put(inbox, *(change(f"t{number}") for number in range(5)))
    (first,) = await inbox.claim(1, MINUTE)
    await inbox.complete(first, HANDLED)
    everything = await inbox.list()
    assert [stored.postback.record_id for stored in everything] == ["t0", "t1", "t2", "t3", "t4"]
    assert list(await inbox.list(after=everything[1].number, limit=2)) == everything[2:4]
    assert [stored.number for stored in await inbox.list(HANDLED)] == [first.number]
    assert list(await inbox.list(DEAD)) == []
    assert [stored.due_at is None for stored in everything] == [True, False, False, False, False]


async def test_caught_up(inbox: Inbox) -> None:
    """A listed change is not new where it, or a later one, is there, waiting or handled; elsewhere it is."""
    await put(inbox, change("t1", 5), change("t2", 5))
    assert len(await handle_all(inbox)) == 2
    await inbox.store(change("t3", 5))
    missed = [change(record, time, caught_up=True) for record in ("t1", "t3", "t4") for time in (4, 5, 6)]
    news = [await inbox.store(postback) for postback in missed]
    assert news == [False, False, True, False, False, True, True, True, True]


async def test_thousand(inbox: Inbox) -> None:
    """A thousand postbacks at once are kept, and handed out in small numbers."""
    async with anyio.create_task_group() as tasks:
        for number in range(1000):
            tasks.start_soon(inbox.store, change(f"t{number}"))
    assert len(await inbox.claim(16, MINUTE)) == 16
    assert len(await inbox.claim(1000, MINUTE)) == 984


# --- what is handed out


async def test_order(inbox: Inbox) -> None:
    """The next postback of a record is claimed when the one before has ended; other records do not wait for it."""
    await put(inbox, change("t1", 1), change("t1", 2), change("t2", 1))
    first, other = await inbox.claim(10, MINUTE)
    assert [(claim.postback.record_id, claim.attempt) for claim in (first, other)] == [("t1", 1), ("t2", 1)]
    assert list(await inbox.claim(10, MINUTE)) == []
    await inbox.store(change("t1", 3))
    assert list(await inbox.claim(10, MINUTE)) == []
    await inbox.complete(first, HANDLED)
    assert [time for time, _ in await handle_all(inbox)] == [2, 3]


async def test_independent_records(inbox: Inbox) -> None:
    """A contact and a transaction of the same id are two records; without an id each is by itself."""
    vault = attrs.evolve(change("t1", 1), resource=PostbackResource("accountvault"), key="v" * 64)
    nameless = [attrs.evolve(change("t1", time), record_id="", key=str(time) * 64) for time in (5, 6)]
    await put(inbox, change("t1", 1), vault, *nameless)
    assert len(await inbox.claim(10, MINUTE)) == 4


async def test_lost_claim(store: Store) -> None:
    """Another worker gets it as its second attempt; the first can neither finish, fail, prolong nor release it."""
    await store.inbox.store(change())
    await store.make_effects()
    (lost,) = await store.inbox.claim(1, 0)
    other = store.another()
    claim = await only_claim(other)
    assert (claim.number, claim.attempt) == (lost.number, 2)
    assert await store.inbox.complete(lost, HANDLED, [store.effect(lost.postback)]) is False
    await store.inbox.fail(lost, "too late", None)
    await store.inbox.release([lost])
    await store.inbox.extend([lost], 0)
    assert list(await store.inbox.claim(1, MINUTE)) == []
    assert await other.complete(claim, HANDLED, [store.effect(claim.postback)]) is True
    assert await store.effects() == [("t1", 1)]
    assert await store.inbox.complete(claim, HANDLED) is False


async def test_expired_claim(inbox: Inbox) -> None:
    """A worker whose lease ended has handled the postback if no other worker has claimed it."""
    await inbox.store(change())
    (late,) = await inbox.claim(1, 0)
    assert await inbox.complete(late, HANDLED) is True


async def test_a_claim_is_prolonged_from_now_on(inbox: Inbox) -> None:
    await inbox.store(change())
    claims = await inbox.claim(1, 0)
    await inbox.extend(claims, MINUTE)
    assert list(await inbox.claim(1, MINUTE)) == []
    assert await inbox.complete(claims[0], HANDLED) is True


async def test_released_claim(inbox: Inbox) -> None:
    """A claim that is given back is due at once, and was no attempt."""
    await put(inbox, change(modified=1), change(modified=2))
    await inbox.release([await only_claim(inbox)])
    claim = await only_claim(inbox)
    assert (claim.postback.raw["modified_ts"], claim.attempt) == (1, 1)


async def test_processes(store: Store) -> None:
    """Eight processes claim at once: each record is one's, and no postback is handed out twice."""
    for number in range(40):
        await store.inbox.store(change(f"t{number}"))
    claims: list[Claim] = []

    async def work(inbox: Inbox) -> None:
        for _ in range(4):
            claims.extend(await inbox.claim(3, MINUTE))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(work, store.another())
    claims += await store.inbox.claim(100, MINUTE)
    assert sorted(claim.postback.record_id for claim in claims) == sorted(f"t{number}" for number in range(40))


# --- after the handling


async def test_failure(inbox: Inbox) -> None:
    """Until its pause is over, nothing of a failed postback's record is handed out; its error is kept."""
    await put(inbox, change("t1", 1), change("t1", 2))
    await inbox.fail(await only_claim(inbox), "KeyError: 'x'", 3600)
    assert list(await inbox.claim(10, MINUTE)) == []
    stored, behind = await inbox.list()
    assert (stored.state, stored.error, stored.attempts) == (WAITING, "KeyError: 'x'", 1)
    assert stored.due_at
    assert timedelta(minutes=59) < stored.due_at - datetime.now(UTC) <= timedelta(minutes=60)
    assert behind.due_at == stored.due_at
    await inbox.replay(stored.number)
    claim = await only_claim(inbox)
    await inbox.fail(claim, "", 0)
    assert (await only_claim(inbox)).attempt == 2


async def test_dead(inbox: Inbox) -> None:
    """A dead postback is listed with its error; after a replay it is claimed with its attempts reset."""
    await put(inbox, change("t1", None), change("t1", 2))
    dead = await only_claim(inbox)
    await inbox.fail(dead, "ValueError: no", None)
    assert await handle_all(inbox) == [(2, False)]
    (stored,) = await inbox.list(DEAD)
    assert (stored.number, stored.error, stored.due_at) == (dead.number, "ValueError: no", None)
    assert await inbox.replay(dead.number) is True
    assert await inbox.replay(10**6) is False
    again = await only_claim(inbox)
    assert (again.number, again.attempt) == (dead.number, 1)
    await inbox.complete(again, HANDLED)
    (stored, _) = await inbox.list()
    assert (stored.state, stored.error) == (HANDLED, "")


async def test_high_number(inbox: Inbox) -> None:
    """No postback has a number that a database cannot store, and a question for one disturbs no other task."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(inbox.store, change())
        assert [await inbox.replay(2**63), await inbox.discard(2**63), await inbox.discard(-(2**70))] == [False] * 3
        assert await inbox.list(after=2**63) == []
        with pytest.raises(TypeError):
            await inbox.replay("1")  # type: ignore[arg-type]
    assert len(await inbox.list(limit=2**63)) == 1


async def test_discard(store: Store) -> None:
    """Only dead postbacks are discarded; a discarded one is known as long as a handled one, then forgotten."""
    inbox = store.inbox
    await put(inbox, change("t1"), change("t2"), change("t3"))
    dead, handled = await inbox.claim(2, MINUTE)
    await inbox.fail(dead, "no", None)
    await inbox.complete(handled, HANDLED)
    assert [await inbox.discard(number) for number in (1, 1, 2, 3, 10**6)] == [True, False, False, False, False]
    assert await states(inbox) == [("t1", 1, DISCARDED), ("t2", 1, HANDLED), ("t3", 1, WAITING)]
    assert await put(inbox, change("t1"), change("t1", note="listed", caught_up=True)) == [False, False]
    assert await handle_all(inbox) == [(1, False)]
    day = "86400" if store.is_file else "interval '1 day'"
    await store.ask(f"UPDATE {{inbox}} SET ended_at = ended_at - 8 * {day} WHERE number = 1")  # noqa: S608  our own words
    await store.another(keep_days=7).claim(0, MINUTE)
    assert [stored.number for stored in await inbox.list()] == [2, 3]


async def test_a_discarded_postback_can_be_replayed(inbox: Inbox) -> None:
    await inbox.store(change())
    await inbox.fail(await only_claim(inbox), "no", None)
    assert await inbox.discard(1) is True
    assert await inbox.replay(1) is True
    assert await handle_all(inbox) == [(1, False)]
    assert await inbox.discard(1) is False


async def test_early_replay(inbox: Inbox) -> None:
    """A replay does nothing to a claim; two postbacks of a record are never handed out at once."""
    await put(inbox, change("t1", 1), change("t1", 2))
    assert await handle_all(inbox) == [(1, False), (2, False)]
    await inbox.store(change("t1", 3))
    claim = await only_claim(inbox)
    assert [await inbox.replay(stored.number) for stored in await inbox.list()] == [True, True, True]
    assert list(await inbox.claim(10, MINUTE)) == []
    assert await inbox.complete(claim, HANDLED) is True
    assert await handle_all(inbox) == [(1, True), (2, True)]


async def test_superseded(inbox: Inbox) -> None:
    """A newer state supersedes if it was handled; not if it is dead, nor if it is of the same second."""
    await put(inbox, change("t1", 5), change("t1", 4), change("t1", 5, note="again"), change("t1", 6))
    assert await handle_all(inbox) == [(5, False), (4, True), (5, False), (6, False)]
    await put(inbox, change("t2", 5), change("t2", 4))
    await inbox.fail(await only_claim(inbox), "no", None)
    assert await handle_all(inbox) == [(4, False)]
    assert [state for *_, state in await states(inbox)] == [HANDLED, SUPERSEDED, HANDLED, HANDLED, DEAD, HANDLED]


@pytest.mark.parametrize("deleted_at", [5, None])
async def test_deletion(inbox: Inbox, deleted_at: int | None) -> None:
    """A DELETE supersedes states that are not newer or have no time; a replayed DELETE is not superseded."""
    await put(inbox, change("t1", 5), change("t1", deleted_at, "DELETE"))
    await put(inbox, change("t1", 5, note="late"), change("t1", None), change("t1", 6))
    handled = await handle_all(inbox)
    assert handled[:4] == [(5, False), (deleted_at, False), (5, True), (None, True)]
    assert handled[4] == (6, deleted_at is None)
    if deleted_at is None:
        await inbox.replay((await inbox.list())[1].number)
        assert await handle_all(inbox) == [(None, False)]


# --- what handlers write


async def test_writes(store: Store) -> None:
    """All writes of a handler are there, in their order, exactly if its postback is handled."""
    await store.make_effects()
    await store.inbox.store(change("t1", 7))
    claim = await only_claim(store.inbox)
    assert await store.effects() == []
    second = store.effect(change("t1", 8))
    assert await store.inbox.complete(claim, HANDLED, [store.effect(claim.postback), second]) is True
    assert await store.effects() == [("t1", 7), ("t1", 8)]


BAD_WRITES = {
    "no table": ("INSERT INTO nowhere VALUES (1)", ()),
    "no SQL": ("once upon a time", ()),
    "two statements": ("SELECT 1; SELECT 2", ()),
    "too few values": ("INSERT INTO {effects} VALUES (?, ?)", ("t1",)),
    "an odd value": ("INSERT INTO {effects} VALUES (?, ?)", (object(), 1)),
    "too large a number": ("INSERT INTO {effects} VALUES (?, ?)", ("t1", 10**30)),
}


@pytest.mark.parametrize("bad", BAD_WRITES)
async def test_failing_statement(store: Store, bad: str) -> None:
    """Its error is raised unchanged and nothing is written; the claim stays valid, and others are not affected."""
    await store.make_effects()
    await put(store.inbox, change("t1"), change("t2"), change("t3"))
    claims = await store.inbox.claim(10, MINUTE)
    statement, values = BAD_WRITES[bad]
    outcomes: dict[str, object] = {}

    async def finish(claim: Claim) -> None:
        statements = [store.effect(claim.postback)]
        if claim.postback.record_id == "t2":
            statements.append((store.named(statement), values))
        try:
            outcomes[claim.postback.record_id] = await store.inbox.complete(claim, HANDLED, statements)
        except Exception as error:  # noqa: BLE001  which one is the database's business
            outcomes[claim.postback.record_id] = error

    async with anyio.create_task_group() as tasks:
        for claim in claims:
            tasks.start_soon(finish, claim)
    assert not isinstance(outcomes["t2"], bool | InboxError)
    assert (outcomes["t1"], outcomes["t3"]) == (True, True)
    assert sorted(await store.effects()) == [("t1", 1), ("t3", 1)]
    assert await store.inbox.complete(claims[1], HANDLED, [store.effect(claims[1].postback)]) is True
    assert len(await store.effects()) == 3


# --- what was listed, and changed in the second of what was delivered


def listed(status: int | None, modified: int = 5, type_: str = "UPDATE", **fields: Any) -> Postback[Any]:
    """A state of a record as it was listed."""
    return change("t1", modified, type_, caught_up=True, status_id=status, **fields)


async def grow_old(store: Store) -> None:
    """Let a minute pass since all that is there came."""
    minute = "61" if store.is_file else "interval '61 seconds'"
    await store.ask(f"UPDATE {{inbox}} SET received_at = received_at - {minute}")  # noqa: S608  our own words


@pytest.mark.parametrize("is_handled", [True, False])
async def test_same_second(store: Store, is_handled: bool) -> None:
    """A second change within one second is told by its content: handled once, after the first."""
    await put(store.inbox, change("t1", 5, status_id=101))
    if is_handled:
        await handle_all(store.inbox)
    await grow_old(store)
    same = [listed(101), listed(None), listed(101, batch="12"), listed(102, modified=4), listed(102, type_="CREATE")]
    assert await put(store.inbox, *same) == [False] * 5
    assert await put(store.inbox, listed(102), listed(102), listed(201)) == [True, False, False]
    await grow_old(store)
    assert await put(store.inbox, listed(102, batch="12"), listed(201)) == [False, True]
    await handle_all(store.inbox)
    stored_postbacks = await store.inbox.list()
    assert [(each.postback.raw["status_id"], each.state) for each in stored_postbacks] == [
        (101, HANDLED),
        (102, HANDLED),
        (201, HANDLED),
    ]


async def test_young_postback(store: Store) -> None:
    """A list that says otherwise of the same second does not count; a minute later it does."""
    await put(store.inbox, change("t1", 5, status_id=102))
    assert await put(store.inbox, listed(101)) == [False]
    await grow_old(store)
    assert await put(store.inbox, listed(101)) == [True]


@pytest.mark.parametrize("is_handled", [True, False])
async def test_no_list_restores_a_record_deleted_in_its_second(store: Store, is_handled: bool) -> None:
    await put(store.inbox, change("t1", 5, "DELETE", status_id=101))
    if is_handled:
        await handle_all(store.inbox)
    await grow_old(store)
    assert await put(store.inbox, listed(102)) == [False]


async def test_listed_first(store: Store) -> None:
    """A listed record is a CREATE whatever it says, and another change if it says the same of the same second."""
    listed_first = [listed(101, type_="CREATE"), listed(101, 7, description=None)]
    assert await put(store.inbox, *listed_first) == [True, True]
    late = [
        change("t1", 5, "CREATE", status_id=102),
        change("t1", 7, status_id=101, description="only here"),
        change("t1", 7, status_id=111),
        change("t1", 8, status_id=101),
        change("t2", 7, status_id=101),
    ]
    assert await put(store.inbox, *late) == [False, True, True, True, True]
    assert await put(store.inbox, change("t1", 7, status_id=101, number="1")) == [False]
    assert await put(store.inbox, change("t1", 7, "DELETE", status_id=101)) == [True]


async def test_unknown_fields(store: Store) -> None:
    """A batch changes for days after the second of its closing; what only one side says, and lists, do not count."""
    first = listed(101, tip="1.00", count=2, tags=[1], more="listed")
    assert await put(store.inbox, first) == [True]
    received = change("t1", 5, status_id=101, tip="1.00", count=2, tags=[2], other="delivered")
    assert await put(store.inbox, received) == [False]
    news = [change("t1", 5, status_id=101, tip="2.00"), change("t1", 5, status_id=101, count=None)]
    assert await put(store.inbox, *news) == [True, True]


# --- what is forgotten, refused and closed


async def test_keep_days(store: Store) -> None:
    """After them handled postbacks are forgotten; waiting and dead ones stay, and repetitions are known until then."""
    await put(store.inbox, change("t1"), change("t2"), change("t3"), change("t4"))
    claims = await store.inbox.claim(3, MINUTE)
    for claim in claims[:2]:
        await store.inbox.complete(claim, HANDLED)
    await store.inbox.fail(claims[2], "no", None)
    day = "86400" if store.is_file else "interval '1 day'"
    for table in ("{inbox}", "{inbox}_keys"):
        which = "number = 1" if table == "{inbox}" else "ordering_key = 'transaction t1'"
        await store.ask(f"UPDATE {table} SET ended_at = ended_at - 8 * {day} WHERE {which}")  # noqa: S608  our own words
    later = store.another(keep_days=7)
    await later.claim(0, MINUTE)
    await later.list()
    assert await states(store.inbox) == [("t2", 1, HANDLED), ("t3", 1, DEAD), ("t4", 1, WAITING)]
    lanes = await store.ask("SELECT ordering_key FROM {inbox}_keys ORDER BY ordering_key")
    assert [ordering_key for (ordering_key,) in lanes] == ["transaction t2", "transaction t3", "transaction t4"]
    assert await put(later, change("t1"), change("t2")) == [True, False]


async def test_reopening(store: Store) -> None:
    """A closed inbox can be opened again with all that it holds; one that is open is left alone."""
    await store.inbox.store(change())
    store.inbox.reopen()
    await store.inbox.aclose()
    store.inbox.reopen()
    assert await put(store.inbox, change(), change("t2")) == [False, True]
    await store.inbox.aclose()
    with pytest.raises(InboxError, match="it is closed"):
        await store.inbox.list()


async def test_closed(store: Store) -> None:
    """Later calls of a closed inbox raise an error; a second close is harmless."""
    await store.inbox.store(change())
    await store.inbox.aclose()
    await store.inbox.aclose()
    for ask in (store.inbox.store(change("t2")), store.inbox.claim(1, MINUTE), store.inbox.list()):
        with pytest.raises(InboxError, match="it is closed"):
            await ask
