"""`create_once` makes a record, or returns the one that has its id already, if that equals what is sent."""

from collections.abc import Callable
from datetime import date
from typing import Any

import attrs
import httpx
import pytest

from gateway_async import (
    CardVaultCreate,
    ContactCreate,
    DuplicateError,
    InvalidRequestError,
    MismatchedWriteError,
    OutcomeUnknownError,
    PaylinkCreate,
    QuickInvoiceCreate,
    Transaction,
    ValidationError,
)
from gateway_async.observe import OutcomeLookedUp, TerminalState
from tests.support.scripted_transport import (
    LOST,
    NAMED_SALE,
    NOT_THERE,
    SALE_AT_TERMINAL,
    Case,
    Script,
    ScriptedResponse,
    case,
    echo,
    error_of,
    listed,
    record,
    refusal,
    refused,
)

from .test_ledger import LedgerScript

pytestmark = pytest.mark.anyio

Wrong = dict[str, Any]
LUNCH = QuickInvoiceCreate(title="Lunch", due_date=date(2026, 12, 1), item_list={"Tea": 1}, quick_invoice_api_id="mine")
CARD = CardVaultCreate(account_number="4111111111111111", exp_date="0930", account_vault_api_id="mine")
CREATES: dict[str, tuple[Any, str, str, Wrong]] = {
    "transactions": (NAMED_SALE, "transaction", "transaction_api_id", {"transaction_amount": "99.00"}),
    "router_transactions": (SALE_AT_TERMINAL, "transaction", "transaction_api_id", {"transaction_amount": "99.00"}),
    "account_vaults": (CARD, "accountvault", "account_vault_api_id", {"last_four": "4444"}),
    "contacts": (ContactCreate(last_name="Smith", contact_api_id="mine"), "contact", "contact_api_id",
                 {"last_name": "Jones"}),
    "quick_invoices": (LUNCH, "quickinvoice", "quick_invoice_api_id", {"title": "Dinner"}),
    "paylinks": (PaylinkCreate(amount_due=1, paylink_api_id="mine"), "paylink", "paylink_api_id",
                 {"amount_due": "2.00"}),
}  # fmt: skip
"""Resource → a create with an id, the name and the id's field of its record, and a value that differs."""
each_resource = pytest.mark.parametrize("resource", CREATES)


def taken(resource: str) -> httpx.Response:
    return refused(**{CREATES[resource][2]: "already exists"})


def stored(resource: str, **changes: Any) -> httpx.Response:
    _, wrapper, field, _ = CREATES[resource]
    return record(wrapper, **{field: "mine", "location_id": "loc", "last_name": "Smith", **changes})


def create_once(resource: str, new: Any = None) -> Callable[[Any], Any]:
    return lambda gateway: getattr(gateway, resource).create_once(CREATES[resource][0] if new is None else new)


DELETED = refusal(409, "is deleted")
CHANGED = ContactCreate(last_name="Smith", contact_api_id="mine", update_if_exists=True)
CASES = [
    *(
        case(f"{resource}: nothing is read before or after a create", create_once(resource), {"id": "made"}, "POST",
             post=[echo(wrapper)])
        for resource, (_, wrapper, _, _) in CREATES.items()
    ),
    *(
        case(f"{resource}: a record that is {why} has the id, and nothing is sent again", create_once(resource),
             DuplicateError, "POST GET", post=[taken(resource)], get=[response])
        for resource in CREATES
        for why, response in {"in a location that the user cannot see": NOT_THERE, "deleted": DELETED}.items()
    ),
    case("`update_if_exists` would change the record that has the id", create_once("contacts", CHANGED),
         (InvalidRequestError, "update_if_exists: must not be set"), ""),
    case("another refusal is not looked up", create_once("transactions"), (ValidationError, "account_vault_id"),
         "POST", post=[refused(account_vault_id="not found")]),
    case("of two requests at once, one may be refused before the record of the other can be read",
         create_once("transactions"), {"id": "found"}, "POST GET",
         post=[taken("transactions")], get=[NOT_THERE, NOT_THERE, stored("transactions")]),
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
async def test_requests_and_outcomes_of_repeated_creates(call: Case) -> None:
    await call.check()


@each_resource
async def test_equal_record(resource: str) -> None:
    """The second of two equal requests returns the record of the first."""
    script = Script(post=[taken(resource)], get=[stored(resource)])
    assert (await script.run(create_once(resource))).id == "found"
    assert script.methods == ["POST", "GET"]
    assert [event.outcome for event in script.events_of(OutcomeLookedUp)] == ["found"]


@each_resource
async def test_different_record(resource: str) -> None:
    """The id belongs to another record: the error has it, says what differs, and nothing is sent again."""
    different = CREATES[resource][3]
    script = Script(post=[taken(resource)], get=[stored(resource, **different)])
    error = await script.fail(create_once(resource), MismatchedWriteError)
    assert script.methods == ["POST", "GET"]
    assert getattr(error.record, "id", None) == "found"
    assert any(name in " ".join(error.differences) for name in different)


@each_resource
@pytest.mark.parametrize("value", [None, ""], ids=["omitted", "empty"])
async def test_required_id(resource: str, value: str | None) -> None:
    """Without a chosen id, no later call could find the record: the error names the field, and nothing is sent."""
    new, _, field, _ = CREATES[resource]
    script, match = Script(post=[], get=[]), f"{field}: required"
    verb = create_once(resource, attrs.evolve(new, **{field: value}))
    await script.fail(verb, InvalidRequestError, match=match, check_limits=False)
    assert script.asked == []


async def test_the_option_belongs_to_one_call_and_not_to_the_client() -> None:
    script = Script(post=[taken("transactions")], get=[stored("transactions")])
    async with script.gateway() as gateway:
        await gateway.transactions.create_once(NAMED_SALE)
        await error_of(gateway.transactions.create(NAMED_SALE), DuplicateError)


async def test_unreadable_record() -> None:
    """The error resolves when the gateway can be read again."""
    script = Script(post=[taken("transactions")], get=[LOST])
    async with script.gateway() as gateway:
        error = await error_of(gateway.transactions.create_once(NAMED_SALE), OutcomeUnknownError)
        script.responses["get"] = [stored("transactions", status_id=101)]
        found = await gateway.transactions.resolve(error)
        assert found is not None
        assert found.approved


async def test_late_attempt() -> None:
    """The first attempt arrived late; the second is told that the id is taken."""
    script = Script(post=[LOST, taken("transactions")])
    script.responses["get"] = [
        lambda _: NOT_THERE if script.methods.count("POST") == 1 else stored("transactions", transaction_amount="12.50")
    ]
    assert (await script.run(create_once("transactions"))).id == "found"


async def test_integrator_location() -> None:
    """The record is found in the list of all locations, because its location is not known."""
    new = attrs.evolve(NAMED_SALE, location_api_id="shop-7")
    row = {"id": "found", "transaction_api_id": "mine", "transaction_amount": "12.50"}
    script = Script(post=[taken("transactions")], get=[listed("transactions", row)])
    assert (await script.run(create_once("transactions", new))).id == "found"
    assert script.asked[1].url.path == "/v2/transactions"


# --- at a terminal


@pytest.mark.parametrize("amount", ["12.50", "99.00"])
async def test_terminal(amount: str) -> None:
    """The gateway refuses the id before the terminal is used: the next customer can pay at once."""
    again = attrs.evolve(SALE_AT_TERMINAL, transaction_api_id="next")
    script = Script(
        post=[taken("router_transactions"), echo("transaction", status_id=101)],
        get=[stored("router_transactions", transaction_amount=amount)],
    )
    async with script.gateway() as gateway:
        try:
            await gateway.router_transactions.create_once(SALE_AT_TERMINAL)
        except MismatchedWriteError:
            assert amount == "99.00"
        assert gateway.health().unknown_outcomes == 0
        assert (await gateway.router_transactions.create(again)).approved
    assert script.methods == ["POST", "GET", "POST"]


async def test_progress() -> None:
    """A till sees that an earlier sale is looked up."""
    script = Script(post=[taken("router_transactions")], get=[stored("router_transactions")])
    states: list[str] = []
    async with script.gateway() as gateway:
        await gateway.router_transactions.create_once(
            SALE_AT_TERMINAL, on_progress=lambda progress: states.append(str(progress.state))
        )
    assert states[-1] == TerminalState.LOOKING_UP


# --- with a ledger


@pytest.mark.parametrize(
    ("get", "outcome"),
    [
        ([stored("transactions")], ("record_outcome", "done", "found")),
        ([stored("transactions", transaction_amount="99.00")], ("record_outcome", "refused", None)),
    ],
    ids=["equal", "different"],
)
async def test_ledger(get: list[ScriptedResponse], outcome: tuple[Any, ...]) -> None:
    """An equal record is what the call made; another record proves that the refused call made nothing."""
    script = LedgerScript(post=[taken("transactions")], get=get)
    async with script.gateway() as gateway:
        try:
            found: Transaction | None = await gateway.transactions.create_once(NAMED_SALE)
        except MismatchedWriteError:
            found = None
        assert (found is None) == (outcome[1] == "refused")
        assert script.ledger.notes == [("record_intent", 0), outcome]


async def test_a_ledger_leaves_what_could_not_be_read_open() -> None:
    script = LedgerScript(post=[taken("transactions")], get=[LOST])
    async with script.gateway() as gateway:
        error = await error_of(gateway.transactions.create_once(NAMED_SALE), OutcomeUnknownError)
        assert script.ledger.notes == [("record_intent", 0)]
        script.responses["get"] = [stored("transactions")]
        await gateway.transactions.resolve(error)
        assert script.ledger.notes[1:] == [("record_outcome", "done", "found")]
