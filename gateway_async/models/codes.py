"""Open enums: the gateway's codes, which also accept codes that this version does not know.

A gateway adds codes between releases, and an SDK that fails on a new code loses payments. Every code therefore equals
its raw value (`status_id == 101` is true, `{101: ...}[status_id]` works). A known code has a name; for an unknown one
`.known` is False.
"""

import enum
from typing import Any, Final, Self

__all__ = [
    "AccountType",
    "AchSecCode",
    "BatchStatus",
    "DeliveryMethod",
    "EntryMode",
    "OpenInt",
    "OpenStr",
    "PaylinkAction",
    "PaylinkStatus",
    "PaymentMethod",
    "PaymentStatus",
    "PostbackResource",
    "PostbackType",
    "QuickInvoiceStatus",
    "ReasonCode",
    "TransactionAction",
    "TransactionSource",
    "TransactionStatus",
    "TransactionType",
]


class _OpenCode(enum.Enum):
    """A code that may be unknown to this version."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        kind: Any = int if issubclass(cls, int) else str
        if not isinstance(value, kind) or isinstance(value, bool):
            return None
        code: Self = kind.__new__(cls, value)
        code._name_ = f"UNKNOWN_{value}"
        code._value_ = kind(value)
        return code

    @property
    def known(self) -> bool:
        """Whether this version of the package has a name for the code."""
        return self._name_ in type(self).__members__


class OpenInt(_OpenCode, enum.IntEnum):
    """An integer code that may be unknown to this version."""


class OpenStr(_OpenCode, enum.StrEnum):
    """A text code that may be unknown to this version."""


class PaymentMethod(OpenStr):
    """`payment_method`."""

    CARD = "cc"
    ACH = "ach"


class AccountType(OpenStr):
    """`account_type`: the card's brand, or the kind of bank account."""

    VISA = "visa"
    MASTERCARD = "mc"
    DISCOVER = "disc"
    AMEX = "amex"
    JCB = "jcb"
    DINERS = "diners"
    DEBIT = "debit"
    CHECKING = "checking"
    SAVINGS = "savings"


class AchSecCode(OpenStr):
    """`ach_sec_code`: how the account holder agreed to an ACH payment."""

    WEB = "WEB"
    PPD = "PPD"
    CCD = "CCD"
    TEL = "TEL"
    POP = "POP"
    C21 = "C21"


class TransactionAction(OpenStr):
    """`action`: what a transaction does. The first seven use POST, the next six PUT on an id, the last a terminal."""

    SALE = "sale"
    AUTH_ONLY = "authonly"
    AVS_ONLY = "avsonly"
    FORCE = "force"
    REFUND = "refund"
    DEBIT = "debit"
    CREDIT = "credit"
    VOID = "void"
    AUTH_COMPLETE = "authcomplete"
    AUTH_INCREMENT = "authincrement"
    PARTIAL_REVERSAL = "partialreversal"
    TIP_ADJUST = "tipadjust"
    EDIT = "edit"
    SETTLE = "settle"


class TransactionStatus(OpenInt):
    """`status_id` of a transaction."""

    APPROVED = 101
    AUTH_ONLY = 102
    REFUNDED = 111
    AVS_ONLY = 121
    PENDING_ORIGINATION = 131
    ORIGINATING = 132
    ORIGINATED = 133
    SETTLED = 134
    RESERVED = 135
    REJECTED = 136
    SETTLE = 191
    VOIDED = 201
    DECLINED = 301
    CHARGED_BACK = 331

    @property
    def is_approved(self) -> bool:
        """Whether the payment was approved; a bank payment is approved once it is accepted."""
        return self in _APPROVED


_APPROVED: Final = frozenset(
    {
        TransactionStatus.APPROVED,
        TransactionStatus.AUTH_ONLY,
        TransactionStatus.REFUNDED,
        TransactionStatus.AVS_ONLY,
        TransactionStatus.PENDING_ORIGINATION,
        TransactionStatus.ORIGINATING,
        TransactionStatus.ORIGINATED,
        TransactionStatus.SETTLED,
    }
)


class TransactionType(OpenInt):
    """`type_id` of a transaction."""

    SALE = 20
    AVS_ONLY = 21
    SETTLE = 22
    REFUND = 30
    CREDIT = 40
    DEBIT = 50


class TransactionSource(OpenInt):
    """`trx_source_id`: the channel a transaction came through."""

    QUICK_INVOICE = 8
    INTEGRATION = 12
    RECURRING = 13
    PAYLINK = 16


class ReasonCode(OpenInt):
    """`reason_code_id`: the reason for a transaction's result. Most issuer declines (1601…) have no name here."""

    APPROVED = 1000
    AUTH_COMPLETED = 1001
    VOIDED = 1200
    PARTIALLY_APPROVED = 1201
    DENIED = 1500
    CALL_ISSUER = 1510
    PICK_UP_CARD = 1520
    RETRY = 1530
    COMMUNICATION_ERROR = 1531
    DECLINED = 1601
    INSUFFICIENT_FUNDS = 1616
    EXPIRED_CARD = 1622
    DUPLICATE = 1801


class EntryMode(OpenStr):
    """`entry_mode_id`: how the card was read."""

    SWIPED = "S"
    KEYED = "K"
    CHIP = "C"
    CONTACTLESS = "P"
    FALLBACK = "F"
    BAR_CODE = "B"


class QuickInvoiceStatus(OpenInt):
    """`status_id` of a quick invoice; closed is 0, or 2 in some responses."""

    CLOSED = 0
    OPEN = 1
    CLOSED_2 = 2


class PaymentStatus(OpenInt):
    """`payment_status_id` of a quick invoice."""

    UNPAID = 1
    PAID = 2
    PARTIALLY_PAID = 3


class PaylinkStatus(OpenInt):
    """`status_id` of a paylink."""

    UNPAID = 0
    PAID = 1


class DeliveryMethod(OpenInt):
    """`delivery_method`: how a paylink reaches the customer."""

    NONE = 0
    EMAIL = 1
    SMS = 2
    EMAIL_AND_SMS = 3


class PaylinkAction(OpenStr):
    """`paylink_action`: what a payment does; some responses write `auth-only` as `authonly`."""

    SALE = "sale"
    AUTH_ONLY = "auth-only"
    AUTHONLY = "authonly"


class BatchStatus(OpenInt):
    """`processing_status_id` of a transaction batch."""

    TO_SETTLE = 1
    SETTLED = 2
    ERROR = 3
    RE_PROCESS = 4
    PROCESSING = 5
    FORCED_CLOSED = 6


class PostbackResource(OpenStr):
    """`resource`: the kind of record that a postback reports."""

    CONTACT = "contact"
    TRANSACTION = "transaction"
    TRANSACTION_BATCH = "transactionbatch"
    ACCOUNT_VAULT = "accountvault"


class PostbackType(OpenStr):
    """`type`: what happened to the record that a postback reports."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
