"""Lodging: the dates and the room rate of a guest's stay."""

from datetime import date

from gateway_async.sandbox.handlers.merchant_accounts import product_of
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row, label

__all__ = ["check_lodging", "check_lodging_dates"]


_CHARGING = frozenset({"sale", "authonly", "force"})
_REQUIRED = ("checkin_date", "checkout_date", "room_rate")
_LONGEST_STAY = 99
"""Days."""


def check_lodging(gateway: Gateway, user: Row, values: Row, problems: Problems) -> None:
    """Check the stay of a new payment, which lodging merchants must give."""
    check_lodging_dates(values, problems)
    if values.get("payment_method") != "cc" or values.get("action") not in _CHARGING:
        return
    if (product_of(gateway, user, values) or {}).get("industry_type") != "lodging":
        return
    for name in _REQUIRED:
        if values.get(name) is None and name not in problems:
            problems.add(name, f"{label(name)} cannot be blank.")


def check_lodging_dates(stay: Row, problems: Problems) -> None:
    """Check the order and the distance of a stay's dates."""
    first, last = stay.get("checkin_date"), stay.get("checkout_date")
    if not first or not last or "checkin_date" in problems or "checkout_date" in problems:
        return
    days = (date.fromisoformat(last) - date.fromisoformat(first)).days
    if not 0 <= days <= _LONGEST_STAY:
        problems.add("checkout_date", f"Checkout Date must be at most {_LONGEST_STAY} days after Checkin Date.")
