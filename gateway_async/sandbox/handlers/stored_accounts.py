"""Stores accounts as vaults: what a vault has of its account and of the request, and its SEC code."""

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import ACCOUNT_VAULT
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import Account

__all__ = ["find_sec_code", "store_account"]


_OF_COMPANIES, _OF_PERSONS = "CCD", "PPD"


def store_account(gateway: Gateway, user: Row, account: Account, values: Row) -> Row:
    """Store an account as a new vault; values of the request take precedence."""
    names = ("payment_method", "account_holder_name", "exp_date", "ach_sec_code", "billing_zip")
    known = {name: getattr(account, name) for name in names} | {"billing_address": account.billing_street}
    given = {name: value for name, value in values.items() if value is not None}
    fixed = {name: getattr(account, name) for name in ("account_type", "first_six", "last_four", "routing")}
    row = known | given | fixed
    return gateway.create(ACCOUNT_VAULT, user, row | {"ach_sec_code": row["ach_sec_code"] or find_sec_code(row)})


def find_sec_code(row: Row) -> str | None:
    """Return the SEC code of a bank account without a given one."""
    if row["payment_method"] != "ach":
        return None
    return _OF_COMPANIES if row.get("is_company") else _OF_PERSONS
