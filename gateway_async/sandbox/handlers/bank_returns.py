"""Bank payments that the bank returns or corrects, days after they were accepted."""

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.bank_codes import BANK_CODES
from gateway_async.sandbox.state_machines import transactions as states

__all__ = ["return_payment"]


def return_payment(gateway: Gateway, payment: Row, code: str) -> Row:
    """Return or correct a bank payment by the code of a bank.

    The result is the changed payment.

    Raises:
        ValueError: The code is unknown, or the bank does not have the payment.
    """
    reason = BANK_CODES.get(code)
    if reason is None:
        raise ValueError(f"code: {code[:10]!r} is not a code of a bank (expected R01, C01, X01, …).")
    state = states.next_state(states.TransactionTrigger.RETURN, payment) if payment["payment_method"] == "ach" else None
    if state is None:
        raise ValueError(f"transaction {payment['id']}: it is not with a bank (status_id {payment['status_id']}).")
    changes: Row = {
        "reason_code_id": reason.reason_code,
        "verbiage": reason.verbiage,
        "modified_ts": gateway.clock.timestamp(),
    }
    if reason.takes_back:
        changes |= {"status_id": state, "return_date": f"{gateway.clock.date():%Y-%m-%d}"}
    gateway.store.update(TRANSACTION, payment["id"], changes)
    return payment | changes
