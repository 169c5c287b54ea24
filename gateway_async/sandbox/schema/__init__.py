"""The record types, from the data files in `sandbox/contract/`.

`fields.py` has their fields, `kinds.py` the types of values, and `loader.py` reads the files. To add a record type, add
a file to `sandbox/contract/`, and a line here if several modules name the type.
"""

from pathlib import Path

import attrs

from gateway_async.sandbox.schema.fields import Table
from gateway_async.sandbox.schema.loader import read_tables

TABLES = read_tables(Path(__file__).parent.parent / "contract")
"""The tables by the names of their files, and further ones with a dot: `tokens.request`."""

ACCOUNT_VAULT = TABLES["account_vaults"]
ACH_UPDATE = TABLES["transactions.ach_update"]
AUTH_ROLE_USER = TABLES["auth_role_users"]
CHANGELOG = TABLES["changelogs"]
CONTACT = TABLES["contacts"]
DEVICE_TERM = TABLES["device_terms"]
FILE_CONTENT = TABLES["file_contents"]
HOSTED_PAYMENT_PAGE = TABLES["hosted_payment_pages"]
INVOICED_TRANSACTION = TABLES["quick_invoices.invoiced_transaction"]
LOCATION = TABLES["locations"]
LOCATION_INFO = TABLES["location_infos"]
LOGIN = TABLES["tokens.request"]
MESSAGE = TABLES["messages"]
NOTE = TABLES["notes"]
PAYLINK = TABLES["paylinks"]
POSTBACK = TABLES["postbacks"]
POSTBACK_CONFIG = TABLES["postback_configs"]
PRODUCT_FILE = TABLES["product_files"]
PRODUCT_TRANSACTION = TABLES["product_transactions"]
QUICK_INVOICE = TABLES["quick_invoices"]
QUICK_INVOICE_FILE = TABLES["files"]
RECEIPT = TABLES["receipts"]
RECURRING = TABLES["recurrings"]
ROUTER_ACCOUNT_VAULT = TABLES["router_account_vaults"]
ROUTER_TRANSACTION = TABLES["router_transactions"]
SIGNATURE = TABLES["signatures"]
SURCHARGE = TABLES["product_transactions.surcharge"]
TAG = TABLES["tags"]
TERMINAL = TABLES["terminals"]
TICKET = TABLES["tickets"]
TOKEN = TABLES["tokens"]
TRANSACTION = TABLES["transactions"]
TRANSACTION_BATCH = TABLES["transaction_batches"]
TRANSACTION_LEVEL3 = TABLES["transaction_level3s"]
USER = TABLES["users"]


def _join(*names: str) -> Table:
    parts = [TABLES[f"transaction_level3s.{name}"] for name in names]
    return attrs.evolve(parts[0], fields=tuple(field for part in parts for field in part.fields))


LEVEL3_DATA = {"visa": _join("data", "visa_data"), "mc": _join("data")}
"""The fields of `level3_data`, but for its lines, by the brand of the card."""

LINE_ITEM = {"visa": _join("line", "visa_line"), "mc": _join("line", "mc_line")}
"""The fields of a line, by the brand of the card."""

STORED = tuple(sorted((table for table in TABLES.values() if table.is_stored), key=lambda table: table.position))
"""The tables that store records, in the order of the pages; the others only describe requests and responses."""

CREATED_RECORDS = tuple(table for table in STORED if not table.is_initial)
"""The records that requests create."""

BY_PLURAL = {table.plural: table for name, table in TABLES.items() if "." not in name}
"""The tables by path segment, including records that are not stored."""

API_IDS = {table.singular: table.api_id for table in BY_PLURAL.values() if table.api_id}
"""The field with a record's integrator id, by the wrapper of the record."""
