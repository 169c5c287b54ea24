"""The fields that a bank payment needs: by its SEC code, and by its merchant account and the test terminal there."""

from collections.abc import Iterable

from gateway_async.sandbox.handlers.merchant_accounts import product_of
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.simulators.ach_terminals import AchTerminal, read_terminal
from gateway_async.sandbox.simulators.cards import Account

__all__ = ["LICENSE", "check_bank_payment", "check_license", "require"]


_BY_SEC_CODE = {"TEL": ("check_number",), "C21": ("check_number", "image_front", "image_back", "track_data")}
"""The further fields of a payment by telephone and of a check image."""

_CHECKS = frozenset({"POP", "C21"})
"""The SEC codes of checks, whose account can be verified without a payment."""

_IDENTITY = ("ssn4", "dob_year")
LICENSE = ("dl_number", "dl_state")
"""The fields of a driver's license."""


def check_bank_payment(gateway: Gateway, user: Row, values: Row, account: Account | None, problems: Problems) -> None:
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
    product = product_of(gateway, user, values) or {}
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


def require(names: Iterable[str], values: Row, problems: Problems) -> None:
    """Report the fields that a payment lacks."""
    for name in names:
        if not values.get(name) and name not in problems:
            problems.add(name, f"{label(name)} cannot be blank.")
