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
from tests.support.scripted_transport import LOST, NOT_THERE, Case, Script, Verb, absent, case, echo, record

pytestmark = pytest.mark.anyio


def payment(**fields: Any) -> httpx.Response:
    known = {"transaction_amount": "12.50", "payment_method": "cc", "location_id": "its", "status_id": 134}
    return record("transaction", **{**known, "product_transaction_id": "product", **fields})


DEBIT = payment(payment_method="ach", type_id=50)


PARTIAL = payment(reason_code_id=1201, status_id=101, auth_amount="7.00")
OLD, TIPPED = payment(tip_amount="0.00"), payment(transaction_amount="15.50", tip_amount="3.00")
OTHERS = payment(type_id=30, transaction_api_id="back", previous_transaction_id="another")
ORDER = ApiId("order-1", "its")


def refund(*arguments: Any, **options: Any) -> Verb[Any]:
    return lambda gateway: gateway.transactions.refund(*arguments, **options)


class Dollars(Decimal):
    """An amount that is shown with its currency."""

    def __str__(self) -> str:
        return f"${self:f}"


def tip(*arguments: Any) -> Verb[Any]:
    return lambda gateway: gateway.transactions.tip_adjust(*arguments)


CASES = [
    case("of a partial approval the approved part is returned", refund("found"),
         {"transaction_amount": Decimal("7.00")}, "GET POST", get=[PARTIAL], post=[echo("transaction")]),
    *(
        case(f"a bank rejects {part} of a debit days later; the error names what returns a part", refund("found", part),
             (InvalidRequestError, "credit"), "GET", get=[DEBIT])
        for part in ("5.00", Dollars("5.00"))
    ),
    case("a payment that shows no amount needs one", refund("found"), (InvalidRequestError, "amount"), "GET",
         get=[payment(transaction_amount=None)]),
    case("the gateway's refusal of the read is the error", refund("found"), NotFoundError, "GET", get=[NOT_THERE]),
    *(
        case(f"a {name} may be tried again after a read without a response", verb("found", 2),
             (NotSentError, "could not be"), "GET", get=[LOST])
        for name, verb in (("refund", refund), ("tip", tip))
    ),
    *(
        case(f"a {name} changes no payment that does not show the integrator id", verb(ORDER, 3),
             (NotSentError, "does not show the id"), "GET", get=[payment(transaction_api_id=None)])
        for name, verb in (("refund", refund), ("tip", tip))
    ),
    case("a late response to the read has the type of a sale", refund("found"),
         (MismatchedWriteError, "type_id is 20"), "GET POST GET",
         get=[payment(type_id=20), absent], post=[payment(type_id=20)]),
    case("a refund of another payment under the same id is another one", refund("found", transaction_api_id="back"),
         (MismatchedWriteError, "previous_transaction_id is 'another', not 'found'"), "GET POST GET",
         get=[payment(), OTHERS], post=[LOST]),
    case("the amount of a partial approval is the requested one", tip("found", 3), (InvalidRequestError, "new_total"),
         "GET", get=[PARTIAL]),
    case("a late response to the read shows the old tip", tip("found", 3), {"tip_amount": Decimal("3.00")},
         "GET PUT GET", get=[OLD, TIPPED], put=[OLD]),
    case("a record with the old tip shows no effect", tip("found", 3),
         (MismatchedWriteError, "effect of the call: transaction_amount is '12.50', tip_amount is '0.00'"),
         "GET PUT GET", get=[OLD], put=[OLD]),
    case("a lost tip is known by its record", tip("found", "3.00", "15.50"), {"tip_amount": Decimal("3.00")},
         "PUT GET", put=[LOST], get=[TIPPED]),
    case("a lost tip whose record cannot be read is unknown", tip("found", 3, "15.50"), OutcomeUnknownError,
         "PUT GET", put=[LOST], get=[LOST]),
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
async def test_requests_and_outcomes_of_refunds(call: Case) -> None:
    await call.check()


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


@pytest.mark.parametrize("amount", [5.0, "abc", -1])
@pytest.mark.parametrize("verb", ["refund", "tip_adjust"])
async def test_a_wrong_amount_is_reported_before_anything_is_read(verb: str, amount: Any) -> None:
    script = Script()
    await script.fail(lambda gateway: getattr(gateway.transactions, verb)("found", amount), InvalidRequestError)
    assert script.methods == []


async def test_lost_refund() -> None:
    """A second attempt follows a lookup and has the same id."""
    script = Script(get=[payment(), absent], post=[LOST, echo("transaction")])
    await script.run(lambda gateway: gateway.transactions.refund("found"))
    first, second = (body["transaction"]["transaction_api_id"] for body in script.bodies("POST"))
    assert first == second
    assert "GET" in script.methods[2:-1]


async def test_tip() -> None:
    """The total is sent too, because the gateway documents it as required."""
    script = Script(get=[payment(tip_amount="2.50")], put=[payment(transaction_amount="13.00", tip_amount="3.00")])
    await script.run(lambda gateway: gateway.transactions.tip_adjust("found", 3))
    content = script.bodies("PUT")[0]["transaction"]
    assert content == {"action": "tipadjust", "tip_amount": "3.00", "transaction_amount": "13.00"}


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
