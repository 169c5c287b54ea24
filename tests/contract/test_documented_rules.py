"""The documented rules of amounts, defaults and changes, row by row, through raw HTTP and through the SDK."""

from functools import partial
from typing import Any

import pytest

from gateway_async import TransactionCreate, TransactionUpdate
from gateway_async._wire.validation import problems
from gateway_async.sandbox import Sandbox

from .raw_client import BANK_ACCOUNT, RawClient
from .sides import Side, refusal

ACH = BANK_ACCOUNT | {"payment_method": "ach", "ach_sec_code": "WEB", "exp_date": ...}
NEVER_ZERO = "sale, authonly, authcomplete, authincrement, debit, credit, refund, tipadjust"
AMOUNT = {"transaction_amount": "1.00"}
ZERO = {"transaction_amount": [f"Transaction Amount cannot be 0 for {NEVER_ZERO}."]}


@pytest.mark.parametrize("action", ["sale", "authonly", "refund", "debit", "credit"])
def test_zero_payment(side: Side, action: str) -> None:
    """The problem lists the actions that need an amount."""
    account = ACH if action in ("debit", "credit") else {}
    assert refusal(lambda: side.pay(action=action, transaction_amount="0.00", **account)) == ZERO


@pytest.mark.parametrize("action", ["authcomplete", "authincrement", "tipadjust"])
def test_zero_change(side: Side, action: str) -> None:
    """Actions on a payment report the same problem."""
    payment = side.pay(action="sale" if action == "tipadjust" else "authonly")
    tip = {"tip_amount": "0.00"} if action == "tipadjust" else {}
    assert refusal(lambda: side.change(payment, action=action, transaction_amount="0.00", **tip)) == ZERO


@pytest.mark.parametrize("action", ["sale", "authonly", "refund"])
def test_zero_terminal(side: Side, raw_client: RawClient, action: str) -> None:
    """The call does not reach the terminal, whichever side sends it."""
    sale = {"action": action, "payment_method": "cc", "transaction_amount": "0.00"}
    sale |= {"terminal_id": raw_client.info.terminal_id}
    assert refusal(lambda: side.create("routertransactions", sale)) == ZERO


def test_zero_refund(side: Side) -> None:
    """An omitted amount is the rest of the sale, and 0.00 is not. A reversal must leave an amount; a void takes all."""
    sale = side.pay()
    back = {"action": "refund", "previous_transaction_id": sale["id"], "account_number": ..., "exp_date": ...}
    assert refusal(lambda: side.change(sale, action="partialreversal", transaction_amount="0.00")) == {
        "transaction_amount": ["Transaction Amount must be above 0.00 and less than 12.50."]
    }
    assert refusal(lambda: side.pay(transaction_amount="0.00", **back)) == ZERO
    assert side.pay(transaction_amount=..., **back)["transaction_amount"] == "12.50"


ALLOWED_ZERO: list[tuple[str, dict[str, Any], int]] = [
    ("avsonly", {}, 121),
    ("avsonly", {"transaction_amount": ...}, 121),
    ("force", {"auth_code": "ABC123"}, 101),
]
"""The actions that the list of zero amounts omits, and the status of such a payment."""


@pytest.mark.parametrize(("action", "fields", "status"), ALLOWED_ZERO)
def test_allowed_zero(side: Side, action: str, fields: dict[str, Any], status: int) -> None:
    """An address check charges nothing, and `force` is not in the list."""
    made = side.pay(**{"action": action, "transaction_amount": "0.00"} | fields)
    assert (made["status_id"], made["transaction_amount"]) == (status, "0.00")


CHANGES: list[tuple[str, dict[str, str], str, set[str]]] = [
    ("authincrement", {}, "transaction_amount: is required when action is authincrement", {"transaction_amount"}),
    ("partialreversal", {}, "transaction_amount: is required when action is partialreversal", {"transaction_amount"}),
    ("edit", AMOUNT, "transaction_amount: must not be given when action is edit", {"transaction_amount"}),
    ("void", {}, "", set()),
    ("authcomplete", {}, "", set()),
]
"""Action of a PUT, its fields, the problem before it is sent, and what the gateway refuses."""


@pytest.mark.parametrize(("action", "fields", "problem", "names"), CHANGES)
def test_changed_amount(
    raw_client: RawClient, action: Any, fields: dict[str, Any], problem: str, names: set[str]
) -> None:
    """Some changes need an amount, and an edit takes none: the SDK says so before it sends."""
    assert problems(TransactionUpdate(action=action, **fields)) == ([problem] if problem else [])
    path = f"/v2/transactions/{raw_client.sale(action='authonly')['id']}"
    assert {*raw_client.put(path, "transaction", {"action": action} | fields).json().get("errors", ())} == names


def test_payment_amount(raw_client: RawClient) -> None:
    """A payment needs an amount, an address check none; the SDK leaves the amount of a refund to the gateway."""
    card: Any = {"account_number": "4111111111111111", "exp_date": "1230"}
    for action, account in (("sale", card), ("authonly", card), ("debit", ACH), ("credit", ACH), ("force", card)):
        fields: dict[str, Any] = {name: value for name, value in account.items() if value is not ...}
        fields["action"] = action
        fields |= {"auth_code": "987654"} if action == "force" else {}
        (problem,) = problems(TransactionCreate(**fields))
        assert problem.startswith("transaction_amount: "), action
        response = raw_client.post("/v2/transactions", "transaction", fields)
        assert {*response.json()["errors"]} == {"transaction_amount"}, action
        assert problems(TransactionCreate(**fields | AMOUNT)) == [], action
        made = raw_client.made("/v2/transactions", "transaction", **fields | AMOUNT)
        assert (made["auth_code"] == "987654") == (action == "force"), action
    assert problems(TransactionCreate(action="avsonly", **card)) == []
    assert problems(TransactionCreate(action="refund", **card)) == []
    assert problems(TransactionCreate(action="force", **card | AMOUNT)) == [
        "auth_code: is required when action is force"
    ]
    incomplete: list[tuple[dict[str, Any], str]] = [
        (card | {"action": "refund"}, "transaction_amount"),
        (card | AMOUNT | {"action": "force"}, "auth_code"),
    ]
    for fields, name in incomplete:
        response = raw_client.post("/v2/transactions", "transaction", fields)
        assert {*response.json()["errors"]} == {name}, fields


def test_refunded_sale(side: Side) -> None:
    """A void, or a reversal below what was refunded, would give back more than was charged."""
    sale, reversed_ = side.pay(transaction_amount="12.50"), side.pay(transaction_amount="12.50")
    part = {"action": "refund", "transaction_amount": "5.00", "account_number": ..., "exp_date": ...}
    back = side.pay(**part, previous_transaction_id=sale["id"])
    assert refusal(lambda: side.change(sale, action="void")) == {
        "action": ["Action void is not allowed when 5.00 has been refunded."]
    }
    assert side.read(sale, "is_voidable")["is_voidable"] is False
    side.change(back, action="void")
    assert side.read(sale, "is_voidable")["is_voidable"] is True
    assert side.change(sale, action="void")["status_id"] == 201
    side.pay(**part, previous_transaction_id=reversed_["id"])
    reverse = partial(side.change, reversed_, action="partialreversal")
    assert list(refusal(lambda: reverse(transaction_amount="4.99"))) == ["transaction_amount"]
    assert reverse(transaction_amount="5.00")["transaction_amount"] == "5.00"


@pytest.mark.parametrize(("action", "status"), [("void", 201), ("authcomplete", 101)])
def test_a_post_to_a_transaction_is_taken_as_the_put(raw_client: RawClient, action: str, status: int) -> None:
    payment = raw_client.sale(action="authonly")
    response = raw_client.post(f"/v2/transactions/{payment['id']}", "transaction", {"action": action})
    assert (response.status_code, response.json()["transaction"]["status_id"]) == (200, status)


DEBIT_CARDS = {"visa": "4556773060150333", "mc": "5435815271011988"}
PARTS = {"subtotal_amount": "60.00", "tax": "5.00", "surcharge_amount": "1.80"}


@pytest.mark.parametrize("action", ["sale", "authonly"])
def test_credit_card(side: Side, action: str) -> None:
    """The amount is subtotal, tax and surcharge in one transaction."""
    made = side.pay(action=action, transaction_amount="66.80", **PARTS)
    assert (made["transaction_amount"], made["auth_amount"]) == ("66.80", "66.80")
    assert {name: made[name] for name in PARTS} == PARTS


@pytest.mark.parametrize("brand", DEBIT_CARDS)
@pytest.mark.parametrize("source", ["card", "vault"])
def test_debit_card(side: Side, raw_client: RawClient, brand: str, source: str) -> None:
    """The gateway removes the surcharge, and lowers the amount by it."""
    account: dict[str, Any] = {"account_number": DEBIT_CARDS[brand]}
    if source == "vault":
        body = account | {"payment_method": "cc", "exp_date": "1230"}
        vault = raw_client.made("/v2/accountvaults", "accountvault", **body)
        account = {"account_number": ..., "exp_date": ..., "account_vault_id": vault["id"]}
    made = side.pay(transaction_amount="66.80", **PARTS, **account)
    assert (made["status_id"], made["transaction_amount"], made["auth_amount"]) == (101, "65.00", "65.00")
    assert made["surcharge_amount"] == "0.00"


BIN_INFO = {"4556773060150333": ("D", ""), "5435815271011988": ("P", "Y"), "4111111111111111": ("C", "")}


def test_bin_info(sides: dict[str, Any], raw_client: RawClient) -> None:
    """The source of the money shows whether the card was a debit or a prepaid card, of vaults and of transactions."""
    sdk = sides["SDK"]
    for number, (source, prepaid) in BIN_INFO.items():
        body = {"payment_method": "cc", "account_number": number, "exp_date": "1230"}
        vault = raw_client.made("/v2/accountvaults", "accountvault", **body)
        sale = raw_client.sale(account_vault_id=vault["id"], account_number=None, exp_date=None)
        for path in (f"accountvaults/{vault['id']}", f"transactions/{sale['id']}"):
            info = raw_client.http.get(f"/v2/{path}/bininfo").json()["bininfo"]
            assert (info["account_fund_source"], info["prepaid_indicator"]) == (source, prepaid)
            assert info["detail_card_indicator"] == "E" or source == "C"
        assert sdk.portal.call(sdk.gateway.transactions.bin_info, sale["id"]).account_fund_source == source


def test_only_a_completion_of_another_total_needs_its_parts(side: Side) -> None:
    payment, same = (side.pay(action="authonly", transaction_amount="66.80", **PARTS) for _ in range(2))
    assert side.change(same, action="authcomplete", transaction_amount="66.80")["reason_code_id"] == 1001
    change = {"action": "authcomplete", "transaction_amount": "33.40"}
    assert set(refusal(lambda: side.change(payment, **change))) == set(PARTS)
    parts = {"subtotal_amount": "30.00", "tax": "2.50", "surcharge_amount": "0.90"}
    completed = side.change(payment, **change, **parts)
    assert (completed["transaction_amount"], completed["surcharge_amount"]) == ("33.40", "0.90")


def test_surcharge(side: Side, sandbox: Sandbox) -> None:
    """A merchant account with a surcharge requires a subtotal, and the parts must add up to the amount."""
    sandbox.change_product(surcharge=True)
    for subtotal in (..., "0.00"):
        assert refusal(partial(side.pay, transaction_amount="66.80", subtotal_amount=subtotal)) == {
            "subtotal_amount": ["Subtotal amount cannot be empty or 0"]
        }
    assert list(refusal(lambda: side.pay(transaction_amount="66.81", **PARTS))) == ["transaction_amount"]
    sandbox.change_product(surcharge=False)


TEXTS = [
    ({"location_id": "f" * 24}, "location_id", "location_id provided is not valid"),
    ({"product_transaction_id": ""}, "product_transaction_id", "Product Transaction Id cannot be blank."),
    ({"contact_id": "f" * 24}, "contact_id", "contact_id provided is not valid"),
    ({"account_number": ..., "exp_date": ..., "account_vault_id": "f" * 24}, "account_vault_id", None),
]


@pytest.mark.parametrize(("fields", "name", "text"), TEXTS, ids=[name for _, name, _ in TEXTS])
def test_problem_text(side: Side, fields: dict[str, Any], name: str, text: str | None) -> None:
    """The texts of problems are those of the gateway, which clients look for."""
    assert refusal(lambda: side.pay(**fields)) == {name: [text or f"{name} provided is not valid"]}
