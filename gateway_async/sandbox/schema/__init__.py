"""The field tables of every record type.

Start at `fields.py`, and at `kinds.py` for the types of values. To add a record type, add a file to this package.
"""

from gateway_async.sandbox.schema.account_vaults import ACCOUNT_VAULT, ROUTER_ACCOUNT_VAULT
from gateway_async.sandbox.schema.contacts import CONTACT
from gateway_async.sandbox.schema.device_terms import DEVICE_TERM
from gateway_async.sandbox.schema.gateway_records import (
    CHANGELOG,
    MESSAGE,
    POSTBACK,
    PRODUCT_TRANSACTION,
    TICKET,
    TOKEN,
    TRANSACTION_BATCH,
)
from gateway_async.sandbox.schema.hosted_payment_pages import HOSTED_PAYMENT_PAGE, PAGE_SETTINGS
from gateway_async.sandbox.schema.locations import LOCATION, LOCATION_INFO
from gateway_async.sandbox.schema.notes import NOTE
from gateway_async.sandbox.schema.paylinks import PAYLINK
from gateway_async.sandbox.schema.postback_configs import POSTBACK_CONFIG
from gateway_async.sandbox.schema.quick_invoices import (
    FILE_CONTENT,
    INVOICED_TRANSACTION,
    PRODUCT_FILE,
    QUICK_INVOICE,
    QUICK_INVOICE_FILE,
)
from gateway_async.sandbox.schema.recurrings import RECURRING
from gateway_async.sandbox.schema.signatures import SIGNATURE
from gateway_async.sandbox.schema.tags import TAG
from gateway_async.sandbox.schema.terminals import TERMINAL
from gateway_async.sandbox.schema.transaction_level3s import LEVEL3_DATA, LINE_ITEM, TRANSACTION_LEVEL3
from gateway_async.sandbox.schema.transactions import ACH_UPDATE, ROUTER_TRANSACTION, TRANSACTION
from gateway_async.sandbox.schema.users import AUTH_ROLE_USER, USER

INITIAL_RECORDS = (LOCATION, USER, AUTH_ROLE_USER, PRODUCT_TRANSACTION, TERMINAL)
"""The records that exist before the first request and survive a reset. Requests can add more of them."""

CREATED_RECORDS = (
    CONTACT,
    ACCOUNT_VAULT,
    TICKET,
    TRANSACTION,
    TRANSACTION_BATCH,
    CHANGELOG,
    POSTBACK_CONFIG,
    POSTBACK,
    TOKEN,
    PAYLINK,
    QUICK_INVOICE,
    QUICK_INVOICE_FILE,
    FILE_CONTENT,
    PRODUCT_FILE,
    MESSAGE,
    RECURRING,
    TAG,
    NOTE,
    SIGNATURE,
    DEVICE_TERM,
    TRANSACTION_LEVEL3,
    HOSTED_PAYMENT_PAGE,
)
"""The records that requests create."""

STORED = INITIAL_RECORDS + CREATED_RECORDS
"""The tables that store records; the router tables only describe requests."""

BY_PLURAL = {table.plural: table for table in STORED}

__all__ = [
    "ACCOUNT_VAULT",
    "ACH_UPDATE",
    "AUTH_ROLE_USER",
    "BY_PLURAL",
    "CHANGELOG",
    "CONTACT",
    "CREATED_RECORDS",
    "DEVICE_TERM",
    "FILE_CONTENT",
    "HOSTED_PAYMENT_PAGE",
    "INITIAL_RECORDS",
    "INVOICED_TRANSACTION",
    "LEVEL3_DATA",
    "LINE_ITEM",
    "LOCATION",
    "LOCATION_INFO",
    "MESSAGE",
    "NOTE",
    "PAGE_SETTINGS",
    "PAYLINK",
    "POSTBACK",
    "POSTBACK_CONFIG",
    "PRODUCT_FILE",
    "PRODUCT_TRANSACTION",
    "QUICK_INVOICE",
    "QUICK_INVOICE_FILE",
    "RECURRING",
    "ROUTER_ACCOUNT_VAULT",
    "ROUTER_TRANSACTION",
    "SIGNATURE",
    "STORED",
    "TAG",
    "TERMINAL",
    "TICKET",
    "TOKEN",
    "TRANSACTION",
    "TRANSACTION_BATCH",
    "TRANSACTION_LEVEL3",
    "USER",
]
