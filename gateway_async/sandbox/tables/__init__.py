"""Every table of the gateway. A new family of records begins with a file here."""

from gateway_async.sandbox.tables.account_vaults import ACCOUNT_VAULT, ROUTER_ACCOUNT_VAULT, TICKET
from gateway_async.sandbox.tables.changelogs import CHANGELOG
from gateway_async.sandbox.tables.contacts import CONTACT
from gateway_async.sandbox.tables.outbox import NOTICE
from gateway_async.sandbox.tables.paylinks import PAYLINK
from gateway_async.sandbox.tables.places import LOCATION, PRODUCT_TRANSACTION, TERMINAL, USER
from gateway_async.sandbox.tables.postback_configs import POSTBACK_CONFIG
from gateway_async.sandbox.tables.postbacks import POSTBACK
from gateway_async.sandbox.tables.quick_invoices import (
    FILE_CONTENT,
    INVOICED_TRANSACTION,
    PRODUCT_FILE,
    QUICK_INVOICE,
    QUICK_INVOICE_FILE,
)
from gateway_async.sandbox.tables.tokens import LOGIN, TOKEN
from gateway_async.sandbox.tables.transaction_batches import TRANSACTION_BATCH
from gateway_async.sandbox.tables.transactions import ROUTER_TRANSACTION, TRANSACTION

PLACES = (LOCATION, USER, PRODUCT_TRANSACTION, TERMINAL)
"""What a gateway has before its first request, and keeps when it begins anew."""

RECORDS = (
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
    NOTICE,
)
"""What requests make."""

STORED = PLACES + RECORDS
"""The tables with records of their own; the router tables only describe requests."""

BY_PLURAL = {table.plural: table for table in STORED}

__all__ = [
    "ACCOUNT_VAULT",
    "BY_PLURAL",
    "CHANGELOG",
    "CONTACT",
    "FILE_CONTENT",
    "INVOICED_TRANSACTION",
    "LOCATION",
    "LOGIN",
    "NOTICE",
    "PAYLINK",
    "PLACES",
    "POSTBACK",
    "POSTBACK_CONFIG",
    "PRODUCT_FILE",
    "PRODUCT_TRANSACTION",
    "QUICK_INVOICE",
    "QUICK_INVOICE_FILE",
    "RECORDS",
    "ROUTER_ACCOUNT_VAULT",
    "ROUTER_TRANSACTION",
    "STORED",
    "TERMINAL",
    "TICKET",
    "TOKEN",
    "TRANSACTION",
    "TRANSACTION_BATCH",
    "USER",
]
