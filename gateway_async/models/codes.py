"""Open enums: the gateway's codes, which also accept codes that this version does not know.

A gateway adds codes between releases, and an SDK that fails on a new code loses payments. Every code therefore equals
its raw value (`status_id == 101` is true, `{101: ...}[status_id]` works). A known code has a name; for an unknown one
`.known` is False.
"""

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self


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

    UNKNOWN = 1
    MERCHANT_APP = 2
    MERCHANT_BROWSER = 3
    PHONE_ROBOT = 4
    STATEMENT = 5
    CUSTOMER_APP = 6
    CUSTOMER_BROWSER = 7
    QUICK_INVOICE = 8
    PAYMENT_FORM = 9
    HOSTED_PAGE = 10
    EMULATOR = 11
    INTEGRATION = 12
    RECURRING = 13
    RESERVED = 14
    DECLINED_RECURRING_LINK = 15
    PAYLINK = 16


class ReasonCode(OpenInt):
    """`reason_code_id`: the reason for a transaction's result; `.description` says it in words."""

    APPROVED = 1000
    AUTH_COMPLETED = 1001
    FORCED = 1002
    AUTH_ONLY_DECLINED = 1003
    VALIDATION_FAILED = 1004
    INVALID_PROCESSOR_RESPONSE = 1005
    VOIDED = 1200
    PARTIALLY_APPROVED = 1201
    DENIED = 1500
    CALL_ISSUER = 1510
    NOT_PERMITTED_AT_TERMINAL = 1518
    PICK_UP_CARD = 1520
    RETRY = 1530
    COMMUNICATION_ERROR = 1531
    SETUP_ERROR = 1540
    NO_SIGNATURES = 1541
    TOKEN_NOT_RESOLVED = 1588
    OTHER_DECLINE = 1599
    DECLINED = 1601
    CALL = 1602
    ISSUER_UNAVAILABLE = 1603
    PICK_UP_NO_FRAUD = 1604
    PICK_UP_FRAUD = 1605
    PICK_UP_LOST = 1606
    PICK_UP_STOLEN = 1607
    ACCOUNT_ERROR = 1608
    ALREADY_REVERSED = 1609
    BAD_PIN = 1610
    CASHBACK_EXCEEDED = 1611
    CASHBACK_NOT_AVAILABLE = 1612
    CARD_ID_ERROR = 1613
    DATE_ERROR = 1614
    DO_NOT_HONOR = 1615
    INSUFFICIENT_FUNDS = 1616
    WITHDRAWAL_LIMIT_EXCEEDED = 1617
    INVALID_SERVICE_CODE = 1618
    ACTIVITY_LIMIT_EXCEEDED = 1619
    VIOLATION = 1620
    ENCRYPTION_ERROR = 1621
    EXPIRED_CARD = 1622
    ENTER_AGAIN = 1623
    SECURITY_VIOLATION = 1624
    CARD_NOT_PERMITTED = 1625
    TRANSACTION_NOT_PERMITTED = 1626
    SYSTEM_ERROR = 1627
    BAD_MERCHANT_ID = 1628
    DUPLICATE_BATCH = 1629
    REJECTED_BATCH = 1630
    ACCOUNT_CLOSED = 1631
    CONTACT_SUPPORT = 1650
    ACH_THROTTLED = 1651
    TOO_MANY_ATTEMPTS = 1652
    CONTACT_SUPPORT_2 = 1653
    VOIDED_REVERSAL_FAILED = 1654
    REVERSED_FOR_AVS = 1655
    REVERSED_FOR_CVV = 1656
    REVERSED_FOR_PARTIAL_APPROVAL = 1657
    AUTH_EXPIRED = 1658
    PARTIAL_APPROVAL_NOT_SUPPORTED = 1659
    BANK_ACCOUNT_FAULT = 1660
    AUTH_INCREMENT_DECLINED = 1661
    REVERSED_NOT_SETTLED = 1662
    MANAGER_NEEDED = 1663
    VAULT_NOT_SHARED = 1664
    CONTACT_NOT_SHARED = 1665
    CHIP_REJECTED = 1701
    CASHBACK_LIMIT_OR_CVV = 1800
    DUPLICATE = 1801
    NOT_REGISTERED = 1802
    RECURRING_STOPPED = 1803
    BATCH_EMPTY = 1804
    NO_SUCH_BATCH = 1805
    ACH_RETURN_R01 = 2101
    ACH_RETURN_R02 = 2102
    ACH_RETURN_R03 = 2103
    ACH_RETURN_R04 = 2104
    ACH_RETURN_R05 = 2105
    ACH_RETURN_R06 = 2106
    ACH_RETURN_R07 = 2107
    ACH_RETURN_R08 = 2108
    ACH_RETURN_R09 = 2109
    ACH_RETURN_R10 = 2110
    ACH_RETURN_R11 = 2111
    ACH_RETURN_R12 = 2112
    ACH_RETURN_R13 = 2113
    ACH_RETURN_R14 = 2114
    ACH_RETURN_R15 = 2115
    ACH_RETURN_R16 = 2116
    ACH_RETURN_R17 = 2117
    ACH_RETURN_R18 = 2118
    ACH_RETURN_R19 = 2119
    ACH_RETURN_R20 = 2120
    ACH_RETURN_R21 = 2121
    ACH_RETURN_R22 = 2122
    ACH_RETURN_R23 = 2123
    ACH_RETURN_R24 = 2124
    ACH_RETURN_R25 = 2125
    ACH_RETURN_R26 = 2126
    ACH_RETURN_R27 = 2127
    ACH_RETURN_R28 = 2128
    ACH_RETURN_R29 = 2129
    ACH_RETURN_R30 = 2130
    ACH_RETURN_R31 = 2131
    ACH_RETURN_R32 = 2132
    ACH_RETURN_R33 = 2133
    ACH_RETURN_R34 = 2134
    ACH_RETURN_R35 = 2135
    ACH_RETURN_R36 = 2136
    ACH_RETURN_R37 = 2137
    ACH_RETURN_R38 = 2138
    ACH_RETURN_R39 = 2139
    ACH_RETURN_R40 = 2140
    ACH_RETURN_R41 = 2141
    ACH_RETURN_R42 = 2142
    ACH_RETURN_R43 = 2143
    ACH_RETURN_R44 = 2144
    ACH_RETURN_R45 = 2145
    ACH_RETURN_R46 = 2146
    ACH_RETURN_R47 = 2147
    ACH_RETURN_R50 = 2150
    ACH_RETURN_R51 = 2151
    ACH_RETURN_R52 = 2152
    ACH_RETURN_R53 = 2153
    ACH_RETURN_R61 = 2161
    ACH_RETURN_R62 = 2162
    ACH_RETURN_R63 = 2163
    ACH_RETURN_R64 = 2164
    ACH_RETURN_R65 = 2165
    ACH_RETURN_R66 = 2166
    ACH_RETURN_R67 = 2167
    ACH_RETURN_R68 = 2168
    ACH_RETURN_R69 = 2169
    ACH_RETURN_R70 = 2170
    ACH_RETURN_R71 = 2171
    ACH_RETURN_R72 = 2172
    ACH_RETURN_R73 = 2173
    ACH_RETURN_R74 = 2174
    ACH_RETURN_R80 = 2180
    ACH_RETURN_R81 = 2181
    ACH_RETURN_R82 = 2182
    ACH_RETURN_R83 = 2183
    ACH_CHANGE_C01 = 2201
    ACH_CHANGE_C02 = 2202
    ACH_CHANGE_C03 = 2203
    ACH_CHANGE_C04 = 2204
    ACH_CHANGE_C05 = 2205
    ACH_CHANGE_C06 = 2206
    ACH_CHANGE_C07 = 2207
    ACH_CHANGE_C08 = 2208
    ACH_CHANGE_C09 = 2209
    ACH_CHANGE_C10 = 2210
    ACH_CHANGE_C11 = 2211
    ACH_CHANGE_C12 = 2212
    ACH_CHANGE_C13 = 2213
    ACH_CHANGE_C61 = 2261
    ACH_CHANGE_C62 = 2262
    ACH_CHANGE_C63 = 2263
    ACH_CHANGE_C64 = 2264
    ACH_CHANGE_C65 = 2265
    ACH_CHANGE_C66 = 2266
    ACH_CHANGE_C67 = 2267
    ACH_CHANGE_C68 = 2268
    ACH_CHANGE_C69 = 2269
    CHECK_RETURN_X01 = 2301
    CHECK_RETURN_X04 = 2304
    CHECK_RETURN_X05 = 2305
    CHECK_RETURN_X06 = 2306
    CHECK_RETURN_X07 = 2307
    CHECK_RETURN_X08 = 2308
    CHECK_RETURN_X09 = 2309
    CHECK_RETURN_X10 = 2310
    CHECK_RETURN_X21 = 2321
    CHECK_RETURN_X22 = 2322
    CHECK_RETURN_X23 = 2323
    CHECK_RETURN_X29 = 2329
    CHECK_RETURN_X45 = 2345
    CHECK_RETURN_X71 = 2371
    CHECK_RETURN_X72 = 2372
    CHECK_RETURN_X73 = 2373

    @property
    def description(self) -> str:
        """The reason in a few words; empty for a code that this version does not know."""
        return _REASONS.get(self.value, "")


def _read_reasons() -> Mapping[int, str]:
    """Read the documented texts of `reason_code_id` (contract, *Transactions*)."""
    lines = Path(__file__).with_name("reasons.txt").read_text(encoding="utf-8").splitlines()
    return {int(code): text for code, _, text in (line.partition(" ") for line in lines)}


_REASONS: Final = _read_reasons()


class EntryMode(OpenStr):
    """`entry_mode_id`: how the card was read."""

    SWIPED = "S"
    KEYED = "K"
    CHIP = "C"
    CONTACTLESS = "P"
    FALLBACK = "F"
    BAR_CODE = "B"


class EncryptedFormat(OpenStr):
    """`e_format`: the format of an encrypted swipe."""

    KSN = "ksn"
    KSN_PIN = "ksnpin"
    ID_TECH = "idtech"
    MAGNE_SAFE = "magnesafe"


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


class IntervalType(OpenStr):
    """`interval_type`: the unit in which the time between two runs of a recurring is counted."""

    DAY = "d"
    WEEK = "w"
    MONTH = "m"


class RecurringStatus(OpenStr):
    """`status` of a recurring."""

    ACTIVE = "active"
    ON_HOLD = "on hold"
    ENDED = "ended"


class RecurringType(OpenStr):
    """`recurring_type_id`: whether a recurring has a number of installments."""

    ONGOING = "o"
    INSTALLMENTS = "i"


class NoteResource(OpenStr):
    """`resource` of a note: the kind of record that it is about."""

    CONTACT = "Contact"
