"""What pays a paylink: the whole amount on its page, at once. A decline leaves it unpaid.

The page takes all or nothing: where the issuer would approve a part only, the payment is declined.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gateway_async.sandbox.notices.messages import tell_of_paylink
from gateway_async.sandbox.nouns.paylinks import ACTIONS
from gateway_async.sandbox.nouns.payment_pages import charge, decide, find_bill, is_expired
from gateway_async.sandbox.states.paylinks import LIFE, State, Trigger
from gateway_async.sandbox.tables import PAYLINK
from gateway_async.sandbox.tables.kinds import MONEY, show_money

if TYPE_CHECKING:
    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.nouns.payment_pages import Amount
    from gateway_async.sandbox.simulators.cards import Account
    from gateway_async.sandbox.tables.fields import Row

_SOURCE = 16
"""`trx_source_id` of a payment on the page of a paylink."""


async def pay(gateway: Gateway, paylink_id: str, amount: Amount | None, card: Account) -> tuple[Row, Row]:
    """Pay a paylink on its page, and thank the customer when the issuer approves.

    Args:
        gateway: Whose paylink it is.
        paylink_id: Which paylink.
        amount: Two-decimal money, which must be what is due; None for what is due.
        card: What the customer keys.

    Returns:
        The transaction, approved or declined, and the paylink as it is now.

    Raises:
        UnknownRecordError: There is no such paylink.
        ValueError: It takes no such payment.
    """
    paylink = _payable(gateway, paylink_id, amount)
    outcome = decide(paylink["amount_due"], in_part=False)
    if outcome.wait:
        await gateway.clock.sleep(outcome.wait)
        paylink = _payable(gateway, paylink_id, amount)  # others may have paid meanwhile
    values = {"transaction_amount": paylink["amount_due"], "trx_source_id": _SOURCE, "paylink_id": paylink_id}
    values["action"] = ACTIONS[paylink["paylink_action"]]
    with gateway.store.transaction():
        transaction = charge(gateway, paylink, card, outcome, values)
        paylink = _settle(gateway, paylink, Trigger.PAY if outcome.approved else Trigger.DECLINE)
        if outcome.approved:
            tell_of_paylink(gateway, paylink, "paid")
    return transaction, paylink


def _payable(gateway: Gateway, paylink_id: str, amount: Amount | None) -> Row:
    paylink = find_bill(gateway, PAYLINK, paylink_id)
    due = paylink["amount_due"]
    if LIFE.after(State(paylink["status_id"]), Trigger.PAY) is None:
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
    state = LIFE.after(State(paylink["status_id"]), trigger)
    changes = {"status_id": state, "modified_ts": gateway.clock.timestamp()}
    gateway.store.update(PAYLINK, paylink["id"], changes)
    return paylink | changes
