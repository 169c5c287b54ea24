"""Surcharges: a part of the amount of a card payment, which debit cards do not pay."""

from gateway_async.sandbox.handlers.merchant_accounts import product_of
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.bin_info import is_debit
from gateway_async.sandbox.simulators.cards import Account

__all__ = ["check_completion", "check_surcharge", "remove_debit_surcharge"]


_CHARGING = frozenset({"sale", "authonly"})
_PARTS = ("subtotal_amount", "tax", "surcharge_amount", "tip_amount")


def check_surcharge(gateway: Gateway, user: Row, values: Row, account: Account | None, problems: Problems) -> None:
    """Check the parts of an amount where the merchant has a surcharge."""
    if account is None or account.payment_method != "cc" or values.get("action") not in _CHARGING:
        return
    if not (product_of(gateway, user, values) or {}).get("surcharge"):
        return
    if not values.get("subtotal_amount"):
        problems.add("subtotal_amount", "Subtotal amount cannot be empty or 0")
        return
    total = sum(values.get(name) or 0 for name in _PARTS)
    if values.get("transaction_amount") not in {None, total}:
        problems.add("transaction_amount", f"Transaction Amount must be {show_money(total)}, the sum of its parts.")


def check_completion(row: Row, values: Row, problems: Problems) -> None:
    """Check that a completion with another total names its parts."""
    if not row["surcharge_amount"] or values.get("transaction_amount") in {None, row["transaction_amount"]}:
        return
    for name in ("subtotal_amount", "surcharge_amount", "tax"):
        if values.get(name) is None and name not in problems:
            problems.add(name, f"{label(name)} cannot be blank when the amount changes.")


def remove_debit_surcharge(values: Row, account: Account) -> None:
    """Remove the surcharge from the amount of a payment by debit card."""
    surcharge = values.get("surcharge_amount") or 0
    if account.payment_method == "cc" and is_debit(account.first_six) and 0 < surcharge < values["transaction_amount"]:
        values["transaction_amount"] -= surcharge
        values["surcharge_amount"] = 0
