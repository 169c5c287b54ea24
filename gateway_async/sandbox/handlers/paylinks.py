"""Paylinks (contract, "Paylinks"): links to pay one amount, and their payments.

The gateway or the merchant sends the link. The page charges the whole amount at once. A decline leaves the paylink
unpaid. If the issuer would approve only a part, the payment is declined.
"""

from contextlib import suppress

from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import check_products, default_products
from gateway_async.sandbox.handlers.payment_pages import AmountInput, BillState, NotPayableError, PaymentPage
from gateway_async.sandbox.handlers.payments.invoice_balance import is_expired
from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, empty_response
from gateway_async.sandbox.notifications import BY_SMS, notify_about_paylink
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, read_new, respond
from gateway_async.sandbox.request.standard_handlers import make_update
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PAYLINK
from gateway_async.sandbox.schema.codes import DeliveryMethod, TransactionSource
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import MONEY, show_money
from gateway_async.sandbox.state_machines.paylinks import PAYLINK_MACHINE, PaylinkState, PaylinkTrigger

_PAYLINK_ACTIONS = {"sale": "sale", "auth-only": "authonly", "authonly": "authonly"}
"""The values of `paylink_action`, and the action of the transaction that each leads to."""


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/paylinks; the customer is notified at once, by `delivery_method`."""
    values, problems = await read_new(context, PAYLINK)
    values = default_products(context.gateway, context.user) | values
    _check(context, {}, values, problems)
    if values.get("amount_due") == 0:
        problems.add("amount_due", "Amount Due must be greater than 0.00.")
    problems.raise_if_any()
    with context.gateway.store.transaction():
        row = context.gateway.create(PAYLINK, context.user, values)
        notify_about_paylink(context.gateway, row, "created")
    return respond(context, PAYLINK, row, 201)


async def resend(context: RequestContext) -> Response:
    """Handle POST /v2/paylinks/{id}/resend: 204, even without an address to send to."""
    notify_about_paylink(context.gateway, find_record(context, PAYLINK), "resend")
    return empty_response()


def _check(context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    paylink = row | values
    check_products(context.gateway, paylink, problems)
    method, action = paylink.get("delivery_method", 0), paylink.get("paylink_action", "sale")
    problems.check(method in {*DeliveryMethod}, "delivery_method", "Delivery Method must be 0, 1, 2 or 3.")
    sentence = f"Paylink Action must be one of {', '.join(_PAYLINK_ACTIONS)}."
    problems.check(action in _PAYLINK_ACTIONS, "paylink_action", sentence)
    has_phone = method not in BY_SMS or bool(paylink.get("cell_phone"))
    problems.check(has_phone, "cell_phone", "Cell Phone cannot be blank when Delivery Method is 2 or 3.")


def _check_change(context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    if PAYLINK_MACHINE.next_state(PaylinkState(row["status_id"]), PaylinkTrigger.CHANGE) is None:
        raise RefusedFieldsError({"status_id": ["The paylink is closed."]})
    _check(context, row, values, problems)


def _check_payment(gateway: Gateway, paylink: Row, amount: AmountInput | None) -> int:
    due: int = paylink["amount_due"]
    if PAYLINK_MACHINE.next_state(PaylinkState(paylink["status_id"]), PaylinkTrigger.PAY) is None:
        raise NotPayableError(PAYLINK, paylink["id"], "is closed.")
    if is_expired(gateway, paylink):
        raise NotPayableError(PAYLINK, paylink["id"], "has expired.")
    if amount is not None and not _is_amount(amount, due):
        raise ValueError(f"amount: must be {show_money(due)}.")
    return due


def _is_amount(amount: AmountInput, cents: int) -> bool:
    with suppress(ValueError):
        return MONEY.read(amount) == cents
    return False


def _find_state(gateway: Gateway, paylink: Row) -> BillState:
    if paylink["status_id"] == PaylinkState.PAID:
        return BillState.PAID
    return BillState.EXPIRED if is_expired(gateway, paylink) else BillState.OPEN


def _find_limits(paylink: Row) -> tuple[int, int]:
    return paylink["amount_due"], paylink["amount_due"]


def _describe_payment(paylink: Row) -> Row:
    action = _PAYLINK_ACTIONS[paylink["paylink_action"]]
    return {"action": action, "trx_source_id": TransactionSource.PAYLINK, "paylink_id": paylink["id"]}


def _update_after_payment(gateway: Gateway, paylink: Row, approved: bool) -> Row:
    state = PAYLINK_MACHINE.next_state(
        PaylinkState(paylink["status_id"]), PaylinkTrigger.PAY if approved else PaylinkTrigger.DECLINE
    )
    paylink = gateway.change(PAYLINK, paylink, {"status_id": state})
    if approved:
        notify_about_paylink(gateway, paylink, "paid")
    return paylink


PAYLINK_PAGE = PaymentPage(PAYLINK, _check_payment, _find_state, _find_limits, _describe_payment, _update_after_payment)
"""The page charges the whole amount at once."""

update = make_update(PAYLINK, _check_change)
