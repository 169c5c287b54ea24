"""The tables are complete, and the client offers what they name."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.request import Request
from gateway_async.sandbox.schema import BY_PLURAL, TABLES

from .field_table import Row, table
from .reading import BY_PATH
from .record_types import ACCOUNT_VAULTS, CONTACTS, RECORD_TYPES, ROUTER_TRANSACTIONS, TRANSACTIONS


def test_count() -> None:
    """Each data file has as many fields of the contract's own table as were counted there."""
    written = {name: sum(fact.contract != "none" for fact in each.facts) for name, each in TABLES.items()}
    counted = {name: each.contract_fields for name, each in TABLES.items() if each.contract_fields}
    assert counted == {name: written[name] for name in counted}


def test_completeness() -> None:
    """Each table of the contract has its record type, and so each row has a test."""
    tried = {record_type.table for record_type in RECORD_TYPES}
    assert tried == {table(name) for name, each in TABLES.items() if each.contract_fields}
    assert all(each.path or each.record or each.table.name == "changelog" for each in RECORD_TYPES)


def test_lengths() -> None:
    """Client and sandbox take every value that the contract documents, but for ids, of which any length is taken."""
    rows = {row: attrs.evolve(row, length=fact.contract) for row, fact in _texts()}
    assert [str(row) for row, documented in rows.items() if not _includes(row, documented)] == []


def _texts() -> Iterator[tuple[Row, Any]]:
    for name in TABLES:
        rows = table(name).by_name
        for fact in TABLES[name].facts:
            if fact.name in rows and fact.contract[0].isdigit() and fact.kind not in ("id", "own-id", "money"):
                yield rows[fact.name], fact


def _includes(row: Row, documented: Row) -> bool:
    (shortest, longest), (low, high) = row.bounds or (0, 0), documented.bounds or (0, 0)
    return longest >= high and shortest <= max(low, 1)


WRITES: dict[str, tuple[str, str, tuple[type[Request], ...]]] = {
    f"{method} {spec.path}": (method, spec.plural, kinds)
    for spec in BY_PATH.values()
    if isinstance(spec, ResourceSpec)
    for method, kinds in (("POST", spec.creates), ("PUT", spec.updates))
    if kinds
}


@pytest.mark.parametrize(("method", "plural", "kinds"), WRITES.values(), ids=WRITES)
def test_request_fields(method: str, plural: str, kinds: tuple[type[Request], ...]) -> None:
    """The requests of a resource have the fields that its POST or PUT takes, and no others."""
    offered = {name for kind in kinds for name in (*attrs.fields_dict(kind), *kind.implied)} - {"extra"}
    assert offered == {field.name for field in BY_PLURAL[plural].fields if method in field.settable}


# --- the documented maximum lengths: client and sandbox take at least as much, and often more

TRANSACTION = {
    "auth_code": 6,
    "billing_street": 32,
    "billing_state": 26,
    "check_number": 15,
    "clerk_number": 16,
    "customer_id": 64,
    "customer_ip": 39,
    "po_number": 24,
    "room_num": 12,
    "account_holder_name": 60,
    "account_vault_api_id": 36,
    "contact_api_id": 36,
    "previous_transaction_api_id": 36,
    "location_api_id": 36,
    "transaction_c4": 128,
    "save_account_title": 16,
    "terminal_serial_number": 24,
    "quick_invoice_id": 24,
    "cavv": 40,
    "xid": 40,
    "wallet_id": 3,
    "ach_identifier": 1,
    "image_front": 65535,
    "image_back": 65535,
    "e_serial_number": 20,
    "service_address": 32,
    "service_city": 36,
    "service_state": 26,
    "service_zip": 12,
    "service_country": 3,
}
ROUTER_TRANSACTION = {"room_num": 12, "auth_code": 6, "billing_zip": 10, "billing_street": 64}
CONTACT = {
    **dict.fromkeys(("first_name", "last_name", "company_name", "email"), 64),
    **{f"contact_c{number}": 128 for number in (1, 2, 3)},
    "address": 255,
    "city": 100,
    "account_number": 32,
    "zip": 12,
    "state": 2,
    "contact_api_id": 36,
}
DOCUMENTED = {
    TRANSACTIONS.table.name: TRANSACTION,
    ROUTER_TRANSACTIONS.table.name: ROUTER_TRANSACTION,
    CONTACTS.table.name: CONTACT,
    ACCOUNT_VAULTS.table.name: {"locale": 5},
}
"""Table → field → characters. `test_sdk_matrix.py` and `test_sandbox_matrix.py` try the lengths of the rows."""


def test_documented_lengths() -> None:
    """The longest value that both sides take is at least as long as documented."""
    tables = {record_type.table.name: record_type.table for record_type in RECORD_TYPES}
    for name, lengths in DOCUMENTED.items():
        bounds = {field: tables[name].by_name[field].bounds for field in lengths}
        assert [field for field, limits in bounds.items() if not limits or limits[1] < lengths[field]] == []
    assert CONTACTS.table.by_name["contact_balance"].length == "12"
