"""A client's ledger: the intent before anything is sent, the outcome once known."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import anyio
import attrs
import httpx
import pytest
import trio.testing

from gateway_async import (
    AccountVaultUpdate,
    ApiId,
    AsyncGateway,
    CardVaultCreate,
    ClientClosedError,
    ContactCreate,
    DeadlineExceededError,
    HashKey,
    Intent,
    InvalidRequestError,
    LedgerError,
    NotSentError,
    OutcomeUnknownError,
    RouterAccountVaultCreate,
    RouterTransactionCreate,
    TransactionCreate,
    TransactionUpdate,
    UserApiKey,
    ValidationError,
)

from .scripted_transport import LOST, NEVER_LEFT, NOT_THERE, Answer, Script, absent, echo, listed, record, refused

pytestmark = pytest.mark.anyio

CARD = "4111111111111111"
NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
SALE = TransactionCreate(
    action="sale", account_vault_id="vault", transaction_amount=Decimal("12.50"), transaction_api_id="mine"
)
APPROVED = echo("transaction", status_id=101)


async def silence(_: httpx.Request) -> httpx.Response:
    """No answer, ever."""
    await trio.sleep_forever()
    raise AssertionError


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Virtual time: waiting for what may still arrive costs nothing."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


class Memory:
    """A ledger that notes what it is told, in order, and fails when it is told to."""

    def __init__(self, script: Script, *, broken: Sequence[str] = (), left_open: Sequence[Intent] = ()) -> None:
        self.script = script
        self.broken = broken
        self.intents: list[Intent] = []
        self.notes: list[tuple[Any, ...]] = []
        self.left_open = left_open

    def gateway(self, **options: Any) -> AsyncGateway:
        """A client that uses it."""
        return self.script.gateway(ledger=self, **options)

    async def record_intent(self, intent: Intent) -> None:
        """Note the intent, and how many requests have been sent until then."""
        self.intents.append(intent)
        self._note("record_intent", len(self.script.asked))
        await anyio.lowlevel.checkpoint()

    async def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
        """Note the outcome."""
        known = {intent.id for intent in (*self.intents, *self.left_open)}
        assert intent_id in known
        self._note("record_outcome", outcome, record_id)
        await anyio.lowlevel.checkpoint()

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Return the intents that the test sets."""
        if "open_intents" in self.broken:
            raise LedgerError("some.db", "it is damaged")
        return [] if terminal_id else self.left_open

    async def aclose(self) -> None:
        """Note it."""
        self._note("aclose")

    def _note(self, name: str, *facts: Any) -> None:
        self.notes.append((name, *facts))
        if name in self.broken:
            raise LedgerError("some.db", "the disk is full")


def intent(**facts: Any) -> Intent:
    """The intent that a client keeps of a sale, as it finds it again after a crash; `facts` replace what it says."""
    call = {"resource": "transactions", "id": "mine", "location_id": "loc", "evidence": "exists"}
    expected = {"transaction_api_id": "mine", "location_id": "loc", "transaction_amount": "12.50"}
    now = datetime.now(UTC)
    kept = Intent(
        id="left",
        call="POST /v2/transactions",
        resource="transactions",
        api_id="mine",
        location_id="loc",
        terminal_id=None,
        sent_at=now,
        conclusive_at=now + timedelta(seconds=20),
        sent={"transaction_amount": "12.50"},
        outcome_query={"kind": "record", **call, "expected": expected, "sent": {}},
    )
    return attrs.evolve(kept, **facts)


# --- what is kept


async def test_the_intent_is_kept_before_anything_is_sent_and_the_outcome_after() -> None:
    """One intent, before the first byte; then the record that came of it."""
    ledger = Memory(Script(post=[APPROVED]))
    async with ledger.gateway() as gateway:
        await gateway.transactions.create(SALE)
    assert ledger.notes == [("record_intent", 0), ("record_outcome", "done", "made"), ("aclose",)]


async def test_what_an_intent_says() -> None:
    """Record the call, its content, and the time until it is conclusive."""
    ledger = Memory(Script(post=[APPROVED]))
    before = datetime.now(UTC)
    async with ledger.gateway() as gateway:
        await gateway.transactions.create(SALE)
    (kept,) = ledger.intents
    assert before <= kept.sent_at <= datetime.now(UTC)
    assert timedelta(seconds=139.9) < kept.conclusive_at - kept.sent_at < timedelta(seconds=140.1)
    assert attrs.asdict(attrs.evolve(kept, id="", sent_at=before, conclusive_at=before)) == {
        "id": "",
        "call": "POST /v2/transactions",
        "resource": "transactions",
        "api_id": "mine",
        "location_id": "loc",
        "terminal_id": None,
        "sent_at": before,
        "conclusive_at": before,
        "sent": {
            "action": "sale",
            "payment_method": "cc",
            "transaction_amount": "12.50",
            "transaction_api_id": "mine",
            "account_vault_id": "vault",
            "location_id": "loc",
        },
        "outcome_query": {
            "kind": "record",
            "resource": "transactions",
            "id": "mine",
            "location_id": "loc",
            "expected": {
                "transaction_api_id": "mine",
                "location_id": "loc",
                "transaction_amount": "12.50",
                "action": "sale",
            },
            "evidence": "exists",
            "sent": {},
        },
        "gateway": "https://gateway.test",
        "orphaned": False,
    }


async def test_a_terminals_intent_is_in_doubt_for_its_terminal_timeout() -> None:
    """The terminal's whole time, and `in_doubt_seconds`."""
    ledger = Memory(Script(post=[echo("routertransaction", status_id=101)]))
    async with ledger.gateway(terminal_timeout=120) as gateway:
        await gateway.router_transactions.create(
            RouterTransactionCreate(action="sale", terminal_id="till", transaction_amount="12.50")
        )
    (kept,) = ledger.intents
    assert (kept.resource, kept.terminal_id) == ("router_transactions", "till")
    assert timedelta(seconds=239) < kept.conclusive_at - kept.sent_at < timedelta(seconds=241)


Verb = Callable[[AsyncGateway], Awaitable[Any]]
VOID = TransactionUpdate(action="void")
REVERSAL = TransactionUpdate(action="partialreversal", transaction_amount="1.00")
STORE = CardVaultCreate(account_number=CARD, exp_date="1230")
SWIPE = RouterAccountVaultCreate(terminal_id="till", contact_id="c1")
DONE: dict[str, Verb] = {
    "account_vaults": lambda gateway: gateway.account_vaults.create(STORE),
    "transactions": lambda gateway: gateway.transactions.update("t1", VOID),
    "transactions, without a evidence": lambda gateway: gateway.transactions.update("t1", REVERSAL),
    "transaction_batches": lambda gateway: gateway.transaction_batches.settle("b1"),
    "router_account_vaults": lambda gateway: gateway.router_account_vaults.create(SWIPE),
}
NOT_KEPT: dict[str, Verb] = {
    "read": lambda gateway: gateway.transactions.get("t1"),
    "edit": lambda gateway: gateway.transactions.update("t1", TransactionUpdate(action="edit", description="x")),
    "title": lambda gateway: gateway.account_vaults.update("v1", AccountVaultUpdate(title="x")),
    "contact": lambda gateway: gateway.contacts.create(ContactCreate(last_name="Smith")),
    "delete": lambda gateway: gateway.account_vaults.delete("v1"),
}


@pytest.mark.parametrize("name", DONE)
async def test_what_moves_money_or_stores_an_account_is_kept(name: str) -> None:
    """Record the intent also of a refused call."""
    answers: dict[str, list[Answer]] = {method: [refused(it="may not be")] for method in ("get", "post", "put")}
    script = Script(**answers)
    if name == "router_account_vaults":
        script.answers["get"] = [listed("accountvaults")]
    ledger = Memory(script)
    async with ledger.gateway() as gateway:
        with pytest.raises(ValidationError):
            await DONE[name](gateway)
    assert [intent.resource for intent in ledger.intents] == [name.partition(",")[0]]
    assert ledger.notes[1:] == [("record_outcome", "refused", None), ("aclose",)]


@pytest.mark.parametrize("verb", NOT_KEPT.values(), ids=NOT_KEPT)
async def test_what_moves_no_money_is_not_kept(verb: Verb) -> None:
    """The ledger hears nothing of it."""
    methods = ("get", "post", "put", "delete")
    answers: dict[str, list[Answer]] = {method: [refused(it="may not be")] for method in methods}
    ledger = Memory(Script(**answers))
    async with ledger.gateway() as gateway:
        with pytest.raises(ValidationError):
            await verb(gateway)
    assert ledger.notes == [("aclose",)]


async def test_a_client_without_a_ledger_asks_for_none() -> None:
    """Nothing is kept, and there is nothing to recover."""
    script = Script(post=[APPROVED])
    async with script.gateway() as gateway:
        await gateway.transactions.create(SALE)
        with pytest.raises(InvalidRequestError, match="the client has none"):
            await gateway.recover()


async def test_an_id_that_could_be_a_card_number_is_not_kept() -> None:
    """Store the intent without a lookup, which a crash then cannot use."""
    ledger = Memory(Script(post=[APPROVED]))
    async with ledger.gateway() as gateway:
        await gateway.transactions.create(attrs.evolve(SALE, transaction_api_id=CARD))
    (kept,) = ledger.intents
    assert (kept.api_id, kept.outcome_query) == ("************1111", None)
    assert CARD not in repr(kept)


async def test_a_gateways_id_is_none_whatever_its_digits() -> None:
    """One in a thousand of them has a run of digits that could pass for a card number."""
    ledger = Memory(Script(put=[record("transaction", id=(long := f"11eb{CARD}beef"), status_id=201)]))
    async with ledger.gateway() as gateway:
        await gateway.transactions.void(long)
    assert ledger.intents[0].outcome_query is not None


# --- outcomes


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ({"post": [LOST], "get": [record("transaction", status_id=101)]}, ("done", "found")),
        ({"post": [refused(transaction_amount="too much")]}, ("refused", None)),
        ({"post": [NEVER_LEFT]}, ("not_sent", None)),
        ({"post": [LOST], "get": [NOT_THERE]}, None),
        ({"post": [LOST], "get": [LOST]}, None),
    ],
    ids=["found", "refused", "not sent", "not there", "not readable"],
)
async def test_an_outcome_is_kept_only_when_it_is_known(answers: Any, outcome: tuple[Any, ...] | None) -> None:
    """An unknown one leaves the intent open."""
    ledger = Memory(Script(**answers))
    async with ledger.gateway() as gateway:
        with contextlib.suppress(ValidationError, NotSentError, OutcomeUnknownError):
            await gateway.transactions.create(SALE)
    settled = [("record_outcome", *outcome)] if outcome else []
    assert ledger.notes[1:] == [*settled, ("aclose",)]


@pytest.mark.parametrize(
    ("answer", "settled"),
    [(record("transaction"), ("record_outcome", "done", "found")), (absent, ("record_outcome", "not_made", None))],
)
async def test_resolving_settles_the_intent(answer: Any, settled: tuple[Any, ...]) -> None:
    """Record what `resolve()` finds, also that nothing was executed."""
    script = Script(post=[LOST], get=[NOT_THERE])
    ledger = Memory(script)
    async with ledger.gateway(max_attempts=1) as gateway:
        with pytest.raises(OutcomeUnknownError) as caught:
            await gateway.transactions.create(SALE)
        script.answers["get"] = [answer]
        await caught.value.resolve(wait=120)
    assert ledger.notes == [("record_intent", 0), settled, ("aclose",)]


@pytest.mark.parametrize(
    ("answer", "settled"),
    [(record("transaction"), [("record_outcome", "done", "found")]), (NOT_THERE, [])],
    ids=["found", "not there"],
)
async def test_a_cancelled_call_is_settled_only_if_it_is_found(answer: Any, settled: list[tuple[Any, ...]]) -> None:
    """The lookup under the shield tells; a write that is not there may still arrive."""
    ledger = Memory(Script(post=[silence], get=[answer]))
    async with ledger.gateway() as gateway:
        with anyio.move_on_after(1) as scope:
            await gateway.transactions.create(SALE)
        assert scope.cancelled_caught
    assert ledger.notes == [("record_intent", 0), *settled, ("aclose",)]


async def test_cancelled_while_the_intent_is_written_nothing_was_sent() -> None:
    """The intent may be there, so it is settled."""
    script = Script(post=[APPROVED])
    ledger = Memory(script)
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with ledger.gateway() as gateway:
            await gateway.transactions.create(SALE)
    assert ledger.notes == [("record_intent", 0), ("record_outcome", "not_sent", None), ("aclose",)]
    assert script.asked == []


# --- a ledger that fails


async def test_what_cannot_be_kept_is_not_sent() -> None:
    """The error says why, and that nothing was sent."""
    script = Script(post=[APPROVED])
    async with Memory(script, broken=["record_intent"]).gateway() as gateway:
        with pytest.raises(NotSentError, match=r"its intent could not be recorded: .* the disk is full"):
            await gateway.transactions.create(SALE)
    assert script.asked == []


async def test_a_ledger_that_hangs_does_not_outlast_the_deadline() -> None:
    """Nothing was sent, and the call ends on time."""

    class Hanging(Memory):
        async def record_intent(self, intent: Intent) -> None:
            self.intents.append(intent)
            await anyio.sleep_forever()

    script = Script(post=[APPROVED])
    async with Hanging(script).gateway(timeout=3) as gateway:
        with pytest.raises(NotSentError):
            await gateway.transactions.create(SALE)
    assert trio.current_time() == pytest.approx(3)
    assert script.asked == []


async def test_an_outcome_that_cannot_be_kept_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The caller gets the result all the same."""
    script = Script(post=[APPROVED])
    async with Memory(script, broken=["record_outcome"]).gateway() as gateway:
        assert (await gateway.transactions.create(SALE)).approved
    assert "an outcome (done) could not be recorded: the ledger some.db cannot be used: the disk is full" in caplog.text


@pytest.mark.parametrize("seconds", [3, 20])
@pytest.mark.parametrize("answer", [APPROVED, refused(it="may not be")], ids=["done", "refused"])
async def test_a_ledger_that_hangs_over_an_outcome_does_not_hide_it(answer: Any, seconds: float) -> None:
    """The caller gets it five seconds after it is known, and a result at the call's deadline at the latest."""

    class Hanging(Memory):
        async def record_outcome(self, *_: object) -> None:
            await anyio.sleep_forever()

    script = Script(post=[answer])
    async with Hanging(script).gateway(timeout=seconds) as gateway:
        if answer is APPROVED:
            assert (await gateway.transactions.create(SALE)).approved
        else:
            with pytest.raises(ValidationError):
                await gateway.transactions.create(SALE)
    assert trio.current_time() == pytest.approx(min(5, seconds) if answer is APPROVED else 5)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_cancelled_while_the_outcome_is_written_was_not_unsent() -> None:
    """A cancellation of asyncio itself heeds no shield; what was carried out is looked up, and called done."""

    class Slow(Memory):
        async def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
            if not writing.is_set():
                writing.set()
                await anyio.sleep_forever()
            await super().record_outcome(intent_id, outcome, record_id)

    writing = anyio.Event()
    ledger = Slow(Script(post=[APPROVED], get=[record("transaction", transaction_api_id="mine")]))
    async with ledger.gateway() as gateway:
        call = asyncio.ensure_future(gateway.transactions.create(SALE))
        await writing.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert ledger.notes[1:] == [("record_outcome", "done", "found"), ("aclose",)]


async def test_cancelled_while_the_outcome_is_written_it_is_done() -> None:
    """A sale whose result is known is never kept as one that was not sent, however slow the ledger."""

    class Slow(Memory):
        async def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
            await anyio.sleep(2)
            await super().record_outcome(intent_id, outcome, record_id)

    ledger = Slow(Script(post=[APPROVED]))
    async with ledger.gateway() as gateway:
        with anyio.move_on_after(1):
            assert (await gateway.transactions.create(SALE)).approved
    assert ledger.notes == [("record_intent", 0), ("record_outcome", "done", "made"), ("aclose",)]


# --- recovering


async def recovered(script: Script, *left_open: Intent, **options: Any) -> tuple[list[tuple[Any, ...]], Memory]:
    """Return the outcomes of `recover()`, and what the ledger recorded."""
    ledger = Memory(script, left_open=left_open)
    async with ledger.gateway() as gateway:
        found = await gateway.recover(**options)
    return [(each.api_id, each.outcome, each.record and each.record.id) for each in found], ledger


async def test_what_is_found_is_recovered() -> None:
    """The record is given and its intent is settled; the lookup is the one that the call would have made."""
    script = Script(get=[record("transaction", status_id=101)])
    found, ledger = await recovered(script, intent())
    assert found == [("mine", "found", "found")]
    assert ledger.notes == [("record_outcome", "done", "found"), ("aclose",)]
    assert (script.asked[0].url.path, dict(script.asked[0].url.params)) == (
        "/v2/transactions/mine",
        {"api_id": "1", "location_id": "loc"},
    )


async def test_what_is_not_there_was_not_made_once_nothing_can_be_under_way() -> None:
    """Wait the remaining twenty seconds before "not there" is final."""
    script = Script(get=[absent])
    found, ledger = await recovered(script, intent())
    assert found == [("mine", "not_made", None)]
    assert ledger.notes == [("record_outcome", "not_made", None), ("aclose",)]
    assert trio.current_time() == pytest.approx(20, abs=0.2)


async def answer_slowly(_: httpx.Request) -> httpx.Response:
    """Answer eight seconds later with what was so when it was asked."""
    asked = trio.current_time()
    await anyio.sleep(8)
    return NOT_THERE if asked < 19 else record("transaction")


@pytest.mark.parametrize(
    ("answers", "options"),
    [
        ([lambda _: NOT_THERE if trio.current_time() < 10 else record("transaction")], {}),
        ([answer_slowly], {}),
        ([lambda _: NEVER_LEFT if trio.current_time() < 15 else record("transaction")], {}),
        ([httpx.Response(500), record("transaction")], {"wait": 0}),
    ],
    ids=["it arrives meanwhile", "asked before it was certain", "the gateway is away", "a bad answer, without a wait"],
)
async def test_what_is_found_at_last_is_recovered(answers: list[Any], options: dict[str, Any]) -> None:
    """A lookup that fails, or that came too early, is repeated."""
    assert (await recovered(Script(get=answers), intent(), **options))[0] == [("mine", "found", "found")]


async def test_what_may_arrive_for_longer_stays_open() -> None:
    """A terminal's customer has five minutes: after 30 seconds the outcome is still unknown."""
    script = Script(get=[NOT_THERE])
    long = datetime.now(UTC) + timedelta(seconds=300)
    found, ledger = await recovered(script, intent(conclusive_at=long))
    assert found == [("mine", "unknown", None)]
    assert ledger.notes == [("aclose",)]
    assert trio.current_time() == pytest.approx(30)


async def test_who_does_not_want_to_wait_need_not() -> None:
    """One lookup; what is not there yet stays open."""
    script = Script(get=[NOT_THERE])
    assert (await recovered(script, intent(), wait=0))[0] == [("mine", "unknown", None)]
    assert script.methods == ["GET"]


async def test_many_are_looked_up_at_once_and_told_in_order() -> None:
    """A hundred take as long as one."""
    script = Script(get=[absent])
    _, ledger = await recovered(script, *(intent(id=f"left-{n}") for n in range(100)))
    assert trio.current_time() == pytest.approx(20, abs=0.2)
    assert len(ledger.notes) == 101


@pytest.mark.parametrize(
    "outcome_query",
    [
        None,
        {"resource": "transactions", "id": "mine", "evidence": "of a later version"},
        {"resource": "later", "id": "mine", "evidence": "exists"},
        {"kind": "later", "resource": "transactions", "id": "mine", "evidence": "exists"},
        {"resource": "transactions", "id": "", "evidence": "exists"},
        {"later": 1},
    ],
)
async def test_what_nothing_can_tell_is_unknown(outcome_query: Mapping[str, Any] | None) -> None:
    """No outcome query, or one that this version does not know: it is listed and stays open."""
    script = Script(get=[NOT_THERE])
    found, ledger = await recovered(script, intent(outcome_query=outcome_query))
    assert (found, ledger.notes, script.asked) == ([("mine", "unknown", None)], [("aclose",)], [])


@pytest.mark.parametrize(
    ("gateway", "outcome"),
    [("https://gateway.test", "not_made"), ("", "not_made"), ("https://staging.test", "unknown")],
    ids=["its own", "not known", "another"],
)
async def test_only_the_gateway_that_has_it_can_tell(gateway: str, outcome: str) -> None:
    """Ask no other gateway, and leave the intent open."""
    script = Script(get=[absent])
    long_ago = datetime(2025, 11, 18, 12, tzinfo=UTC)
    found, ledger = await recovered(script, intent(gateway=gateway, sent_at=long_ago, conclusive_at=long_ago))
    assert found == [("mine", outcome, None)]
    assert bool(script.asked) == (outcome == "not_made") == (("record_outcome", "not_made", None) in ledger.notes)


async def test_an_address_has_one_form() -> None:
    """An intent kept by a client of another spelling is this client's, too."""
    script = Script(post=[APPROVED])
    ledger = Memory(script)
    options: dict[str, Any] = {"developer_id": "dev", "credentials": UserApiKey("u", "k"), "transport": script}
    async with AsyncGateway("https://Gateway.test:443/", ledger=ledger, location_id="loc", **options) as gateway:
        await gateway.transactions.create(SALE)
    assert ledger.intents[0].gateway == "https://gateway.test"


async def test_another_record_under_the_id_is_not_taken_for_it() -> None:
    """Leave the outcome unknown if the amount differs, and say so."""
    ledger = Memory(Script(get=[record("transaction", transaction_amount="99.00")]), left_open=[intent()])
    async with ledger.gateway() as gateway:
        (found,) = await gateway.recover()
    assert (found.outcome, found.record) == ("unknown", None)
    assert "transaction_amount is '99.00', not '12.50'" in str(found.error)


async def test_a_gateway_that_does_not_let_anyone_in_is_not_asked_again() -> None:
    """Say in the error what to correct."""
    script = Script(get=[httpx.Response(401, json={"message": "who?"})])
    ledger = Memory(script, left_open=[intent()])
    async with ledger.gateway() as gateway:
        (found,) = await gateway.recover()
    assert (found.outcome, type(found.error).__name__) == ("unknown", "AuthenticationError")
    assert script.methods == ["GET"]


async def test_what_these_credentials_cannot_ask_is_not_asked() -> None:
    """A hash-key is not taken at the batches: no wait would change that, and the error says so at once."""
    script = Script(get=[NOT_THERE])
    batch = {"resource": "transaction_batches", "id": "b", "evidence": "is_settled"}
    ledger = Memory(script, left_open=[intent(outcome_query=batch)])
    async with ledger.gateway(credentials=HashKey("user", "key")) as gateway:
        (found,) = await gateway.recover()
    assert (found.outcome, type(found.error)) == ("unknown", InvalidRequestError)
    assert (script.asked, trio.current_time()) == ([], 0)


async def test_a_gateway_that_is_away_is_asked_until_the_time_is_over() -> None:
    """Repeat a failed lookup until the wait is over; then the outcome is unknown."""
    script = Script(get=[silence])
    ledger = Memory(script, left_open=[intent()])
    async with ledger.gateway(timeout=3) as gateway:
        (found,) = await gateway.recover()
    assert found.outcome == "unknown"
    assert isinstance(found.error, DeadlineExceededError)


async def test_what_is_under_way_in_this_client_is_left_alone() -> None:
    """Its call settles it."""
    ledger = Memory(Script(post=[silence], get=[NOT_THERE]))
    async with ledger.gateway() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.transactions.create, SALE)
        await anyio.sleep(1)
        ledger.left_open = ledger.intents
        assert await gateway.recover() == []
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("begins_at", [0.0, 1.5], ids=["begun before", "begun meanwhile"])
async def test_what_ends_while_the_ledger_is_read_is_left_alone(begins_at: float) -> None:
    """Its call has settled it; the ledger says what was open when it looked."""

    class Slow(Memory):
        async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
            await anyio.sleep(1)
            seen = [] if terminal_id else list(self.intents)
            await anyio.sleep(2)
            return seen

    async def approve(_: httpx.Request) -> httpx.Response:
        await trio.sleep(1)
        return httpx.Response(201, json={"transaction": {"id": "made", "status_id": 101}})

    script = Script(post=[approve], get=[record("transaction")])
    async with Slow(script).gateway() as gateway, anyio.create_task_group() as tasks:

        async def sell() -> None:
            await anyio.sleep(begins_at)
            await gateway.transactions.create(SALE)

        tasks.start_soon(sell)
        await anyio.sleep(0.5)
        assert await gateway.recover() == []


@pytest.mark.parametrize("jump", [0.0, 27.0, -27.0, 3600.0, -3600.0, 86_400.0, -86_400.0])
async def test_the_clock_of_the_till_that_crashed_does_not_count(jump: float) -> None:
    """However wrong it was, the sale is in doubt for as long as the intent says, from when it is first seen."""
    sent_at = datetime.now(UTC) + timedelta(seconds=jump)
    left = intent(sent_at=sent_at, conclusive_at=sent_at + timedelta(seconds=140))
    ledger = Memory(Script(get=[absent]), left_open=[left])
    async with ledger.gateway() as gateway:
        assert [each.outcome for each in await gateway.recover(wait=0)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover(wait=139)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover(wait=5)] == ["not_made"]
    assert trio.current_time() == pytest.approx(140, abs=1)


async def test_a_clock_that_is_set_while_the_client_runs_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day forward between two recoveries makes nothing certain."""
    left = intent()
    ledger = Memory(Script(get=[absent]), left_open=[left])
    async with ledger.gateway() as gateway:
        await gateway.recover(wait=0)
        monkeypatch.setattr("time.time", lambda: left.sent_at.timestamp() + 86_400)
        monkeypatch.setattr(
            "gateway_async._execution.ledger_recorder._utc_now", lambda: left.sent_at + timedelta(days=1)
        )
        assert [each.outcome for each in await gateway.recover(wait=19)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover(wait=2)] == ["not_made"]


@pytest.mark.parametrize(("terminal_id", "seconds"), [(None, 7), ("till", 20)])
async def test_an_orphaned_call_has_no_attempts_left(terminal_id: str | None, seconds: float) -> None:
    """Its process has exited, so it is in doubt for `in_doubt_seconds`; a customer at a terminal still has the time."""
    ledger = Memory(Script(get=[absent]), left_open=[intent(orphaned=True, terminal_id=terminal_id)])
    async with ledger.gateway(in_doubt_seconds=7) as gateway:
        assert [each.outcome for each in await gateway.recover()] == ["not_made"]
    assert trio.current_time() == pytest.approx(seconds, abs=0.5)


async def test_what_this_client_left_unknown_can_be_recovered_by_it() -> None:
    """A call that has ended is not under way."""
    script = Script(post=[LOST], get=[NOT_THERE])
    ledger = Memory(script)
    async with ledger.gateway(max_attempts=1) as gateway:
        with pytest.raises(OutcomeUnknownError):
            await gateway.transactions.create(SALE)
        ledger.left_open = ledger.intents
        script.answers["get"] = [record("transaction")]
        (found,) = await gateway.recover()
    assert found.outcome == "found"


@pytest.mark.parametrize(
    ("changes", "shown", "outcome"),
    [
        (VOID, {"status_id": 201}, "found"),
        (VOID, {"status_id": 101}, "not_made"),
        (TransactionUpdate(action="authincrement", transaction_amount="20.00"), {"transaction_amount": 20}, "found"),
        (REVERSAL, {"status_id": 101}, "unknown"),
    ],
)
async def test_what_was_done_to_a_payment_is_recovered_by_its_mark(
    changes: TransactionUpdate, shown: dict[str, Any], outcome: str
) -> None:
    """The intent that was kept is enough; a partial reversal leaves no evidence."""
    ledger = Memory(Script(put=[silence], get=[NOT_THERE]))
    async with ledger.gateway() as gateway:
        with anyio.move_on_after(1):
            await gateway.transactions.update(ApiId("mine"), changes)
    after = Script(get=[record("transaction", **shown)])
    kept = ledger.intents[0]
    found, _ = await recovered(after, attrs.evolve(kept, conclusive_at=kept.sent_at))
    assert [each[1] for each in found] == [outcome]


async def test_a_card_stored_at_a_terminal_is_recovered_as_the_newcomer() -> None:
    """The intent knows which vaults the contact had before."""
    old = {"id": "old", "contact_id": "c1", "payment_method": "cc"}
    ledger = Memory(Script(post=[silence], get=[listed("accountvaults", old)]))
    async with ledger.gateway() as gateway:
        with anyio.move_on_after(1):
            await gateway.router_account_vaults.create(SWIPE)
    after = Script(get=[listed("accountvaults", {**old, "id": "new"}, old)])
    async with Memory(after, left_open=ledger.intents).gateway() as gateway:
        (found,) = await gateway.recover()
    assert (found.resource, found.outcome, found.record.id) == ("router_account_vaults", "found", "new")


async def test_a_ledger_that_cannot_be_read_recovers_nothing() -> None:
    """And says so."""
    script = Script(get=[NOT_THERE])
    async with Memory(script, broken=["open_intents"]).gateway() as gateway:
        with pytest.raises(LedgerError, match="it is damaged"):
            await gateway.recover()


async def test_a_closed_client_recovers_nothing() -> None:
    """As it does nothing else."""
    script = Script(get=[NOT_THERE])
    async with Memory(script).gateway() as gateway:
        pass
    with pytest.raises(ClientClosedError):
        await gateway.recover()


@pytest.mark.parametrize("wait", [-1, "30", True, float("nan")])
async def test_a_wait_that_is_none(wait: Any) -> None:
    """Reject a wait that is not a number of seconds."""
    script = Script(get=[NOT_THERE])
    async with Memory(script).gateway() as gateway:
        with pytest.raises(InvalidRequestError, match="wait: must be a number of seconds"):
            await gateway.recover(wait=wait)
