"""Which actions need an amount, and which refuse one: the SDK before it sends, and the sandbox by name."""

from typing import Any

import pytest

from gateway_async import TransactionCreate, TransactionUpdate
from gateway_async._wire.validation import problems

from .raw_client import BANK_ACCOUNT, VISA, RawClient

CARD: dict[str, Any] = {"account_number": VISA, "exp_date": "1230"}
ACH: dict[str, Any] = BANK_ACCOUNT | {"payment_method": "ach", "ach_sec_code": "WEB"}
NEEDED: dict[str, dict[str, Any]] = {
    "sale": CARD,
    "authonly": CARD,
    "force": CARD | {"auth_code": "123456"},
    "debit": ACH,
    "credit": ACH,
}
"""Action of a POST that needs an amount → the other fields that it needs."""
NEEDED_BY_CHANGES = ("authincrement", "partialreversal")
WITHOUT = ("void", "authcomplete")
"""Actions of a PUT whose amount is optional."""


def hold(raw_client: RawClient) -> str:
    """Return the path of an authorization."""
    return f"/v2/transactions/{raw_client.sale(action='authonly')['id']}"


def errors(response: Any) -> set[str]:
    """Return the fields that a refusal names."""
    assert response.status_code == 422, response.text
    return set(response.json()["errors"])


@pytest.mark.parametrize("action", NEEDED)
def test_payments(raw_client: RawClient, action: str) -> None:
    """Neither a missing amount nor 0.00 is a payment; the gateway's list of zero amounts omits `force`."""
    body: dict[str, Any] = NEEDED[action] | {"action": action}
    assert [problem.partition(":")[0] for problem in problems(TransactionCreate(**body))] == ["transaction_amount"]
    assert problems(TransactionCreate(**body, transaction_amount="1.00")) == []
    for amount in ({}, {"transaction_amount": "0.00"})[: 1 if action == "force" else 2]:
        assert errors(raw_client.post("/v2/transactions", "transaction", body | amount)) == {"transaction_amount"}
    response = raw_client.post("/v2/transactions", "transaction", body | {"transaction_amount": "1.00"})
    assert response.status_code == 201, response.text


def test_an_address_check_needs_no_amount(raw_client: RawClient) -> None:
    assert problems(TransactionCreate(action="avsonly", **CARD)) == []
    assert raw_client.post("/v2/transactions", "transaction", CARD | {"action": "avsonly"}).status_code == 201


def test_free_refund(raw_client: RawClient) -> None:
    """The SDK leaves the amount to the gateway, because the refund of a sale may go without."""
    assert problems(TransactionCreate(action="refund", **CARD)) == []
    assert errors(raw_client.post("/v2/transactions", "transaction", CARD | {"action": "refund"})) == {
        "transaction_amount"
    }


@pytest.mark.parametrize("action", NEEDED_BY_CHANGES)
def test_a_change_of_the_amount_needs_an_amount(raw_client: RawClient, action: str) -> None:
    (problem,) = problems(TransactionUpdate(action=action))  # type: ignore[arg-type]  # one of the documented actions
    assert problem == f"transaction_amount: is required when action is {action}"
    assert errors(raw_client.put(hold(raw_client), "transaction", {"action": action})) == {"transaction_amount"}


@pytest.mark.parametrize("action", WITHOUT)
def test_a_void_and_a_capture_need_no_amount(raw_client: RawClient, action: str) -> None:
    assert problems(TransactionUpdate(action=action)) == []  # type: ignore[arg-type]  # one of the documented actions
    assert raw_client.put(hold(raw_client), "transaction", {"action": action}).status_code == 200


def test_an_edit_takes_no_amount(raw_client: RawClient) -> None:
    changes = {"action": "edit", "transaction_amount": "1.00"}
    (problem,) = problems(TransactionUpdate(action="edit", transaction_amount="1.00"))
    assert problem == "transaction_amount: must not be given when action is edit"
    assert errors(raw_client.put(hold(raw_client), "transaction", changes)) == {"transaction_amount"}


def test_only_a_forced_sale_needs_an_approval_code(raw_client: RawClient) -> None:
    body: dict[str, Any] = CARD | {"action": "force", "transaction_amount": "1.00"}
    assert problems(TransactionCreate(**body)) == ["auth_code: is required when action is force"]
    assert errors(raw_client.post("/v2/transactions", "transaction", body)) == {"auth_code"}
    forced = raw_client.sale(action="force", auth_code="987654")
    assert (forced["auth_code"], raw_client.sale(auth_code="987654")["auth_code"] != "987654") == ("987654", True)
