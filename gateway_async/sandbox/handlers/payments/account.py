"""The account of a payment or a vault: which field of a request names it, and what of it is stored.

A request names its account in exactly one of several fields. Each field has a function that finds the account. The
account number does not leave that function.
"""

from collections.abc import Callable, Mapping

import attrs

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.validation import require
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import ACCOUNT_VAULT, TICKET, TRANSACTION
from gateway_async.sandbox.schema.fields import Row, Table, label
from gateway_async.sandbox.simulators.cards import (
    TEST_CARDS,
    Account,
    check_expiry,
    is_routing,
    read_bank_account,
    read_card,
    read_track,
)

AccountFinder = Callable[[Gateway, Row, Row, Problems], Account | None]
"""Finds the account for the values of a request, and reports problems."""

_PAYMENT_METHODS = ("cc", "ach")
BANK_ACCOUNT_TYPES = ("checking", "savings")
_BANK_ACCOUNT_FIELDS = ("account_type", "routing", "account_holder_name")
_SWIPED_EXPIRY = "1230"
_CHECK_FIELDS = ["account_number", "track_data"]
"""The fields that name a bank account together when a check was read."""

_SEC_CODES = ("WEB", "PPD", "CCD", "TEL", "POP", "C21")

_COLUMNS = (
    "account_type",
    "first_six",
    "last_four",
    "exp_date",
    "account_holder_name",
    "routing",
    "ach_sec_code",
    "billing_street",
    "billing_zip",
)

_OF_COMPANIES, _OF_PERSONS = "CCD", "PPD"


def find_account(
    gateway: Gateway, user: Row, sources: Mapping[str, AccountFinder], values: Row, problems: Problems
) -> Account | None:
    """Find the account that a request names.

    The result is None, with a problem reported, if the request names no account or several. `sources` has the fields
    that may name an account; the first one is reported if all are missing.
    """
    if values.get("ach_sec_code") not in {None, *_SEC_CODES}:
        problems.add("ach_sec_code", f"Ach Sec Code must be one of {', '.join(_SEC_CODES)}.")
    given = [name for name in sources if values.get(name) is not None]
    if given == _CHECK_FIELDS and values.get("payment_method") == "ach":
        given = ["account_number"]
    if len(given) == 1:
        return sources[given[0]](gateway, user, values, problems)
    if any(name in problems for name in sources):
        return None
    if not given:
        problems.add_blank(next(iter(sources)))
    for name in given:
        problems.add(name, f"Only one of {', '.join(map(label, given))} can be given.")
    return None


def _find_by_number(_gateway: Gateway, _user: Row, values: Row, problems: Problems) -> Account | None:
    read = _read_bank_account if values.get("payment_method") == "ach" else _read_card
    return read(values, problems)


def _read_card(values: Row, problems: Problems) -> Account | None:
    number, expiry, account = values["account_number"], values.get("exp_date"), None
    try:
        account = read_card(number, expiry, values.get("account_holder_name"))
    except ValueError as reason:
        problems.add("account_number", f"Account Number {reason}")
    if expiry is None:
        problems.add_blank("exp_date")
    return account


def _read_bank_account(values: Row, problems: Problems) -> Account | None:
    require(_BANK_ACCOUNT_FIELDS, values, problems)
    if any(name in problems for name in _BANK_ACCOUNT_FIELDS):
        return None
    if not is_routing(values["routing"]):
        problems.add("routing", "Routing is not a valid routing number.")
    if values["account_type"] not in BANK_ACCOUNT_TYPES:
        problems.add("account_type", "Account Type must be checking or savings.")
    try:
        return read_bank_account(
            values["account_number"], *(values[name] for name in ("routing", "account_type", "account_holder_name"))
        )
    except ValueError as reason:
        problems.add("account_number", f"Account Number {reason}")
        return None


def _find_by_track(_gateway: Gateway, _user: Row, values: Row, problems: Problems) -> Account | None:
    try:
        return read_track(values["track_data"])
    except ValueError as reason:
        problems.add("track_data", f"Track Data {reason}")
        return None


def _find_by_encrypted_track(_gateway: Gateway, _user: Row, values: Row, problems: Problems) -> Account | None:
    """Read the card of an encrypted swipe.

    The sandbox has no keys. Data that is the plain track in hexadecimal digits names its card. Any other data names a
    test card.
    """
    try:
        track = bytes.fromhex(values["e_track_data"]).decode(errors="replace")
    except ValueError:
        problems.add("e_track_data", "E Track Data must be hexadecimal digits.")
        return None
    try:
        return read_track(track)
    except ValueError:
        return read_card(TEST_CARDS["visa"], _SWIPED_EXPIRY, None, mode="S")


def _make_source(table: Table, field: str, column: str, read: Callable[[Row], Account]) -> AccountFinder:
    def find(gateway: Gateway, user: Row, values: Row, problems: Problems) -> Account | None:
        where = {"location_id": user["location_id"], column: values[field]}
        row = gateway.store.find_alive(table, **where)
        if row and row["last_four"]:
            return read(row)
        problems.add_invalid(field)
        return None

    return find


def _make_account(row: Row) -> Account:
    """Return the account of a stored record; a ticket is always for a card."""
    return Account(row.get("payment_method", "cc"), **{name: row[name] for name in _COLUMNS if name in row})


def _make_vault_account(row: Row) -> Account:
    code = row["ach_sec_code"] or find_sec_code(row)
    return attrs.evolve(
        _make_account(row), billing_street=row["billing_address"], vault_id=row["id"], ach_sec_code=code
    )


def _make_transaction_account(row: Row) -> Account:
    return attrs.evolve(_make_account(row), transaction_id=row["id"])


_COMMON_SOURCES: dict[str, AccountFinder] = {
    "account_number": _find_by_number,
    "track_data": _find_by_track,
    "e_track_data": _find_by_encrypted_track,
    "ticket": _make_source(TICKET, "ticket", "id", _make_account),
    "previous_transaction_id": _make_source(TRANSACTION, "previous_transaction_id", "id", _make_transaction_account),
    "previous_transaction_api_id": _make_source(
        TRANSACTION, "previous_transaction_api_id", "transaction_api_id", _make_transaction_account
    ),
}


def _vault_sources(prefix: str) -> dict[str, AccountFinder]:
    by_id, by_api_id = f"{prefix}account_vault_id", f"{prefix}account_vault_api_id"
    return {
        by_id: _make_source(ACCOUNT_VAULT, by_id, "id", _make_vault_account),
        by_api_id: _make_source(ACCOUNT_VAULT, by_api_id, "account_vault_api_id", _make_vault_account),
    }


VAULT_SOURCES = _COMMON_SOURCES | _vault_sources("previous_")
"""The fields that can be the source of an account vault."""

STORED_SOURCES = _vault_sources("")
"""The fields that name a stored account."""

PAYMENT_SOURCES = _COMMON_SOURCES | STORED_SOURCES
"""The fields that can be the source of a payment."""


def check_kind(values: Row, account: Account | None, problems: Problems) -> None:
    """Check that payment method and account type match the account."""
    if values.get("payment_method") not in {None, *_PAYMENT_METHODS}:
        problems.add("payment_method", "Payment Method must be cc or ach.")
    for name in ("payment_method", "account_type"):
        if account and values.get(name) not in {None, getattr(account, name)} and name not in problems:
            problems.add(name, f"{label(name)} of this account is {getattr(account, name)}.")


def check_exp_date(values: Row, problems: Problems) -> None:
    """Check that an expiry is a month and a year."""
    try:
        check_expiry(values.get("exp_date") or "0130")
    except ValueError as reason:
        problems.add("exp_date", f"Exp Date {reason}")


def use_up_ticket(gateway: Gateway, values: Row) -> None:
    """Delete the ticket of a request, because a ticket is valid once."""
    if ticket := values.get("ticket"):
        gateway.store.delete(TICKET, ticket)


def store_account(gateway: Gateway, user: Row, account: Account, values: Row) -> Row:
    """Store an account as a new vault; values of the request take precedence."""
    names = ("payment_method", "account_holder_name", "exp_date", "ach_sec_code", "billing_zip")
    known = {name: getattr(account, name) for name in names} | {"billing_address": account.billing_street}
    given = {name: value for name, value in values.items() if value is not None}
    fixed = {name: getattr(account, name) for name in ("account_type", "first_six", "last_four", "routing")}
    row = known | given | fixed
    return gateway.create(ACCOUNT_VAULT, user, row | {"ach_sec_code": row["ach_sec_code"] or find_sec_code(row)})


def find_sec_code(row: Row) -> str | None:
    """Find the SEC code of a bank account without a given one."""
    if row["payment_method"] != "ach":
        return None
    return _OF_COMPANIES if row.get("is_company") else _OF_PERSONS
