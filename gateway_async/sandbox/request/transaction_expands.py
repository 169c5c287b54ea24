"""The surcharge of a transaction, and its level 3 data."""

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_TRANSACTION, TRANSACTION_LEVEL3
from gateway_async.sandbox.schema.fields import Row

__all__ = ["find_level3", "find_surcharge", "show_level3", "show_surcharge"]


_RATE = "3.0"
"""Percent; new set-ups have a percentage of at most that."""


def find_surcharge(gateway: Gateway, row: Row) -> Row | None:
    """Return the surcharge of a transaction's merchant account, if it has one."""
    product = gateway.store.find(PRODUCT_TRANSACTION, id=row["product_transaction_id"])
    return show_surcharge(product) if product else None


def show_surcharge(product: Row) -> Row | None:
    """Return the surcharge of a merchant account, if it has one."""
    if not product["surcharge"]:
        return None
    return {
        "id": product["id"],
        "title": "Surcharge",
        "surcharge_label": "Surcharge",
        "surcharge_rate": _RATE,
        "surcharge_fee": "0.00",
        "min_fee_amount": "0.00",
        "max_fee_amount": None,
        "max_transaction_amount": None,
        "run_as_separate_transaction": False,
        "surcharge_on_recurring": False,
        "refund_surcharges": False,
        "apply_to_user_type_id": None,
        "created_ts": product["created_ts"],
        "modified_ts": product["created_ts"],
        "created_user_id": None,
        "modified_user_id": None,
    }


def find_level3(gateway: Gateway, transaction_id: str) -> Row | None:
    """Find the stored level 3 data of a transaction."""
    found = gateway.store.filter(TRANSACTION_LEVEL3, transaction_id=transaction_id)
    return next((row for row in found if row["deleted_ts"] is None), None)


def show_level3(gateway: Gateway, row: Row) -> Row | None:
    """Return the level 3 data of a transaction, if it has some."""
    found = find_level3(gateway, row["id"])
    return TRANSACTION_LEVEL3.show(found) if found else None
