"""Refunds, tips and edits: what is read before, what is sent, and what happens when a response is lost."""

from decimal import Decimal
from typing import Any

import httpx
import pytest

from gateway_async import (
    ApiId,
    InvalidRequestError,
    MismatchedWriteError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
)

from .scripted_transport import LOST, NOT_THERE, Script, absent, echo, record

pytestmark = pytest.mark.anyio


def payment(**fields: Any) -> httpx.Response:
    known = {"transaction_amount": "12.50", "payment_method": "cc", "location_id": "its", "status_id": 134}
    return record("transaction", **{**known, "product_transaction_id": "product", **fields})


DEBIT = payment(payment_method="ach", type_id=50)


async def test_full_refund() -> None:
    """The payment is read, and the refund names it, its location and its product, under an id of its own."""
    script = Script(get=[payment(transaction_api_id="order-1")], post=[echo("transaction")])
    refund = await script.run(lambda gateway: gateway.transactions.refund(ApiId("order-1", "its")))
    (sent,) = script.bodies("POST")
    content = sent["transaction"]
    assert script.asked[0].url.path == "/v2/transactions/order-1"
    assert content.pop("transaction_api_id") == refund.transaction_api_id
    assert content == {
        "action": "refund",
        "payment_method": "cc",
        "transaction_amount": "12.50",
        "previous_transaction_id": "found",
        "location_id": "its",
        "product_transaction_id": "product",
    }


async def test_an_amount_and_an_id_that_are_given_are_sent_as_they_are() -> None:
    script = Script(get=[payment()], post=[echo("transaction")])
    await script.run(lambda gateway: gateway.transactions.refund("found", "5.00", transaction_api_id="back-1"))
    content = script.bodies("POST")[0]["transaction"]
    assert (content["transaction_amount"], content["transaction_api_id"]) == ("5.00", "back-1")


async def test_partial_approval() -> None:
    """The approved part is returned, not the requested amount."""
    partial = payment(reason_code_id=1201, status_id=101, auth_amount="7.00")
    script = Script(get=[partial], post=[echo("transaction")])
    await script.run(lambda gateway: gateway.transactions.refund("found"))
    assert script.bodies("POST")[0]["transaction"]["transaction_amount"] == "7.00"


async def test_float_amount() -> None:
    """A gateway that computes with floats shows 19.989999999999998 for 19.99: refunds and tips are whole cents."""
    paid = payment(transaction_amount="19.989999999999998", tip_amount=0.9900000000000002)
    script = Script(get=[paid], post=[echo("transaction")], put=[echo("transaction", id="found")])
    refund = await script.run(lambda gateway: gateway.transactions.refund("found"))
    tipped = await script.run(lambda gateway: gateway.transactions.tip_adjust("found", "2.00"))
    assert script.bodies("POST")[0]["transaction"]["transaction_amount"] == "19.99"
    assert script.bodies("PUT")[0]["transaction"]["transaction_amount"] == "21.00"
    assert (refund.transaction_amount, tipped.transaction_amount) == (Decimal("19.99"), Decimal("21.00"))


async def test_ach_debit() -> None:
    """The SEC code is WEB, and the payment method that of the payment."""
    script = Script(get=[DEBIT], post=[echo("transaction")])
    await script.run(lambda gateway: gateway.transactions.refund("found", "12.50"))
    content = script.bodies("POST")[0]["transaction"]
    assert (content["payment_method"], content["ach_sec_code"]) == ("ach", "WEB")


async def test_ach_part() -> None:
    """The bank would reject it days later; the error names the action that returns a part."""
    script = Script(get=[DEBIT], post=[echo("transaction")])
    await script.fail(lambda gateway: gateway.transactions.refund("found", "5.00"), InvalidRequestError, match="credit")
    assert script.methods == ["GET"]


@pytest.mark.parametrize("amount", [5.0, "abc", -1])
@pytest.mark.parametrize("verb", ["refund", "tip_adjust"])
async def test_a_wrong_amount_is_reported_before_anything_is_read(verb: str, amount: Any) -> None:
    script = Script()
    await script.fail(lambda gateway: getattr(gateway.transactions, verb)("found", amount), InvalidRequestError)
    assert script.methods == []


async def test_a_payment_that_shows_no_amount_needs_one() -> None:
    script = Script(get=[payment(transaction_amount=None)], post=[echo("transaction")])
    await script.fail(lambda gateway: gateway.transactions.refund("found"), InvalidRequestError, match="amount")
    assert script.methods == ["GET"]


async def test_the_gateways_refusal_of_the_read_is_the_error() -> None:
    script = Script(get=[NOT_THERE])
    await script.fail(lambda gateway: gateway.transactions.refund("found"), NotFoundError)
    assert script.methods == ["GET"]


@pytest.mark.parametrize("verb", ["refund", "tip_adjust"])
async def test_unreadable_payment(verb: str) -> None:
    """A read without a response becomes NotSentError, so that the caller may try again."""
    script = Script(get=[LOST])
    await script.fail(
        lambda gateway: getattr(gateway.transactions, verb)("found", 2), NotSentError, match="could not be"
    )
    assert set(script.methods) == {"GET"}


async def test_lost_refund() -> None:
    """A second attempt follows a lookup and has the same id."""
    script = Script(get=[payment(), absent], post=[LOST, echo("transaction")])
    await script.run(lambda gateway: gateway.transactions.refund("found"))
    first, second = (body["transaction"]["transaction_api_id"] for body in script.bodies("POST"))
    assert first == second
    assert "GET" in script.methods[2:-1]


async def test_late_response() -> None:
    """A late response to the read has the right amount, and the type of a sale; the refund is looked up."""
    script = Script(get=[payment(type_id=20), absent], post=[payment(type_id=20)])
    await script.fail(lambda gateway: gateway.transactions.refund("found"), MismatchedWriteError, match="type_id is 20")


@pytest.mark.parametrize("verb", ["refund", "tip_adjust"])
async def test_hidden_integrator_id(verb: str) -> None:
    """A late response to another read has the same location; another customer's payment is not changed."""
    script = Script(get=[payment(transaction_api_id=None)])
    order = ApiId("order-1", "its")
    await script.fail(
        lambda gateway: getattr(gateway.transactions, verb)(order, 3), NotSentError, match="does not show the id"
    )
    assert script.methods == ["GET"]


async def test_a_refund_of_another_payment_under_the_same_id_is_not_the_result() -> None:
    other = payment(type_id=30, transaction_api_id="back", previous_transaction_id="another")
    script = Script(get=[payment(), other], post=[LOST])
    await script.fail(
        lambda gateway: gateway.transactions.refund("found", transaction_api_id="back"),
        MismatchedWriteError,
        match="previous_transaction_id is 'another', not 'found'",
    )


async def test_tip() -> None:
    """The total is sent too, because the gateway documents it as required."""
    script = Script(get=[payment(tip_amount="2.50")], put=[payment(transaction_amount="13.00", tip_amount="3.00")])
    await script.run(lambda gateway: gateway.transactions.tip_adjust("found", 3))
    content = script.bodies("PUT")[0]["transaction"]
    assert content == {"action": "tipadjust", "tip_amount": "3.00", "transaction_amount": "13.00"}


async def test_approved_tip() -> None:
    """Its amount is the requested one, more than what was approved."""
    partial = payment(reason_code_id=1201, status_id=101, auth_amount="7.00")
    script = Script(get=[partial], put=[payment()])
    await script.fail(
        lambda gateway: gateway.transactions.tip_adjust("found", 3), InvalidRequestError, match="new_total"
    )
    assert script.methods == ["GET"]


async def test_old_tip() -> None:
    """A late response to the read shows it, so the record is read again."""
    tipped = payment(transaction_amount="15.50", tip_amount="3.00")
    old = payment(tip_amount="0.00")
    script = Script(get=[old, tipped], put=[old])
    assert str((await script.run(lambda gateway: gateway.transactions.tip_adjust("found", 3))).tip_amount) == "3.00"
    script = Script(get=[old], put=[old])
    match = "shows no effect of the call: transaction_amount is '12.50', tip_amount is '0.00'"
    await script.fail(lambda gateway: gateway.transactions.tip_adjust("found", 3), MismatchedWriteError, match=match)


async def test_a_given_total_needs_no_read() -> None:
    script = Script(put=[payment(transaction_amount="15.50", tip_amount="3.00")])
    await script.run(lambda gateway: gateway.transactions.tip_adjust("found", "3.00", "15.50"))
    assert script.bodies("PUT")[0]["transaction"]["transaction_amount"] == "15.50"
    assert script.methods == ["PUT"]


async def test_omitted_fields() -> None:
    """An omitted field is not sent, and None is sent as null."""
    script = Script(put=[payment(description="Tea", contact_id=None)])
    await script.run(lambda gateway: gateway.transactions.edit("found", description="Tea", contact_id=None))
    assert script.bodies("PUT") == [{"transaction": {"action": "edit", "contact_id": None, "description": "Tea"}}]


async def test_lost_tip() -> None:
    """The record with the tip is the result; one that cannot be read leaves the outcome unknown."""
    tipped = payment(transaction_amount="15.50", tip_amount="3.00")
    script = Script(put=[LOST], get=[tipped])
    result = await script.run(lambda gateway: gateway.transactions.tip_adjust("found", "3.00", "15.50"))
    assert str(result.tip_amount) == "3.00"
    lost = Script(put=[LOST], get=[LOST])
    await lost.fail(lambda gateway: gateway.transactions.tip_adjust("found", 3, "15.50"), OutcomeUnknownError)
