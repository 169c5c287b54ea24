"""A client's ledger: the intent before anything is sent, the outcome once known."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import attrs
import httpx
import pytest
import trio

from gateway_async import (
    AccessToken,
    AccountVaultUpdate,
    AchVaultCreate,
    ApiId,
    AsyncGateway,
    CardVaultCreate,
    ClientClosedError,
    ContactCreate,
    DeadlineExceededError,
    DuplicateError,
    HashKey,
    Intent,
    InvalidRequestError,
    LedgerError,
    NotSentError,
    OutcomeUnknownError,
    PasswordLogin,
    PermissionDeniedError,
    Recovered,
    RecurringUpdate,
    RouterAccountVaultCreate,
    ServerError,
    TagCreate,
    Transaction,
    TransactionUpdate,
    UserApiKey,
    ValidationError,
)
from gateway_async.credentials import Credentials
from tests.support.scripted_transport import (
    FOUND,
    LOST,
    NAMED_SALE,
    NEVER_LEFT,
    NOT_THERE,
    Script,
    ScriptedResponse,
    absent,
    echo,
    error_of,
    forbidden,
    listed,
    record,
    refusal,
    refused,
    sell_at_terminal,
    sell_named,
    silent,
)

pytestmark = pytest.mark.anyio

CARD = "4111111111111111"
NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
APPROVED = echo("transaction", status_id=101)


class Memory:
    """A ledger that notes what it is told, in order; it fails, and takes seconds, when it is told to."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.broken = ""
        self.delays: dict[str, float] = {}
        self.intents: list[Intent] = []
        self.notes: list[tuple[Any, ...]] = []
        self.left_open: Sequence[Intent] = ()

    async def record_intent(self, intent: Intent) -> None:
        await self._wait("record_intent")
        self.intents.append(intent)
        self._note("record_intent", len(self.script.asked))
        await anyio.lowlevel.checkpoint()

    async def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
        await self._wait("record_outcome")
        known = {intent.id for intent in (*self.intents, *self.left_open)}
        assert intent_id in known
        self._note("record_outcome", outcome, record_id)
        await anyio.lowlevel.checkpoint()

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        await self._wait("open_intents")
        if self.broken == "open_intents":
            raise LedgerError("some.db", "it is damaged")
        return [each for each in self.left_open if terminal_id in (None, each.terminal_id)]

    async def aclose(self) -> None:
        self._note("aclose")
        await self._wait("aclose")

    async def _wait(self, method: str) -> None:
        if method in self.delays:
            await anyio.sleep(self.delays[method])

    def _note(self, name: str, *facts: Any) -> None:
        self.notes.append((name, *facts))
        if self.broken == name:
            raise LedgerError("some.db", "the disk is full")


class LedgerScript(Script):
    """A scripted gateway whose clients have a ledger."""

    def __init__(self, **responses: list[ScriptedResponse]) -> None:
        super().__init__(**responses)
        self.ledger = Memory(self)

    def gateway(self, **options: Any) -> AsyncGateway:
        return super().gateway(**{"ledger": self.ledger, **options})


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


async def test_intent_first() -> None:
    """One intent, before the first byte; then the record that came of it."""
    script = LedgerScript(post=[APPROVED])
    await script.run(sell_named)
    assert script.ledger.notes == [("record_intent", 0), ("record_outcome", "done", "made"), ("aclose",)]


async def test_intent_content() -> None:
    """Record the call, its content, and the time until it is conclusive."""
    script = LedgerScript(post=[APPROVED])
    await anyio.sleep(1000)
    before = datetime.now(UTC)
    await script.run(sell_named)
    (kept,) = script.ledger.intents
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
                "account_vault_id": "vault",
                "payment_method": "cc",
                "transaction_amount": "12.50",
                "action": "sale",
            },
            "evidence": "exists",
            "sent": {},
            "user": "04f8996da763b7a969b1028ee3007569",  # by `printf user | sha256sum`
        },
        "gateway": "https://gateway.test",
        "orphaned": False,
    }


@pytest.mark.parametrize("option", ["timeout", "in_doubt_seconds"])
async def test_unlimited_client(option: str) -> None:
    """No date is infinite: the intent is in doubt for a year."""
    script = LedgerScript(post=[APPROVED])
    await script.run(sell_named, **{option: math.inf})
    (kept,) = script.ledger.intents
    assert kept.conclusive_at - kept.sent_at == timedelta(days=365)


async def test_terminal_doubt() -> None:
    """The client's whole time, the device's, and `in_doubt_seconds`: the request may leave at the end of the first."""
    script = LedgerScript(post=[echo("routertransaction", status_id=101)])
    await script.run(sell_at_terminal, terminal_timeout=120)
    (kept,) = script.ledger.intents
    assert (kept.resource, kept.terminal_id) == ("router_transactions", "t")
    assert timedelta(seconds=539) < kept.conclusive_at - kept.sent_at < timedelta(seconds=541)


Verb = Callable[[AsyncGateway], Awaitable[Any]]
VOID = TransactionUpdate(action="void")
REVERSAL = TransactionUpdate(action="partialreversal", transaction_amount="1.00")
STORE = CardVaultCreate(account_number=CARD, exp_date="1230")
SWIPE = RouterAccountVaultCreate(terminal_id="till", contact_id="c1")
DONE: dict[str, Verb] = {
    "account_vaults": lambda g: g.account_vaults.create(STORE),
    "transactions": lambda g: g.transactions.update("t1", VOID),
    "transactions, by the amount before": lambda g: g.transactions.update("t1", REVERSAL),
    "transaction_batches": lambda g: g.transaction_batches.settle("b1"),
    "router_account_vaults": lambda g: g.router_account_vaults.create(SWIPE),
    "recurrings": lambda g: g.recurrings.hold("r1"),
}
NOT_KEPT: dict[str, Verb] = {
    "read": lambda g: g.transactions.get("t1"),
    "edit": lambda g: g.transactions.update("t1", TransactionUpdate(action="edit", description="x")),
    "title": lambda g: g.account_vaults.update("v1", AccountVaultUpdate(title="x")),
    "contact": lambda g: g.contacts.create(ContactCreate(last_name="Smith")),
    "delete": lambda g: g.account_vaults.delete("v1"),
    "recurring": lambda g: g.recurrings.update("r1", RecurringUpdate(description="x")),
    "tag": lambda g: g.tags.create(TagCreate(title="x")),
}


def before(request: httpx.Request) -> httpx.Response:
    """ScriptedResponse the read before a call: the vaults of a contact, or a payment."""
    if request.url.path == "/v2/accountvaults":
        return listed("accountvaults")
    return record("transaction", id="t1", transaction_amount="20.00")


@pytest.mark.parametrize("name", DONE)
async def test_money_calls(name: str) -> None:
    """Record the intent also of a refused call."""
    no = forbidden()
    script = LedgerScript(get=[before], post=[no], put=[no])
    await script.fail(DONE[name], PermissionDeniedError)
    assert [intent.resource for intent in script.ledger.intents] == [name.partition(",")[0]]
    assert script.ledger.notes[1:] == [("record_outcome", "refused", None), ("aclose",)]


@pytest.mark.parametrize("verb", NOT_KEPT.values(), ids=NOT_KEPT)
async def test_what_moves_no_money_is_not_kept(verb: Verb) -> None:
    no = forbidden()
    script = LedgerScript(get=[no], post=[no], put=[no], delete=[no])
    await script.fail(verb, PermissionDeniedError)
    assert script.ledger.notes == [("aclose",)]


async def test_a_client_without_a_ledger_keeps_and_recovers_nothing() -> None:
    script = Script(post=[APPROVED])
    await script.run(sell_named)
    await script.fail(lambda g: g.recover(), InvalidRequestError, match="the client has none")


@pytest.mark.parametrize("field", ["transaction_api_id", "account_vault_id"])
async def test_card_like_id(field: str) -> None:
    """Store the intent without a lookup, which a crash then cannot use."""
    script = LedgerScript(post=[APPROVED])
    its_id: dict[str, Any] = {field: CARD}
    await script.run(lambda g: g.transactions.create(attrs.evolve(NAMED_SALE, **its_id)))
    (kept,) = script.ledger.intents
    assert (kept.sent[field], kept.outcome_query) == ("************1111", None)
    assert CARD not in repr(kept)


async def test_account_number() -> None:
    """Nor is a bank account stored that the caller made part of an id."""
    account = AchVaultCreate(
        account_number="123456789",
        routing="061000052",
        account_type="checking",
        account_holder_name="Ada Smith",
        is_company=False,
        account_vault_api_id="of-123456789",
        contact_id="c1",
    )
    script = LedgerScript(post=[echo("accountvault")])
    await script.run(lambda g: g.account_vaults.create(account))
    (kept,) = script.ledger.intents
    assert (kept.api_id, kept.outcome_query) == ("of-************6789", None)
    assert "123456789" not in repr(kept)


async def test_nested_ids() -> None:
    """The ids of a skip's charges are nested in its outcome query, and may look like card numbers too."""
    plan = {"id": "r", "interval": 1, "interval_type": "m", "next_run_date": "2030-01-31"}
    for ids, is_stored in (((f"11eb{CARD}beef",), True), ((CARD,), False)):
        shown = {**plan, "transactions": [{"id": each} for each in ids]}
        skipped = record("recurring", **shown | {"next_run_date": "2030-02-28"})
        script = LedgerScript(get=[record("recurring", **shown)], post=[skipped])
        await script.run(lambda g: g.recurrings.skip("r", 1))
        assert (script.ledger.intents[0].outcome_query is not None) is is_stored


async def test_gateway_ids() -> None:
    """One in a thousand of them has a run of digits that could pass for a card number."""
    script = LedgerScript(put=[record("transaction", id=(long := f"11eb{CARD}beef"), status_id=201)], post=[APPROVED])
    await script.run(lambda g: g.transactions.void(long))
    sale = attrs.evolve(NAMED_SALE, account_vault_id=long, order_num=CARD, description="for Ada")
    await script.run(lambda g: g.transactions.create(sale))
    void, kept = script.ledger.intents
    assert void.outcome_query is not None
    assert void.api_id is None
    assert kept.outcome_query is not None
    compared = kept.outcome_query["expected"]
    assert compared["account_vault_id"] == long
    assert not {"order_num", "description"} & compared.keys()


# --- outcomes


@pytest.mark.parametrize(
    ("responses", "outcome"),
    [
        ({"post": [LOST], "get": [record("transaction", status_id=101)]}, ("done", "found")),
        ({"post": [refused(transaction_amount="too much")]}, ("refused", None)),
        ({"post": [NEVER_LEFT]}, ("not_sent", None)),
        ({"post": [LOST], "get": [NOT_THERE]}, None),
        ({"post": [LOST], "get": [LOST]}, None),
    ],
    ids=["found", "refused", "not sent", "not there", "not readable"],
)
async def test_known_outcomes(responses: Any, outcome: tuple[Any, ...] | None) -> None:
    """An unknown one leaves the intent open."""
    script = LedgerScript(**responses)
    async with script.gateway() as gateway:
        with contextlib.suppress(ValidationError, NotSentError, OutcomeUnknownError):
            await sell_named(gateway)
    recorded = [("record_outcome", *outcome)] if outcome else []
    assert script.ledger.notes[1:] == [*recorded, ("aclose",)]


@pytest.mark.parametrize(
    ("response", "recorded"),
    [(record("transaction"), ("record_outcome", "done", "found")), (absent, ("record_outcome", "not_made", None))],
)
async def test_resolving(response: Any, recorded: tuple[Any, ...]) -> None:
    """Record what `resolve()` finds, also that nothing was executed."""
    script = LedgerScript(post=[LOST], get=[NOT_THERE])
    async with script.gateway(max_attempts=1) as gateway:
        error = await error_of(sell_named(gateway), OutcomeUnknownError)
        script.responses["get"] = [response]
        await error.resolve(wait=120)
    assert script.ledger.notes == [("record_intent", 0), recorded, ("aclose",)]


@pytest.mark.parametrize(
    ("response", "recorded"),
    [(record("transaction"), [("record_outcome", "done", "found")]), (NOT_THERE, [])],
    ids=["found", "not there"],
)
async def test_cancelled_call(response: ScriptedResponse, recorded: list[tuple[Any, ...]]) -> None:
    """Look it up under the shield; leave the intent open without a record: the write may still arrive."""
    script = LedgerScript(post=[silent], get=[response])
    await script.cancel(sell_named, 1)
    assert script.ledger.notes == [("record_intent", 0), *recorded, ("aclose",)]


async def test_cancelled_intent() -> None:
    """The intent may be there, so its outcome is recorded."""
    script = LedgerScript(post=[APPROVED])
    with anyio.CancelScope() as scope:
        scope.cancel()
        await script.run(sell_named)
    assert script.ledger.notes == [("record_intent", 0), ("record_outcome", "not_sent", None), ("aclose",)]
    assert script.asked == []


# --- a ledger that fails


async def test_failed_intent() -> None:
    """The error says why, and that nothing was sent."""
    script = LedgerScript(post=[APPROVED])
    script.ledger.broken = "record_intent"
    await script.fail(sell_named, NotSentError, match=r"its intent could not be recorded: .* the disk is full")
    assert script.asked == []


async def test_failed_outcome(caplog: pytest.LogCaptureFixture) -> None:
    """The caller gets the result all the same."""
    script = LedgerScript(post=[APPROVED])
    script.ledger.broken = "record_outcome"
    assert (await script.run(sell_named)).approved
    assert "an outcome (done) could not be recorded: the ledger some.db cannot be used: the disk is full" in caplog.text


@pytest.mark.parametrize("seconds", [3, 20])
@pytest.mark.parametrize("response", [APPROVED, refused(it="may not be")], ids=["done", "refused"])
async def test_slow_outcome(response: Any, seconds: float, caplog: pytest.LogCaptureFixture) -> None:
    """The caller gets it five seconds after it is known, and a result at the call's deadline at the latest."""
    script = LedgerScript(post=[response])
    script.ledger.delays["record_outcome"] = math.inf
    async with script.gateway(timeout=seconds) as gateway:
        await anyio.sleep(1)
        if response is APPROVED:
            assert (await sell_named(gateway)).approved
            outcome, held = "done", min(5, seconds)
        else:
            await error_of(sell_named(gateway), ValidationError)
            outcome, held = "refused", 5
        assert trio.current_time() - 1 == pytest.approx(held)
    assert f"an outcome ({outcome}) could not be recorded in {held} s" in caplog.text


VOIDED = record("transaction", status_id=201)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(
    ("verb", "responses"),
    [
        (sell_named, {"post": [APPROVED], "get": [record("transaction", transaction_api_id="mine")]}),
        (
            lambda gateway: gateway.transactions.void("found"),
            {"put": [refused(action="already voided")], "get": [VOIDED]},
        ),
    ],
    ids=["a sale", "a void whose repetition was refused"],
)
async def test_asyncio_cancellation(verb: Verb, responses: dict[str, Any]) -> None:
    """A cancellation of asyncio itself heeds no shield; an executed write is looked up, and called done."""

    class Slow(Memory):
        async def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
            if not writing.is_set():
                writing.set()
                await anyio.sleep_forever()
            await super().record_outcome(intent_id, outcome, record_id)

    writing = anyio.Event()
    script = LedgerScript(**responses)
    script.ledger = Slow(script)
    async with script.gateway() as gateway:
        call = asyncio.ensure_future(verb(gateway))
        await writing.wait()
        call.cancel()
        await error_of(call, asyncio.CancelledError)
    assert script.ledger.notes[1:] == [("record_outcome", "done", "found"), ("aclose",)]


async def test_unknown_outcome() -> None:
    """The payment exists, so the 404 was the response to another request: the reversal is in doubt."""
    script = LedgerScript(put=[NOT_THERE], get=[record("transaction", id="t1", transaction_amount="20.00")])
    async with script.gateway() as gateway:
        error = await error_of(gateway.transactions.update("t1", REVERSAL), OutcomeUnknownError)
        assert script.ledger.notes[1:] == []
        await error_of(error.resolve(0), OutcomeUnknownError)


async def test_invisible_duplicate() -> None:
    """Right after it, `recover` does not say that the sale was not made."""
    script = LedgerScript(post=[refused(transaction_api_id="already exists")], get=[absent])
    async with script.gateway() as gateway:
        await error_of(sell_named(gateway), DuplicateError)
        script.ledger.left_open = script.ledger.intents
        (found,) = await gateway.recover(wait=0)
    assert found.outcome == "unknown"


async def test_slow_intent() -> None:
    """The ledger took 20 of 30 s, and 10 are kept for a lookup."""
    script = LedgerScript(post=[APPROVED])
    script.ledger.delays["record_intent"] = 20
    await script.fail(sell_named, NotSentError, timeout=30)
    assert script.asked == []
    assert script.ledger.notes[1:] == [("record_outcome", "not_sent", None), ("aclose",)]


async def test_cancelled_outcome() -> None:
    """A sale whose result is known is never kept as one that was not sent, however slow the ledger."""
    script = LedgerScript(post=[APPROVED])
    script.ledger.delays["record_outcome"] = 2
    async with script.gateway() as gateway:
        with anyio.move_on_after(1):
            assert (await sell_named(gateway)).approved
    assert script.ledger.notes == [("record_intent", 0), ("record_outcome", "done", "made"), ("aclose",)]


# --- recovering


async def recovered(script: LedgerScript, *left_open: Intent, **options: Any) -> list[tuple[Any, ...]]:
    """Return the outcomes of `recover()` after a crash, of one sale unless `left_open` says otherwise."""
    script.ledger.left_open = left_open or [intent()]
    found = await script.run(lambda g: g.recover(**options))
    return [(each.api_id, each.outcome, each.record and each.record.id) for each in found]


async def recovered_sale(
    script: LedgerScript, wait: float | None = 30.0, left: Intent | None = None, **options: Any
) -> Recovered:
    """Return what `recover()` finds of one sale, or of another intent."""
    script.ledger.left_open = [left or intent()]
    (found,) = await script.run(lambda g: g.recover(wait=wait), **options)
    return found


async def test_found() -> None:
    """The record is given and its intent is resolved; the lookup is the one that the call would have made."""
    script = LedgerScript(get=[record("transaction", status_id=101)])
    assert await recovered(script) == [("mine", "found", "found")]
    assert script.ledger.notes == [("record_outcome", "done", "found"), ("aclose",)]
    assert (script.asked[0].url.path, dict(script.asked[0].url.params)) == (
        "/v2/transactions/mine",
        {"api_id": "1", "location_id": "loc"},
    )


async def test_conclusive_absence() -> None:
    """Wait the remaining twenty seconds before "not there" is final."""
    script = LedgerScript(get=[absent])
    assert await recovered(script) == [("mine", "not_made", None)]
    assert script.ledger.notes == [("record_outcome", "not_made", None), ("aclose",)]
    assert trio.current_time() == pytest.approx(20, abs=0.2)


async def slow(_: httpx.Request) -> httpx.Response:
    """ScriptedResponse after 8 seconds what was so at the question."""
    asked = trio.current_time()
    await anyio.sleep(8)
    return NOT_THERE if asked < 19 else record("transaction")


FOUND_LATER: dict[str, tuple[list[ScriptedResponse], float]] = {
    "arrives meanwhile": ([lambda _: NOT_THERE if trio.current_time() < 10 else record("transaction")], 30),
    "asked before it was certain, answered after": ([slow], 30),
    "away for a while": ([lambda _: NEVER_LEFT if trio.current_time() < 15 else record("transaction")], 30),
    "one bad response, and no wait": ([httpx.Response(500), record("transaction")], 0),
}


@pytest.mark.parametrize(("responses", "wait"), FOUND_LATER.values(), ids=FOUND_LATER)
async def test_repeated_lookup(responses: list[ScriptedResponse], wait: float) -> None:
    """Neither an early "not there" nor a failed lookup is the last word."""
    assert await recovered(LedgerScript(get=responses), wait=wait) == [("mine", "found", "found")]


async def test_pauses() -> None:
    """They become longer, up to five seconds; the last lookup is at the end of the wait."""
    asked: list[float] = []

    def note(_: httpx.Request) -> httpx.Response:
        asked.append(trio.current_time())
        return NOT_THERE

    await recovered(LedgerScript(get=[note]), wait=18)
    assert asked == [0, 0.5, 1.5, 3.5, 7.5, 12.5, 17.5, 18]


async def test_long_doubt() -> None:
    """A terminal's customer has five minutes: after 30 seconds the outcome is still unknown."""
    script = LedgerScript(get=[NOT_THERE])
    long = datetime.now(UTC) + timedelta(seconds=300)
    found = await recovered(script, intent(conclusive_at=long))
    assert found == [("mine", "unknown", None)]
    assert script.ledger.notes == [("aclose",)]
    assert trio.current_time() == pytest.approx(30)


async def test_no_wait() -> None:
    """One lookup; what is not there yet stays open."""
    script = LedgerScript(get=[NOT_THERE])
    assert await recovered(script, wait=0) == [("mine", "unknown", None)]
    assert script.methods == ["GET"]


async def test_many_lookups() -> None:
    """A hundred lookups take as long as one, and are told in order."""
    script = LedgerScript(get=[absent])
    await recovered(script, *(intent(id=f"left-{n}") for n in range(100)))
    assert trio.current_time() == pytest.approx(20, abs=0.2)
    assert len(script.ledger.notes) == 101


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
async def test_unanswerable(outcome_query: Mapping[str, Any] | None) -> None:
    """No outcome query, or one that this version does not know: it is listed and stays open."""
    script = LedgerScript(get=[NOT_THERE])
    found = await recovered(script, intent(outcome_query=outcome_query))
    assert (found, script.ledger.notes, script.asked) == ([("mine", "unknown", None)], [("aclose",)], [])


@pytest.mark.parametrize(
    ("gateway", "outcome"),
    [("https://gateway.test", "not_made"), ("", "not_made"), ("https://staging.test", "unknown")],
    ids=["its own", "not known", "another"],
)
async def test_a_gateway_is_asked_only_about_its_own_intents(gateway: str, outcome: str) -> None:
    script = LedgerScript(get=[absent])
    long_ago = datetime(2025, 11, 18, 12, tzinfo=UTC)
    found = await recovered_sale(script, left=intent(gateway=gateway, sent_at=long_ago, conclusive_at=long_ago))
    assert found.outcome == outcome
    says_where = "it was sent to https://staging.test" in str(found.error)
    assert says_where == (outcome == "unknown")
    is_recorded = ("record_outcome", "not_made", None) in script.ledger.notes
    assert bool(script.asked) == (outcome == "not_made") == is_recorded


@pytest.mark.parametrize(
    ("credentials", "outcome"),
    [
        (UserApiKey("user", "new key"), "not_made"),
        (HashKey("user", "key"), "not_made"),
        (AccessToken("token"), "not_made"),
        (UserApiKey("other", "key"), "unknown"),
        (PasswordLogin("other", "password", "domain"), "unknown"),
    ],
    ids=["another key", "signature", "token", "another user", "login"],
)
async def test_other_user(credentials: Credentials, outcome: str) -> None:
    """A user of another location does not see the record: what it does not find may have been made all the same."""
    token = httpx.Response(201, json={"token": {"token": "t", "expire": 15}})
    script = LedgerScript(post=[LOST, token], get=[NEVER_LEFT, absent], delete=[httpx.Response(204)])
    await script.fail(sell_named, OutcomeUnknownError, max_attempts=1)
    script.responses["get"] = [absent]
    found = await recovered_sale(script, 300, script.ledger.intents[0], credentials=credentials)
    assert found.outcome == outcome
    assert ("another user sent it" in str(found.error)) == (outcome == "unknown")


async def test_an_intent_kept_under_another_spelling_of_the_address_is_this_clients() -> None:
    script = LedgerScript(post=[APPROVED])
    options: dict[str, Any] = {"developer_id": "dev", "credentials": UserApiKey("u", "k"), "transport": script}
    async with AsyncGateway("https://Gateway.test:443/", ledger=script.ledger, **options) as gateway:
        await sell_named(gateway)
    assert script.ledger.intents[0].gateway == "https://gateway.test"


async def test_different_amount() -> None:
    """Leave the outcome unknown if the amount differs, and say so."""
    script = LedgerScript(get=[record("transaction", transaction_amount="99.00")])
    found = await recovered_sale(script)
    assert (found.outcome, found.record) == ("unknown", None)
    assert "transaction_amount is '99.00', not '12.50'" in str(found.error)
    assert trio.current_time() < 5  # another sale has the id, and will have it in a minute


async def test_a_gateway_that_rejects_the_credentials_is_not_asked_again() -> None:
    script = LedgerScript(get=[refusal(401, "who?")])
    found = await recovered_sale(script)
    assert (found.outcome, type(found.error).__name__) == ("unknown", "AuthenticationError")
    assert script.methods == ["GET"]


async def test_unusable_credentials() -> None:
    """A hash-key is not taken at the batches: no wait would change that, and the error says so at once."""
    script = LedgerScript(get=[NOT_THERE])
    batch = {"resource": "transaction_batches", "id": "b", "evidence": "is_settled"}
    found = await recovered_sale(script, left=intent(outcome_query=batch), credentials=HashKey("user", "key"))
    assert (found.outcome, type(found.error)) == ("unknown", InvalidRequestError)
    assert (script.asked, trio.current_time()) == ([], 0)


UNKNOWN: dict[str, tuple[Any, dict[str, Any]]] = {
    "it was not found, and may still be executed for 20 s": (absent, {}),
    "no lookup shows the outcome of this call": (absent, {"outcome_query": None}),
    "the lookup failed": (lambda _: httpx.Response(401, json={"message": "the lookup failed"}), {}),
}


@pytest.mark.parametrize("reason", UNKNOWN)
async def test_an_unknown_outcome_has_its_reason(reason: str, caplog: pytest.LogCaptureFixture) -> None:
    response, changes = UNKNOWN[reason]
    script = LedgerScript(get=[response])
    with caplog.at_level(logging.ERROR, "gateway_async.calls"):
        found = await recovered_sale(script, 0, intent(**changes))
    assert (found.outcome, reason in str(found.error)) == ("unknown", True)
    (line,) = [message for message in caplog.messages if "looked up" in message]
    assert line == f"{found.call} (mine) looked up: unknown: {found.error}"


async def test_unavailable_gateway() -> None:
    """Repeat a failed lookup until the wait is over; then the outcome is unknown."""
    script = LedgerScript(get=[silent])
    found = await recovered_sale(script, timeout=3)
    assert found.outcome == "unknown"
    assert isinstance(found.error, DeadlineExceededError)


async def test_running_call() -> None:
    """A call of this client that is still running is not recovered: it records its own outcome."""
    script = LedgerScript(post=[silent], get=[NOT_THERE])
    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.transactions.create, NAMED_SALE)
        await anyio.sleep(1)
        script.ledger.left_open = script.ledger.intents
        assert await gateway.recover() == []
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("begins_at", "recoveries"),
    [(0.0, [0.5]), (1.5, [0.5]), (3.7, [0.5, 3.0])],
    ids=["begun before", "begun meanwhile", "begun after another recovery had read them"],
)
async def test_ended_call(begins_at: float, recoveries: list[float]) -> None:
    """A call that ends while the open intents are read is not recovered: it has recorded its own outcome."""

    class Slow(Memory):
        async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
            await anyio.sleep(1)
            seen = [] if terminal_id else list(self.intents)
            await anyio.sleep(2)
            return seen

    async def approve(_: httpx.Request) -> httpx.Response:
        await trio.sleep(1)
        return httpx.Response(201, json={"transaction": {"id": "made", "status_id": 101}})

    script = LedgerScript(post=[approve], get=[record("transaction")])
    async with script.gateway(ledger=Slow(script)) as gateway, anyio.create_task_group() as tasks:

        async def sell() -> None:
            await anyio.sleep(begins_at)
            await sell_named(gateway)

        async def recover(at: float) -> None:
            await anyio.sleep(at)
            assert await gateway.recover() == []

        tasks.start_soon(sell)
        for at in recoveries:
            tasks.start_soon(recover, at)


@pytest.mark.parametrize("jump", [0.0, 27.0, -27.0, 3600.0, -3600.0, 86_400.0, -86_400.0])
async def test_wrong_clock(jump: float) -> None:
    """However wrong it was, the sale is in doubt for as long as the intent says, from when it is first seen."""
    script = LedgerScript(get=[absent])
    sent_at = datetime.now(UTC) + timedelta(seconds=jump)
    left = intent(sent_at=sent_at, conclusive_at=sent_at + timedelta(seconds=140))
    script.ledger.left_open = [left]
    async with script.gateway() as gateway:
        outcomes = [each.outcome for wait in (0, 139, 5) for each in await gateway.recover(wait=wait)]
    assert outcomes == ["unknown", "unknown", "not_made"]
    assert trio.current_time() == pytest.approx(140, abs=1)


async def test_changed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day forward between two recoveries makes nothing certain."""
    script = LedgerScript(get=[absent])
    left = intent()
    script.ledger.left_open = [left]
    async with script.gateway() as gateway:
        await gateway.recover(wait=0)
        monkeypatch.setattr("time.time", lambda: left.sent_at.timestamp() + 86_400)
        monkeypatch.setattr("gateway_async._execution.recorder._utc_now", lambda: left.sent_at + timedelta(days=1))
        assert [each.outcome for each in await gateway.recover(wait=19)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover(wait=2)] == ["not_made"]


async def test_unlimited_recovery() -> None:
    """Recovery waits for the call that is in doubt for longest, and no longer."""
    script = LedgerScript(get=[absent])
    sent_at = datetime.now(UTC)
    script.ledger.left_open = [
        intent(id=name, sent_at=sent_at, conclusive_at=sent_at + timedelta(seconds=seconds))
        for name, seconds in (("card", 140), ("terminal", 440))
    ]
    async with script.gateway() as gateway:
        assert [each.outcome for each in await gateway.recover(wait=None)] == ["not_made", "not_made"]
        assert trio.current_time() == pytest.approx(440, abs=1)
        script.ledger.left_open = []
        assert await gateway.recover(wait=None) == []


async def test_failing_recovery() -> None:
    """Lookups that fail for half a minute after the doubt leave the call unknown."""
    script = LedgerScript(get=[lambda _: httpx.Response(503)])
    left = await recovered_sale(script, None)
    assert (left.outcome, type(left.error)) == ("unknown", ServerError)
    assert 30 < trio.current_time() < 90


@pytest.mark.parametrize(("terminal_id", "seconds"), [(None, 7), ("till", 307)])
@pytest.mark.parametrize("stored", [2, 600])
async def test_orphaned_call(terminal_id: str | None, seconds: float, stored: float) -> None:
    """Its process has exited, so it is in doubt for `in_doubt_seconds`; a customer at a terminal still has the time."""
    script = LedgerScript(get=[absent])
    now = datetime.now(UTC)
    left = intent(orphaned=True, terminal_id=terminal_id, sent_at=now, conclusive_at=now + timedelta(seconds=stored))
    assert (await recovered_sale(script, None, left, in_doubt_seconds=7)).outcome == "not_made"
    assert trio.current_time() == pytest.approx(seconds, abs=0.5)


@pytest.mark.parametrize(("stored", "seconds"), [(150, 420), (450, 450)])
async def test_terminal_time(stored: float, seconds: float) -> None:
    """An earlier version with a short `terminal_timeout` stored less; its process may run beside this one."""
    script = LedgerScript(get=[absent])
    now = datetime.now(UTC)
    script.ledger.left_open = [intent(terminal_id="t", sent_at=now, conclusive_at=now + timedelta(seconds=stored))]
    async with script.gateway() as gateway:
        assert [each.outcome for each in await gateway.recover(wait=seconds - 1)] == ["unknown"]
        assert [each.outcome for each in await gateway.recover(wait=2)] == ["not_made"]


@pytest.mark.parametrize("terminal_timeout", [30, 300])
async def test_own_call(terminal_timeout: float) -> None:
    """`recover()` counts from the sending, like `resolve()`: 300 seconds for the device and `in_doubt_seconds`."""
    script = LedgerScript(post=[silent], get=[absent])
    async with script.gateway(terminal_timeout=terminal_timeout) as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        script.ledger.left_open = script.ledger.intents
        await anyio.sleep(419 - trio.current_time())
        await error_of(error.resolve(wait=0), OutcomeUnknownError)
        assert [each.outcome for each in await gateway.recover(wait=0)] == ["unknown"]
        await anyio.sleep(1)
        assert [each.outcome for each in await gateway.recover(wait=0)] == ["not_made"]
        assert await error.resolve(wait=0) is None


@pytest.mark.parametrize(
    ("changes", "shown", "outcome"),
    [
        (VOID, {"status_id": 201}, "found"),
        (VOID, {"status_id": 101}, "not_made"),
        (TransactionUpdate(action="authincrement", transaction_amount="20.00"), {"transaction_amount": 20}, "found"),
        (REVERSAL, {"transaction_amount": "1.00"}, "found"),
        (REVERSAL, {"transaction_amount": "19.00"}, "found"),
        (REVERSAL, {"transaction_amount": "20.00"}, "not_made"),
        (REVERSAL, {"transaction_amount": "11.00"}, "unknown"),
    ],
)
async def test_what_was_done_to_a_payment_is_recovered_from_its_intent(
    changes: TransactionUpdate, shown: dict[str, Any], outcome: str
) -> None:
    script = LedgerScript(put=[silent], get=[record("transaction", transaction_amount="20.00"), NOT_THERE])
    await script.cancel(lambda g: g.transactions.update(ApiId("mine"), changes), 1)
    after = LedgerScript(get=[record("transaction", **shown)])
    kept = script.ledger.intents[0]
    found = await recovered(after, attrs.evolve(kept, conclusive_at=kept.sent_at))
    assert [each[1] for each in found] == [outcome]


async def test_stored_card() -> None:
    """The intent knows which vaults the contact had before."""
    old = {"id": "old", "contact_id": "c1", "payment_method": "cc"}
    script = LedgerScript(post=[silent], get=[listed("accountvaults", old)])
    await script.cancel(lambda g: g.router_account_vaults.create(SWIPE), 1)
    after = LedgerScript(get=[listed("accountvaults", {**old, "id": "new"}, old)])
    after.ledger.left_open = script.ledger.intents
    (found,) = await after.run(lambda g: g.recover())
    assert (found.resource, found.outcome, found.record.id) == ("router_account_vaults", "found", "new")
    assert found.error is None


async def test_a_ledger_that_cannot_be_read_recovers_nothing() -> None:
    script = LedgerScript(get=[NOT_THERE])
    script.ledger.broken = "open_intents"
    await script.fail(lambda g: g.recover(), LedgerError, match="it is damaged")


async def test_a_closed_client_recovers_nothing() -> None:
    async with LedgerScript(get=[NOT_THERE]).gateway() as gateway:
        pass
    closed = await error_of(gateway.recover(), ClientClosedError)
    assert closed.call == "recover()"


@pytest.mark.parametrize("wait", [-1, "30", True, float("nan")])
async def test_a_wait_has_to_be_a_number_of_seconds(wait: Any) -> None:
    script = LedgerScript(get=[NOT_THERE])
    with pytest.raises(InvalidRequestError, match="wait: must be a number of seconds"):
        await script.run(lambda g: g.recover(wait=wait))


# --- duplicates

TAKEN = refused(transaction_api_id="already exists")


@pytest.mark.parametrize(("amount", "outcome"), [("12.50", "done"), ("99.00", "refused")])
async def test_duplicate(amount: str, outcome: str) -> None:
    """A proxy may have sent the request twice, so an equal record may be this call's own."""
    found = record("transaction", transaction_api_id="mine", transaction_amount=amount)
    script = LedgerScript(post=[TAKEN], get=[found])
    await script.fail(sell_named, DuplicateError)
    assert script.ledger.notes == [("record_intent", 0), ("record_outcome", outcome, "found"), ("aclose",)]


async def test_unreadable_duplicate() -> None:
    """The intent of a duplicate stays open until its record can be read and compared."""
    script = LedgerScript(post=[TAKEN], get=[httpx.Response(500)])
    async with script.gateway() as gateway:
        error = await error_of(sell_named(gateway), DuplicateError)
        await error_of(error.fetch(), ServerError)
        assert script.ledger.notes == [("record_intent", 0)]
        script.responses["get"] = [record("transaction", transaction_api_id="mine", transaction_amount="12.50")]
        await error.fetch()
        assert script.ledger.notes[1:] == [("record_outcome", "done", "found")]


async def sell_once(gateway: AsyncGateway) -> Transaction:
    return await gateway.transactions.create_once(NAMED_SALE)


async def test_hanging_duplicate() -> None:
    """The payment that has the id may be this call's own, sent twice by a proxy."""
    script = LedgerScript(post=[refused(transaction_api_id="it exists already")], get=[silent])
    async with script.gateway(timeout=0.2) as gateway:
        unknown = await error_of(sell_once(gateway), OutcomeUnknownError, match="exists already.*did not finish")
        assert [note[0] for note in script.ledger.notes] == ["record_intent"]
        script.responses["get"] = [FOUND]
        assert (await gateway.transactions.resolve(unknown)) is not None
    assert script.ledger.notes[1:-1] == [("record_outcome", "done", "found")]


@pytest.mark.parametrize(("shown", "outcomes"), [(FOUND, ["done"]), (NOT_THERE, [])])
async def test_cancelled_duplicate(shown: httpx.Response, outcomes: list[str]) -> None:
    """The payment is looked up once more, as any cancelled write; the intent stays open if that finds nothing."""

    async def cancel(_: httpx.Request) -> httpx.Response:
        script.responses["get"] = [shown]
        scope.cancel()
        return await silent(_)

    script = LedgerScript(post=[refused(transaction_api_id="it exists already")], get=[cancel])
    async with script.gateway() as gateway:
        with anyio.CancelScope() as scope:
            await sell_once(gateway)
    assert scope.cancelled_caught
    assert [note[1] for note in script.ledger.notes[1:-1]] == outcomes


async def test_final_refusal() -> None:
    """A refusal of the only request is recorded as "refused" although its lookup got no response."""
    script = LedgerScript(put=[refused(action="it is settled")], get=[silent])
    await script.fail(lambda gateway: gateway.transactions.void("t"), ValidationError, match="settled", timeout=0.2)
    assert script.ledger.notes[1:-1] == [("record_outcome", "refused", None)]
