"""The verbs of a noun: what is sent, what is expected back, and how it is looked up."""

import enum
import json
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

import attrs
import pytest

from gateway_async._secrets import Secret, seal
from gateway_async._wire.call import (
    LISTED,
    Call,
    LedgerEntry,
    Lookup,
    LookupResult,
    LookupStatus,
    OutcomeQuery,
    RepeatEffect,
)
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import FIELDS_MATCH, UnprovenError
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.untyped import UntypedSpec
from gateway_async.errors import InvalidRequestError, MismatchedReplyError
from gateway_async.models.account_vaults import AccountVault, AccountVaultUpdate, CardVaultCreate
from gateway_async.models.codes import TransactionAction
from gateway_async.models.contacts import Contact, ContactCreate, ContactUpdate
from gateway_async.models.paylinks import PaylinkCreate, PaylinkUpdate
from gateway_async.models.quick_invoices import QuickInvoiceCreate
from gateway_async.models.record import ApiId
from gateway_async.models.transactions import RouterTransactionCreate, Transaction, TransactionCreate, TransactionUpdate
from gateway_async.resources import lookup_of
from gateway_async.resources.account_vaults import ACCOUNT_VAULT, VAULT_BIN_INFO
from gateway_async.resources.contacts import CONTACT
from gateway_async.resources.paylinks import PAYLINK
from gateway_async.resources.quick_invoices import QUICK_INVOICE
from gateway_async.resources.router_transactions import ROUTER_TRANSACTION
from gateway_async.resources.transactions import TRANSACTION

CARD = "4111111111111111"
VAULT = ACCOUNT_VAULT
SALE = TRANSACTION
AT_TERMINAL = ROUTER_TRANSACTION
NAMELESS = ResourceSpec(
    name="contact", plural="contacts", record=Contact, creates=(ContactCreate,), updates=(ContactUpdate,)
)

DEFAULTS = RequestDefaults(location_id="loc", check_limits=True, new_id=lambda: "made-up")
NEW_VAULT = CardVaultCreate(account_number=CARD, exp_date="0930", title="Mine", ssn4="8264", extra={"x": 1})
NEW_SALE = TransactionCreate(action="sale", transaction_amount="12.50", account_vault_id="v1", cvv="999")


def body(call: Call[Any]) -> Any:
    return json.loads(call.request.body or b"null")


def asked(call: Call[Any] | Lookup[Any]) -> str:
    """Return the method, path and parameters of a request."""
    request, query = call.request, "&".join(f"{name}={value}" for name, value in call.request.params)
    return f"{request.method} {request.path}" + (f"?{query}" if query else "")


def lookup_of_lost(call: Call[Any]) -> Lookup[Any]:
    assert call.resolver is not None
    return call.resolver.lookup()


def mismatch(call: Call[Any], content: Any) -> tuple[str, ...]:
    with pytest.raises(MismatchedReplyError) as refused:
        call.read(content)
    return refused.value.differences


MINE, BY_API_ID = ApiId("mine"), "?api_id=1&location_id=loc"
OWN_VAULT = CardVaultCreate(account_number=CARD, exp_date="0930", location_id="own", account_vault_api_id="mine")
NEW_TITLE = AccountVaultUpdate(title="New", customer_id=None)
AT_TERMINAL_SALE = RouterTransactionCreate(action="sale", terminal_id="term", transaction_amount="5.00")
STORED = {"payment_method": "cc", "account_number": CARD, "exp_date": "0930"}
SENT: dict[str, tuple[Callable[[], Call[Any]], str, RepeatEffect, str | None, Any]] = {
    #   call, request, effect, integrator id, body
    "create": (
        lambda: VAULT.create(NEW_VAULT, DEFAULTS), "POST /v2/accountvaults", RepeatEffect.NAMED, "made-up",
        {"accountvault": {**STORED, "title": "Mine", "ssn4": "8264", "location_id": "loc",
                          "account_vault_api_id": "made-up", "x": 1}},
    ),
    "create with a location and an id": (
        lambda: VAULT.create(OWN_VAULT, DEFAULTS), "POST /v2/accountvaults", RepeatEffect.NAMED, "mine",
        {"accountvault": {**STORED, "location_id": "own", "account_vault_api_id": "mine"}},
    ),
    "create without an integrator id": (
        lambda: NAMELESS.create(ContactCreate(last_name="Smith"), DEFAULTS), "POST /v2/contacts", RepeatEffect.UNNAMED,
        None, {"contact": {"last_name": "Smith", "location_id": "loc"}},
    ),
    "create at a terminal without an integrator id": (
        lambda: NAMELESS.create(ContactCreate(last_name="Smith"), DEFAULTS, repeat_effect=RepeatEffect.TERMINAL),
        "POST /v2/contacts", RepeatEffect.TERMINAL, None,
        {"contact": {"last_name": "Smith", "location_id": "loc"}},
    ),
    "get": (lambda: VAULT.get("v/1", DEFAULTS), "GET /v2/accountvaults/v%2F1", RepeatEffect.READ, None, None),
    "get with expansion": (
        lambda: VAULT.get("v1", DEFAULTS, ("contact", "location")), "GET /v2/accountvaults/v1?expand=contact,location",
        RepeatEffect.READ, None, None,
    ),
    "get by an integrator id": (
        lambda: VAULT.get(MINE, DEFAULTS), f"GET /v2/accountvaults/mine{BY_API_ID}", RepeatEffect.READ, None, None,
    ),
    "get by an integrator id of another location": (
        lambda: VAULT.get(ApiId("mine", "own"), DEFAULTS, ("contact",)),
        "GET /v2/accountvaults/mine?api_id=1&location_id=own&expand=contact", RepeatEffect.READ, None, None,
    ),
    "get by a word": (lambda: NAMELESS.get_by_word("me"), "GET /v2/contacts/me", RepeatEffect.READ, None, None),
    "part": (
        lambda: VAULT.sub_resource(MINE, VAULT_BIN_INFO, DEFAULTS), f"GET /v2/accountvaults/mine/bininfo{BY_API_ID}",
        RepeatEffect.READ, None, None,
    ),
    "page": (
        lambda: VAULT.page(3, (("title", "x"), ("page_size", "2"))), "GET /v2/accountvaults?title=x&page_size=2&page=3",
        RepeatEffect.READ, None, None,
    ),
    "update": (
        lambda: VAULT.update("v1", NEW_TITLE, DEFAULTS), "PUT /v2/accountvaults/v1", RepeatEffect.IDEMPOTENT, None,
        {"accountvault": {"title": "New", "customer_id": None}},
    ),
    "update by an integrator id": (
        lambda: VAULT.update(MINE, NEW_TITLE, DEFAULTS), f"PUT /v2/accountvaults/mine{BY_API_ID}",
        RepeatEffect.IDEMPOTENT, "mine", {"accountvault": {"title": "New", "customer_id": None}},
    ),
    "delete": (
        lambda: VAULT.delete(MINE, DEFAULTS), f"DELETE /v2/accountvaults/mine{BY_API_ID}", RepeatEffect.IDEMPOTENT,
        "mine", None,
    ),
    "action": (
        lambda: SALE.action("t1", "undo", DEFAULTS), "POST /v2/transactions/t1/undo", RepeatEffect.UNNAMED, None, None,
    ),
    "action with a body": (
        lambda: SALE.action(MINE, "evidence", DEFAULTS, method="PUT", content={"batch": f"card {CARD}"}),
        f"PUT /v2/transactions/mine/evidence{BY_API_ID}", RepeatEffect.UNNAMED, "mine",
        {"transaction": {"batch": f"card {CARD}"}},
    ),
    "notification": (
        lambda: SALE.notify(MINE, "resend", DEFAULTS, (("sms", "0"),)),
        f"POST /v2/transactions/mine/resend{BY_API_ID}&sms=0", RepeatEffect.UNNAMED, None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SENT)
def test_requests(name: str) -> None:
    """Fill in the location and the integrator id only where they are missing; nothing has happened yet."""
    make, request, effect, api_id, content = SENT[name]
    call = make()
    assert (asked(call), call.repeat_effect, call.api_id) == (request, effect, api_id)
    assert body(call) == content


# --- create


NEW = {
    ACCOUNT_VAULT: NEW_VAULT,
    CONTACT: ContactCreate(last_name="Smith"),
    QUICK_INVOICE: QuickInvoiceCreate(title="Tea", due_date=date(2030, 1, 31), item_list={"Tea": 1}),
    PAYLINK: PaylinkCreate(amount_due=12),
    SALE: NEW_SALE,
    AT_TERMINAL: AT_TERMINAL_SALE,
}


@pytest.mark.parametrize("spec", NEW, ids=lambda spec: spec.name)
def test_replaced_api_id(spec: ResourceSpec[Any]) -> None:
    """An empty text counts as omitted, so that a lost response can be looked up."""
    empty: dict[str, Any] = {str(spec.api_id): ""}
    call = spec.create(attrs.evolve(NEW[spec], **empty), DEFAULTS)
    assert (call.api_id, call.repeat_effect) == ("made-up", RepeatEffect.NAMED)
    assert body(call)[spec.name][spec.api_id] == "made-up"


@pytest.mark.parametrize(
    ("spec", "changes"), [(CONTACT, ContactUpdate), (ACCOUNT_VAULT, AccountVaultUpdate), (PAYLINK, PaylinkUpdate)]
)
def test_removed_api_id(spec: ResourceSpec[Any], changes: Callable[..., Any]) -> None:
    """The empty text is sent; afterwards the record shows null or no text."""
    call = spec.update("r1", changes(**{str(spec.api_id): ""}), DEFAULTS)
    assert body(call)[spec.name] == {spec.api_id: ""}
    for shown in (None, ""):
        found = lookup_of_lost(call).read({spec.name: {"id": "r1", spec.api_id: shown}})
        assert found.status is LookupStatus.EXECUTED


def test_shown_content() -> None:
    """For errors and logs secrets are stars, personal data and `extra` are hidden; null is left out."""
    call = VAULT.create(NEW_VAULT, DEFAULTS)
    masked = {"account_number": "************1111", "ssn4": "***", "x": "***", "title": "Mine"}
    assert call.sent == {**STORED, **masked, "location_id": "loc", "account_vault_api_id": "made-up"}
    assert CARD not in repr(call)
    assert VAULT.update("v1", NEW_TITLE, DEFAULTS).sent == {"title": "New"}
    change = VAULT.update("v1", AccountVaultUpdate(ssn4="8264"), DEFAULTS)
    for each in (call, change):
        assert (Secret("8264") in each.request.secrets, {"ssn4", "last_four"} <= each.fields) == (True, True)
    assert "x" in call.fields
    assert SENT["action with a body"][0]().sent == {"batch": "card ************1111"}


FOREIGN: list[tuple[Callable[[], Call[Any]], str, str, str]] = [
    (lambda: VAULT.create(NEW_VAULT, DEFAULTS), "account_vault_api_id", "other", "made-up"),
    (lambda: VAULT.create(NEW_VAULT, DEFAULTS), "location_id", "other", "loc"),
    (lambda: VAULT.create(NEW_VAULT, DEFAULTS), "last_four", "5454", "1111"),
    (lambda: SALE.create(NEW_SALE, DEFAULTS), "transaction_amount", "99.00", "12.50"),
    (lambda: VAULT.get("v1", DEFAULTS), "id", "v2", "v1"),
    (lambda: VAULT.get(MINE, DEFAULTS), "account_vault_api_id", "b", "mine"),
    (lambda: VAULT.get(MINE, DEFAULTS), "location_id", "x", "loc"),
    (lambda: VAULT.update("v1", NEW_TITLE, DEFAULTS), "id", "v2", "v1"),
    (lambda: VAULT.update("v1", AccountVaultUpdate(account_vault_api_id="new"), DEFAULTS), "id", "v2", "v1"),
    (lambda: SALE.action("t1", "undo", DEFAULTS, content={"batch": "5"}, evidence=FIELDS_MATCH), "id", "t2", "t1"),
]


@pytest.mark.parametrize(("make", "name", "value", "wanted"), FOREIGN)
def test_foreign_response(make: Callable[[], Call[Any]], name: str, value: str, wanted: str) -> None:
    """The response shows the id, integrator id, location, digits and amount of the request, if any."""
    call = make()
    wrapper = "transaction" if "transactions" in call.request.path else "accountvault"
    assert mismatch(call, {wrapper: {"id": "v1", name: value}}) == (f"{name} is {value!r}, not {wanted!r}",)


@pytest.mark.parametrize("shown", [{}, {"account_vault_api_id": ""}])
def test_unproven_response(shown: dict[str, Any]) -> None:
    """A response without the integrator id or the change proves nothing, and its record is kept."""
    for call in (VAULT.create(NEW_VAULT, DEFAULTS), VAULT.update("v1", NEW_TITLE, DEFAULTS)):
        with pytest.raises(UnprovenError) as unproven:
            call.read({"accountvault": {"id": "v1", **shown}})
        assert unproven.value.record.id == "v1"


def test_lost_create() -> None:
    """The lookup reads the record by api id; it must be the record, and its absence means that it was not made."""
    lookup = lookup_of_lost(SALE.create(NEW_SALE, DEFAULTS))
    assert (asked(lookup), lookup.repeat_effect) == (f"GET /v2/transactions/made-up{BY_API_ID}", RepeatEffect.LOOKUP)
    assert lookup.not_found_result == LookupResult(LookupStatus.NO_RECORD)
    sale = {"id": "t1", "transaction_amount": "12.5", "transaction_api_id": "made-up"}
    assert getattr(lookup.read({"transaction": sale}).record, "id", None) == "t1"
    for hidden in (None, ""):
        with pytest.raises(FieldError, match="transaction_api_id: missing"):
            lookup.read({"transaction": {**sale, "transaction_api_id": hidden}})
    assert mismatch(lookup, {"transaction": {"id": "t1", "transaction_api_id": "other"}}) == (
        "transaction_api_id is 'other', not 'made-up'",
    )


def test_looked_up_record() -> None:
    """It has the write's id and location, and a refund names its payment."""
    lookups = (VAULT.create(OWN_VAULT, DEFAULTS), VAULT.update("v1", NEW_TITLE, DEFAULTS))
    paths = ["GET /v2/accountvaults/mine?api_id=1&location_id=own", "GET /v2/accountvaults/v1"]
    assert [asked(lookup_of_lost(call)) for call in lookups] == paths
    refund = TransactionCreate(action="refund", previous_transaction_id="p", transaction_api_id="mine")
    scope = attrs.evolve(DEFAULTS, check_limits=False)
    found = lookup_of_lost(SALE.create(refund, scope)).read({"transaction": {"id": "t", "transaction_api_id": "mine"}})
    assert found.status is LookupStatus.UNPROVEN
    assert found.differences == (".transaction.previous_transaction_id: missing, so it may refund another payment",)


def test_voided_response() -> None:
    """A new sale is not voided. A terminal's response has a name of its own."""
    call = AT_TERMINAL.create(AT_TERMINAL_SALE, DEFAULTS)
    made = {"id": "t", "transaction_api_id": "made-up", "transaction_amount": "5.00"}
    assert call.read({"routertransaction": made}).id == "t"
    voided = {"routertransaction": {**made, "status_id": 201}}
    assert mismatch(call, voided) == ("status_id is 201, which no new sale has",)


@pytest.mark.parametrize("noun", [SALE, AT_TERMINAL])
def test_missing_location(noun: ResourceSpec[Transaction]) -> None:
    """Reading it by its api id would need the location that the gateway took; a ledger can ask the same again."""
    scope = attrs.evolve(DEFAULTS, location_id=None)
    call = noun.create(NEW_SALE if noun is SALE else AT_TERMINAL_SALE, scope)
    assert "location_id" not in body(call)[noun.name]
    lookup = lookup_of_lost(call)
    assert (lookup.request.path, dict(lookup.request.params)["transaction_api_id"]) == ("/v2/transactions", "made-up")
    assert call.ledger_entry is not None
    assert call.ledger_entry.outcome_query is not None
    again = lookup_of(json.loads(json.dumps(call.ledger_entry.outcome_query.as_json())))
    assert again is not None
    assert asked(again) == asked(lookup)
    with pytest.raises(InvalidRequestError, match="float"):
        SALE.create(TransactionCreate(action="sale", transaction_amount=0.1), scope)  # type: ignore[arg-type]


@pytest.mark.parametrize("thing", [None, {"last_name": "Smith"}, "Smith", ContactCreate, NEW_VAULT])
def test_a_request_is_a_request_object(thing: Any) -> None:
    for make, wanted in ((NAMELESS.create, "ContactCreate"), (partial(NAMELESS.update, "c"), "ContactUpdate")):
        with pytest.raises(InvalidRequestError) as refused:
            make(thing, DEFAULTS)
        assert refused.value.problems == (f"request: must be {wanted}, not {type(thing).__name__}",)


def test_a_request_belongs_to_its_verb() -> None:
    with pytest.raises(InvalidRequestError, match="must be ContactCreate, not ContactUpdate"):
        NAMELESS.create(ContactUpdate(last_name="Smith"), DEFAULTS)
    with pytest.raises(InvalidRequestError, match=r"must be CardVaultCreate or .* VaultCopyCreate, not ContactCreate"):
        VAULT.create(ContactCreate(last_name="Smith"), DEFAULTS)


# --- get, part, page


def test_returned_record() -> None:
    """Accept a null api id."""
    shown = {"accountvault": {"id": "v1", "account_vault_api_id": None}}
    for call in (VAULT.get("v1", DEFAULTS), VAULT.get(MINE, DEFAULTS)):
        assert call.read(shown) == AccountVault(id="v1")


UNWRAPPED: list[Any] = [None, [], {}, {"accountvault": None}, {"accountvault": []}, {"contact": {"id": "c"}}]


@pytest.mark.parametrize(
    ("content", "path", "reason"),
    [
        *((content, "", "missing, or not an object") for content in UNWRAPPED),
        ({"accountvault": {}}, ".id", "missing"),
        ({"accountvault": {"id": "v1", "title": []}}, ".title", "not a text"),
    ],
)
def test_response_path(content: Any, path: str, reason: str) -> None:
    """The wrapper may be missing; otherwise the path leads through it to the field."""
    with pytest.raises(FieldError) as failed:
        VAULT.get("v1", DEFAULTS).read(content)
    assert (failed.value.path, failed.value.reason) == (f".accountvault{path}", reason)


# --- update


def test_renamed_record() -> None:
    """After a change of the api id the record answers, and is looked up, under the new one."""
    call = VAULT.update(ApiId("old", "own"), AccountVaultUpdate(account_vault_api_id="new"), DEFAULTS)
    assert call.request.path == "/v2/accountvaults/old"
    lookup = lookup_of_lost(call)
    assert (lookup.request.path, lookup.request.params[1]) == ("/v2/accountvaults/new", ("location_id", "own"))
    renamed = {"accountvault": {"id": "v1", "account_vault_api_id": "new"}}
    assert call.read(renamed) == lookup.read(renamed).record == AccountVault(id="v1", account_vault_api_id="new")
    assert mismatch(call, {"accountvault": {"id": "v1", "account_vault_api_id": "old"}})


@pytest.mark.parametrize(
    ("action", "amount", "is_looked_up"),
    [
        *((action, {}, True) for action in ("void", "authcomplete", "edit")),
        ("authincrement", {"transaction_amount": "15.00"}, True),
        ("partialreversal", {"transaction_amount": "5.00"}, False),
        (TransactionAction("brand new"), {}, False),
    ],
)
def test_actions(action: Any, amount: Any, is_looked_up: bool) -> None:
    """Look up actions with evidence; leave the others unknown."""
    call = SALE.update_with_action("t1", TransactionUpdate(action=action, **amount), DEFAULTS)
    effect = RepeatEffect.IDEMPOTENT if is_looked_up else RepeatEffect.UNNAMED
    assert (asked(call), call.repeat_effect) == ("PUT /v2/transactions/t1", effect)
    assert (call.resolver is not None) is is_looked_up
    assert body(call)["transaction"]["action"] == action


# --- ids

VERBS: dict[str, Callable[[Any], object]] = {
    "get": lambda ref: NAMELESS.get(ref, DEFAULTS),
    "update": lambda ref: NAMELESS.update(ref, AccountVaultUpdate(title="x"), DEFAULTS),
    "delete": lambda ref: NAMELESS.delete(ref, DEFAULTS),
    "part": lambda ref: NAMELESS.sub_resource(ref, VAULT_BIN_INFO, DEFAULTS),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_an_api_id_needs_a_resource_that_has_one(verb: Callable[[Any], object]) -> None:
    with pytest.raises(InvalidRequestError, match="contacts cannot be found by an ApiId"):
        verb(ApiId("mine"))


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("ref", ["", "..", "a b", 5, None])
def test_a_bad_id_makes_no_call(verb: Callable[[Any], object], ref: Any) -> None:
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: id: "):
        verb(ref)


def test_an_api_id_that_cannot_stand_in_a_path_makes_no_call() -> None:
    scope = attrs.evolve(DEFAULTS, check_limits=False)
    with pytest.raises(InvalidRequestError, match="cannot be part of a path"):
        SALE.create(TransactionCreate(action="sale", transaction_api_id=".."), scope)
    in_a_list = attrs.evolve(scope, location_id=None)
    assert SALE.create(TransactionCreate(action="sale", transaction_api_id=".."), in_a_list).api_id == ".."


# --- in a list


BY_QUERY = OutcomeQuery(
    resource="transactions",
    id="mine",
    location_id="loc",
    expected={"transaction_api_id": "mine", "transaction_amount": "12.50", "action": "sale"},
    evidence="exists",
)


def listed(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"transactions": list(rows), "meta": {"pagination": {"totalCount": len(rows), "pageCount": 1}}}


@pytest.mark.parametrize(
    ("outcome_query", "params"),
    [
        (BY_QUERY, "transaction_api_id=mine&location_id=loc"),
        (attrs.evolve(BY_QUERY, kind=LISTED, location_id=None), "transaction_api_id=mine"),
        (attrs.evolve(BY_QUERY, id="t1", location_id=None, expected={"id": "t1"}), "id=t1"),
    ],
)
def test_list_lookup(outcome_query: OutcomeQuery, params: str) -> None:
    """A list is looked up by the integrator's id, with the location if it is known, or by the gateway's own id."""
    call = SALE.listing_lookup(outcome_query)
    assert asked(call) == f"GET /v2/transactions?{params}&page=1&page_size=100"


def test_list_outcomes() -> None:
    """The record that was asked for, `NO_RECORD` where it is not, and what differs where it has another amount."""
    call = SALE.listing_lookup(BY_QUERY)
    row = {"id": "t1", "transaction_api_id": "mine", "location_id": "loc", "transaction_amount": "12.50"}
    assert call.read(listed({**row, "transaction_api_id": "mine-2"}, row)).record == SALE.get("t1", DEFAULTS).read(
        {"transaction": row}
    )
    assert call.read(listed()).status is LookupStatus.NO_RECORD
    other = call.read(listed({**row, "transaction_amount": "99.00"}))
    assert other.status is LookupStatus.DIFFERENT_RECORD
    assert other.differences == ("transaction_amount is '99.00', not '12.50'",)
    with pytest.raises(FieldError):
        call.read({"transactions": []})


def test_list_request() -> None:
    """A list's filters may be secrets, and its link shows whether it is the requested list; it may have either name."""
    page = VAULT.page(1, (("ssn4", Secret("8264")),))
    assert page.request.secrets == (Secret("8264"),)
    assert page.decode(b'{"accountvault":[]}')["accountvaults"] == []
    meta = {"pagination": {"links": {"self": {"href": "/v2/accountvaults?ssn4=1"}}}}
    for call in (page, SALE.listing_lookup(BY_QUERY)):
        assert mismatch(call, {"accountvaults": [], "transactions": [], "meta": meta})


def test_hidden_id() -> None:
    """Only an id that no other request has makes a record with another amount this write's."""
    lookup = lookup_of_lost(SALE.create(NEW_SALE, DEFAULTS))
    charged = {"id": "t1", "transaction_amount": "99.00"}
    found = lookup.read({"transaction": {**charged, "transaction_api_id": "made-up"}})
    assert found.status is LookupStatus.DIFFERENT_RECORD
    with pytest.raises(FieldError, match="transaction_api_id: missing"):
        lookup.read({"transaction": charged})


class Action(str, enum.Enum):  # noqa: UP042  its `str()` is what the test is about
    """Codes of a program. The `str()` of a member is its name, such as `Action.VOID`."""

    VOID = "void"
    EDIT = "edit"


UNTYPED_SALE = UntypedSpec(name="transaction", plural="transactions", api_id=SALE.api_id, typed=SALE)


@pytest.mark.parametrize(("action", "is_in_ledger"), [(Action.VOID, True), (Action.EDIT, False)])
def test_enum_action(action: Action, is_in_ledger: bool) -> None:
    """A lost void is looked up, and an edit moves no money, whatever the member's `str()` is."""
    call = UNTYPED_SALE.update_from("t1", seal({"action": action}), DEFAULTS)
    assert (call.repeat_effect, bool(call.ledger_entry)) == (RepeatEffect.IDEMPOTENT, is_in_ledger)
    assert call.resolver is not None


def test_sealed_amount() -> None:
    """The amount stays sealed, so nothing shows that it was reversed; the call is sent all the same."""
    content = seal({"action": "partialreversal", "transaction_amount": "4111111111111111"})
    before = UNTYPED_SALE.update_from("t1", content, DEFAULTS).prerequisite
    assert before is not None
    assert before.fresh_connection
    call = before.read({"transaction": {"id": "t1", "transaction_amount": "12.50"}})
    assert (call.prerequisite, call.resolver) == (None, None)
    assert UNTYPED_SALE.update_from("t1", seal({"action": 5}), DEFAULTS).resolver is None


# --- what a ledger keeps


def test_ledger_entry() -> None:
    """Ids and sums, under the name that the resource has on the client; what has no evidence has no outcome query."""
    new = attrs.evolve(AT_TERMINAL_SALE, description="x")
    entry = AT_TERMINAL.create(new, DEFAULTS, repeat_effect=RepeatEffect.TERMINAL).ledger_entry
    expected = {
        "transaction_api_id": "made-up",
        "location_id": "loc",
        "terminal_id": "term",
        "payment_method": "cc",
        "description": "x",
        "transaction_amount": "5.00",
        "action": "sale",
    }
    outcome_query = OutcomeQuery(
        resource="transactions",
        id="made-up",
        location_id="loc",
        expected=expected,
        evidence="exists",
        sent={},
        generated_id=True,
        is_new=True,
    )
    assert entry == LedgerEntry(resource="router_transactions", location_id="loc", outcome_query=outcome_query)
    assert attrs.evolve(OutcomeQuery.read(outcome_query.as_json()), is_new=True) == outcome_query  # not kept
    reversal = TransactionUpdate(action="partialreversal", transaction_amount="1.00")
    assert SALE.update_with_action("t1", reversal, DEFAULTS).ledger_entry == LedgerEntry(
        resource="transactions", location_id=None, outcome_query=None
    )
    change = SALE.action(MINE, "undo", DEFAULTS, content={"batch": "5"}, evidence=FIELDS_MATCH)
    for call in (SALE.update_with_action(MINE, TransactionUpdate(action="void"), DEFAULTS), change):
        kept: Any = call.ledger_entry
        assert (kept.location_id, kept.outcome_query.id, kept.outcome_query.is_new) == ("loc", "mine", False)
    unnamed = attrs.evolve(NAMELESS, moves_money=True).create(ContactCreate(last_name="Smith"), DEFAULTS)
    assert unnamed.ledger_entry == LedgerEntry(resource="contacts", location_id="loc", outcome_query=None)


def test_other_location() -> None:
    """The client's own location is neither sent nor searched: the payment may be in another one."""
    call = SALE.create(attrs.evolve(NEW_SALE, location_api_id="shop-2"), DEFAULTS)
    sent = body(call)["transaction"]
    assert (sent["location_api_id"], "location_id" in sent) == ("shop-2", False)
    lookup = lookup_of_lost(call)
    assert lookup.request.path == "/v2/transactions"
    assert "location_id" not in dict(lookup.request.params)
    made = {"id": "t1", "location_id": "other", "transaction_api_id": "made-up"}
    assert call.read({"transaction": made}).location_id == "other"


def test_debit_surcharge() -> None:
    """The gateway drops the surcharge of a debit card, so that less is captured than was sent."""
    capture = TransactionUpdate(action="authcomplete", transaction_amount="66.80", surcharge_amount="1.80")
    call = SALE.update_with_action("t1", capture, DEFAULTS)
    captured = {"id": "t1", "status_id": 101, "transaction_amount": "65.00"}
    assert call.read({"transaction": captured}).transaction_amount == 65
    with pytest.raises(FieldError, match="captured for other amounts"):
        call.read({"transaction": captured | {"transaction_amount": "60.00"}})
    raised = TransactionUpdate(action="authincrement", transaction_amount="66.80", surcharge_amount="1.80")
    assert mismatch(SALE.update_with_action("t1", raised, DEFAULTS), {"transaction": captured})
