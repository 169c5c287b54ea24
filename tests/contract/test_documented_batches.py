"""The documented amounts that make a batch fail, row by row, through raw HTTP and through the SDK."""

import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.vendor_tables import read_table

from .sides import Side

INVALID, MISSING = "is invalid", "is missing"
SUPPORT = range(7)
FIELDS = {
    "90200": (11,),
    "90300": (*SUPPORT, 7, 12, 15, 16, 17, 18, 21, 22, 23),
    "90501": (1, 55, 57, 58, 61, 62, 63, 64),
    "90503": (*range(6, 22), 25),
    "90504": (1, *range(4, 63), 64, 66, 71, 72, *range(74, 87), 91, 92, 93, 96, 99),
    "90505": (5, 6, 7, 8),
    "90511": range(4, 28),
    "90512": (1,),
    "90516": range(4, 12),
    "90520": range(4, 12),
    "90524": (6, 7, 8, 9, 11),
    "90999": (99,),
    "91600": (20, 21),
    "91999": (99,),
    "92199": (99,),
}
"""The fields of each error type and record type, `9TTRR`."""

AMOUNTS = [f"{types}.{field:02}" for types, fields in FIELDS.items() for field in fields]

MESSAGES = {
    "90200.11": "Blocked terminal",
    "90300.03": "Contact support",
    "90501.63": f"Room rate {INVALID}",
    "90503.06": f"Transaction type {INVALID}",
    "90503.12": f"Cryptogram {MISSING}",
    "90503.25": f"Device serial number {INVALID}",
    "90504.15": f"Approval code {INVALID}",
    "90504.46": f"Ticket number {INVALID}",
    "90505.05": "Terminal is not authenticated",
    "90511.17": f"Batch number {INVALID}",
    "90512.01": f"Routing id {INVALID}",
    "90516.09": f"Merchant name {INVALID}",
    "90520.11": f"Net deposit {INVALID}",
    "90524.08": f"Tax rate {INVALID}",
    "90999.99": "Input or output error",
    "92199.99": "Unknown error",
}


def test_the_table_has_179_amounts_with_messages() -> None:
    table = dict(read_table("batch_errors"))
    assert [*table] == sorted(AMOUNTS)
    assert len(table) == 179
    assert {amount: table[amount] for amount in MESSAGES} == MESSAGES


@pytest.mark.parametrize("amount", ["90200.11", "90300.03", "90503.12", "90504.99", "92199.99"])
def test_failing_amounts(side: Side, amount: str) -> None:
    """With the amount in the last payment, the first settlement has status 3 and a message, the second succeeds."""
    batch_id = side.pay(transaction_amount=amount)["transaction_batch_id"]
    failed = side.settle(batch_id)
    assert (failed["processing_status_id"], bool(failed["is_open"])) == (3, True)
    assert failed["status_message"] == MESSAGES.get(amount, failed["status_message"])
    assert failed["status_message"]
    settled = side.settle(batch_id)
    assert (settled["processing_status_id"], settled["status_message"]) == (2, None)


def test_undocumented_amounts_settle_at_once(side: Side) -> None:
    for amount in ["90200.12", "90100.11", "90504.63", "92200.00", "99999.99"]:
        batch_id = side.pay(transaction_amount=amount)["transaction_batch_id"]
        assert side.settle(batch_id)["processing_status_id"] == 2, amount


def test_last_payment(side: Side, sandbox: Sandbox) -> None:
    """A later payment with another amount lets the batch settle, also at midnight."""
    for last, status in (("12.50", 2), ("90504.15", 3)):
        side.pay(transaction_amount="90200.11" if status == 2 else "12.50")
        batch_id = side.pay(transaction_amount=last)["transaction_batch_id"]
        assert side.settle(batch_id)["processing_status_id"] == status
        sandbox.advance(24 * 60 * 60)
