"""The vendor's documented maximum lengths: client and sandbox take at least as much, and often more."""

from .record_types import ACCOUNT_VAULTS, CONTACTS, RECORD_TYPES, ROUTER_TRANSACTIONS, TRANSACTIONS

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


def test_lengths() -> None:
    """The longest value that both sides take is at least as long as documented."""
    tables = {record_type.table.name: record_type.table for record_type in RECORD_TYPES}
    for name, lengths in DOCUMENTED.items():
        bounds = {field: tables[name].by_name[field].bounds for field in lengths}
        assert [field for field, limits in bounds.items() if not limits or limits[1] < lengths[field]] == []


def test_the_longest_balance_has_twelve_characters() -> None:
    assert CONTACTS.table.by_name["contact_balance"].length == "12"
