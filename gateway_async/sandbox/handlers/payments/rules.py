"""Which fields and amounts a payment must have: by action, SEC code, test terminal, lodging and surcharge."""

from datetime import date

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.transaction_relations import amount_left
from gateway_async.sandbox.request.validation import require
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.cards import Account, is_debit
from gateway_async.sandbox.simulators.vendor_tables import AchTerminal, read_terminal
from gateway_async.sandbox.state_machines import transactions as states

_NEVER_ZERO = ("sale", "authonly", "authcomplete", "authincrement", "debit", "credit", "refund", "tipadjust")
"""The actions that need an amount above 0.00."""

_BY_SEC_CODE = {"TEL": ("check_number",), "C21": ("check_number", "image_front", "image_back", "track_data")}
"""The further fields of a payment by telephone and of a check image."""

_CHECKS = frozenset({"POP", "C21"})
"""The SEC codes of checks, whose account can be verified without a payment."""

_IDENTITY = ("ssn4", "dob_year")
LICENSE = ("dl_number", "dl_state")
"""The fields of a driver's license."""

_WITH_STAY = frozenset({"sale", "authonly", "force"})
_LONGEST_STAY = 99
"""Days."""

_WITH_SURCHARGE = frozenset({"sale", "authonly"})
_PARTS = ("subtotal_amount", "tax", "surcharge_amount", "tip_amount")


def check_action(values: Row, method: str | None, problems: Problems) -> None:
    """Check that a payment can start with the action."""
    actions = [action for known, action in states.INITIAL_STATES if known == method]
    if actions and values.get("action") not in actions and "action" not in problems:
        problems.add("action", f"Action must be one of {', '.join(actions)} when payment_method is {method}.")


def check_amount(values: Row, problems: Problems) -> None:
    """Check that a payment has an amount, above zero for most actions."""
    if values.get("transaction_amount") is None:
        problems.add_blank("transaction_amount")
    check_not_zero(values, problems)


def check_not_zero(values: Row, problems: Problems) -> None:
    """Check that the amount is not zero where the action needs money."""
    if values.get("transaction_amount") == 0 and values.get("action") in _NEVER_ZERO:
        problems.add("transaction_amount", f"Transaction Amount cannot be 0 for {', '.join(_NEVER_ZERO)}.")


def check_refund(gateway: Gateway, values: Row, previous_id: str, problems: Problems) -> None:
    """Check that a refund is at most the remaining charged amount."""
    previous = gateway.store.find(TRANSACTION, id=previous_id)
    if previous is None or states.next_state(states.TransactionTrigger.REFUND, previous) is None:
        problems.add("previous_transaction_id", "The previous transaction cannot be refunded.")
        return
    left = amount_left(gateway, previous)
    if not 0 < values.setdefault("transaction_amount", left) <= left and "transaction_amount" not in problems:
        problems.add("transaction_amount", f"Transaction Amount must be above 0.00 and at most {show_money(left)}.")


def check_bank_payment(product: Row, values: Row, account: Account | None, problems: Problems) -> None:
    """Check what a bank payment must say; a stored or earlier account has said it already."""
    if account is None or account.payment_method != "ach" or account.vault_id:
        return
    sec_code = values.get("ach_sec_code") or account.ach_sec_code
    if not sec_code and "ach_sec_code" not in problems:
        problems.add("ach_sec_code", "ach_sec_code cannot be blank")
    if values.get("action") == "avsonly" and sec_code not in _CHECKS:
        problems.add("action", f"Action avsonly is only allowed for {' and '.join(sorted(_CHECKS))}.")
    if account.transaction_id:
        return
    require(_BY_SEC_CODE.get(sec_code or "", ()), values, problems)
    check_license(product, values, problems)
    if number := product.get("ach_terminal"):
        _check_terminal(read_terminal(number), sec_code, values, problems)


def check_license(product: Row, values: Row, problems: Problems) -> None:
    """Check that a customer has an id or a license, where needed."""
    has_license = all(values.get(name) or name in problems for name in LICENSE)
    if product.get("license_verification") and not values.get("customer_id") and not has_license:
        problems.add("customer_id", "Customer Id cannot be blank unless Dl Number and Dl State are given.")


def _check_terminal(terminal: AchTerminal, sec_code: str | None, values: Row, problems: Problems) -> None:
    if sec_code not in {None, "", terminal.sec_code}:
        problems.add("ach_sec_code", f"Ach Sec Code of this terminal is {terminal.sec_code}.")
    if values.get("action") == "credit" and not terminal.allows_credit:
        problems.add("action", "Action credit is not allowed at this terminal.")
    require(terminal.required, values, problems)
    if terminal.needs_identity and sum(values.get(name) is not None for name in _IDENTITY) != 1:
        problems.add("ssn4", "Exactly one of Ssn4 and Dob Year must be given.")


def check_lodging(product: Row, values: Row, problems: Problems) -> None:
    """Check the stay of a new payment, which lodging merchants must give."""
    check_lodging_dates(values, problems)
    is_lodging = product.get("industry_type") == "lodging" and values.get("payment_method") == "cc"
    if is_lodging and values.get("action") in _WITH_STAY:
        for name in ("checkin_date", "checkout_date", "room_rate"):
            if values.get(name) is None:
                problems.add_blank(name)


def check_lodging_dates(stay: Row, problems: Problems) -> None:
    """Check the order and the distance of a stay's dates."""
    first, last = stay.get("checkin_date"), stay.get("checkout_date")
    if not first or not last or "checkin_date" in problems or "checkout_date" in problems:
        return
    days = (date.fromisoformat(last) - date.fromisoformat(first)).days
    if not 0 <= days <= _LONGEST_STAY:
        problems.add("checkout_date", f"Checkout Date must be at most {_LONGEST_STAY} days after Checkin Date.")


def check_surcharge(product: Row, values: Row, account: Account | None, problems: Problems) -> None:
    """Check the parts of an amount where the merchant has a surcharge."""
    if account is None or account.payment_method != "cc" or values.get("action") not in _WITH_SURCHARGE:
        return
    if not product.get("surcharge"):
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
