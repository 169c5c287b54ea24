"""The number codes of the contract that are not states of a record, and the texts of reasons.

The codes of states are in `state_machines/`. The titles of other codes are in the data files, as `Table.codes`.
"""

from enum import IntEnum
from pathlib import Path


class TransactionType(IntEnum):
    """`type_id` of a transaction."""

    SALE = 20
    ADDRESS_CHECK = 21
    REFUND = 30
    BANK_CREDIT = 40
    BANK_DEBIT = 50


REFUNDING_TYPES = frozenset({TransactionType.REFUND, TransactionType.BANK_CREDIT})
"""The types that give money back."""


class TransactionSource(IntEnum):
    """`trx_source_id` of a transaction: where it was made."""

    QUICK_INVOICE = 8
    API = 12
    RECURRING = 13
    PAYLINK = 16


class ReasonCode(IntEnum):
    """`reason_code_id` of a transaction; other codes belong to single trigger amounts."""

    APPROVED = 1000
    AUTH_COMPLETED = 1001
    VOIDED = 1200
    PARTIALLY_APPROVED = 1201
    DENIED = 1500
    COMMUNICATION_ERROR = 1531
    BAD_PIN = 1610
    REVERSED_FOR_AVS = 1655
    REVERSED_FOR_CVV = 1656
    REVERSED_FOR_PARTIAL_APPROVAL = 1657
    MANAGER_NEEDED = 1663


_REASONS_FILE = Path(__file__).parents[2] / "models" / "reasons.txt"
REASONS = {
    int(code): text
    for code, _, text in (line.partition(" ") for line in _REASONS_FILE.read_text(encoding="utf-8").splitlines())
}
"""The texts of `reason_code_id`, from the file that the client reads as well."""


class InvoiceStatus(IntEnum):
    """`status_id` of a quick invoice; responses show a closed invoice as 0."""

    CLOSED = 0
    OPEN = 1
    CLOSED_ALIAS = 2


class PaymentStatus(IntEnum):
    """`payment_status_id` of a quick invoice."""

    UNPAID = 1
    PAID = 2
    PARTIALLY_PAID = 3


class DeliveryMethod(IntEnum):
    """`delivery_method` of a paylink."""

    NONE = 0
    EMAIL = 1
    SMS = 2
    EMAIL_AND_SMS = 3
