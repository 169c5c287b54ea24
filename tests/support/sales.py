"""Sales, cards and plans that tests send to sandboxes."""

from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal

from gateway_async import CardVaultCreate, IntervalType, RecurringCreate, RouterTransactionCreate, TransactionCreate

CARD: Final[dict[str, Any]] = {"account_number": "4111111111111111", "exp_date": "1230"}
NEW_CARD: Final = CardVaultCreate(**CARD)


def sale(
    api_id: str | None = None, amount: str = "12.50", action: Literal["sale", "authonly"] = "sale", **fields: Any
) -> TransactionCreate:
    """A payment with a card, under an id of the caller's or a generated one."""
    return TransactionCreate(action=action, transaction_amount=amount, transaction_api_id=api_id, **CARD | fields)


def sale_at(terminal_id: str, api_id: str | None = None, amount: str = "12.50") -> RouterTransactionCreate:
    """A payment with the card that a customer presents at a terminal."""
    return RouterTransactionCreate(
        action="sale", terminal_id=terminal_id, transaction_amount=amount, transaction_api_id=api_id
    )


def monthly(**fields: Any) -> RecurringCreate:
    """A plan of twelve charges of ten, from 23 February 2031 on; the fields name the vault."""
    known: dict[str, Any] = {"interval": 1, "interval_type": IntervalType.MONTH, "start_date": date(2031, 2, 23)}
    known |= {"transaction_amount": Decimal("10.00"), "installment_total_count": 12}
    return RecurringCreate(**known | fields)
