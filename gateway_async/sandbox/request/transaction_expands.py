"""The relations that only a transaction has: its codes in words, its surcharge and its level 3 data."""

from collections.abc import Callable, Mapping
from typing import Any

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_TRANSACTION, TRANSACTION_LEVEL3
from gateway_async.sandbox.schema.code_titles import ENTRY_MODES, REASON_TITLES, STATUSES, TYPES
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines import transactions as states

__all__ = ["TRANSACTION_EXPANDS", "find_level3", "show_surcharge"]


_RATE = "3.0"
"""Percent; new set-ups have a percentage of at most that."""


def _code(column: str, titles: Mapping[Any, str]) -> Callable[[Gateway, Row], Row | None]:
    def show(_gateway: Gateway, row: Row) -> Row | None:
        return None if row[column] is None else {"id": row[column], "title": titles.get(row[column], "")}

    return show


def _find_surcharge(gateway: Gateway, row: Row) -> Row | None:
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


def _show_level3(gateway: Gateway, row: Row) -> Row | None:
    found = find_level3(gateway, row["id"])
    return TRANSACTION_LEVEL3.show(found) if found else None


def _is_reversible(_gateway: Gateway, row: Row) -> bool:
    return states.next_state(states.TransactionTrigger.REVERSE, row) is not None


def _no_record(_gateway: Gateway, _row: Row) -> None:
    return None


def _empty_list(_gateway: Gateway, _row: Row) -> list[Any]:
    return []


TRANSACTION_EXPANDS: dict[str, Callable[[Gateway, Row], Any]] = {
    "entrymode": _code("entry_mode_id", ENTRY_MODES),
    "is_reversible": _is_reversible,
    "reason_code": _code("reason_code_id", REASON_TITLES),
    "recurring": _no_record,
    "status": _code("status_id", STATUSES),
    "surcharge": _find_surcharge,
    "surcharge_transaction": _no_record,
    "transaction_histories": _empty_list,
    "transaction_level3": _show_level3,
    "type": _code("type_id", TYPES),
}
"""The relations by name. The sandbox has no histories or transactions of a surcharge alone."""
