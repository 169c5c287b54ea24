"""Payments of paylinks: the page charges the whole amount at once.

A decline leaves the paylink unpaid. If the issuer would approve only a part, the payment is declined.
"""

from contextlib import suppress

from gateway_async.sandbox.handlers.paylinks import ACTIONS
from gateway_async.sandbox.handlers.payment_pages import Amount, charge, decide, find_payable, is_expired
from gateway_async.sandbox.notifications.messages import notify_about_paylink
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PAYLINK
from gateway_async.sandbox.schema.codes import TransactionSource
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import MONEY, show_money
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.state_machines.paylinks import MACHINE, State, Trigger


async def pay(gateway: Gateway, paylink_id: str, amount: Amount | None, card: Account) -> tuple[Row, Row]:
    """Pay a paylink on its page.

    The customer is notified if the payment is approved.

    Args:
        gateway: The gateway that has the paylink.
        paylink_id: The id of the paylink.
        amount: Two-decimal money, which must equal the amount due; None pays the amount due.
        card: The card that the customer enters.

    Returns:
        The transaction, approved or declined, and the updated paylink.

    Raises:
        UnknownRecordError: The paylink is unknown.
        ValueError: The paylink does not accept the payment.
    """
    paylink = _payable(gateway, paylink_id, amount)
    outcome = decide(paylink["amount_due"], allow_partial=False)
    if outcome.wait:
        await gateway.clock.sleep(outcome.wait)
        paylink = _payable(gateway, paylink_id, amount)  # another payment may have arrived in the meantime
    values = {
        "transaction_amount": paylink["amount_due"],
        "trx_source_id": TransactionSource.PAYLINK,
        "paylink_id": paylink_id,
    }
    values["action"] = ACTIONS[paylink["paylink_action"]]
    with gateway.store.transaction():
        transaction = charge(gateway, paylink, card, outcome, values)
        paylink = _settle(gateway, paylink, Trigger.PAY if outcome.approved else Trigger.DECLINE)
        if outcome.approved:
            notify_about_paylink(gateway, paylink, "paid")
    return transaction, paylink


def _payable(gateway: Gateway, paylink_id: str, amount: Amount | None) -> Row:
    paylink = find_payable(gateway, PAYLINK, paylink_id)
    due = paylink["amount_due"]
    if MACHINE.next_state(State(paylink["status_id"]), Trigger.PAY) is None:
        raise ValueError(f"paylink {paylink_id}: it is closed.")
    if is_expired(gateway, paylink):
        raise ValueError(f"paylink {paylink_id}: it has expired.")
    if paylink["cc_product_transaction_id"] is None:
        raise ValueError(f"paylink {paylink_id}: it takes no cards.")
    if amount is not None and not _is_amount(amount, due):
        raise ValueError(f"amount: must be {show_money(due)}.")
    return paylink


def _is_amount(amount: Amount, cents: int) -> bool:
    with suppress(ValueError):
        return MONEY.read(amount) == cents
    return False


def _settle(gateway: Gateway, paylink: Row, trigger: Trigger) -> Row:
    state = MACHINE.next_state(State(paylink["status_id"]), trigger)
    changes = {"status_id": state, "modified_ts": gateway.clock.timestamp()}
    gateway.store.update(PAYLINK, paylink["id"], changes)
    return paylink | changes
