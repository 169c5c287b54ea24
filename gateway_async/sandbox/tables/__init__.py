"""Every table of the gateway. A new family of records begins with a file here."""

from gateway_async.sandbox.tables.account_vaults import ACCOUNT_VAULT, ROUTER_ACCOUNT_VAULT, TICKET
from gateway_async.sandbox.tables.contacts import CONTACT
from gateway_async.sandbox.tables.places import LOCATION, PRODUCT_TRANSACTION, TERMINAL, USER
from gateway_async.sandbox.tables.transactions import ROUTER_TRANSACTION, TRANSACTION

PLACES = (LOCATION, USER, PRODUCT_TRANSACTION, TERMINAL)
"""What a gateway has before its first request, and keeps when it begins anew."""

RECORDS = (CONTACT, ACCOUNT_VAULT, TICKET, TRANSACTION)
"""What requests make."""

STORED = PLACES + RECORDS
"""The tables with records of their own; the router tables only describe requests."""

BY_PLURAL = {table.plural: table for table in STORED}

__all__ = [
    "ACCOUNT_VAULT",
    "BY_PLURAL",
    "CONTACT",
    "LOCATION",
    "PLACES",
    "PRODUCT_TRANSACTION",
    "RECORDS",
    "ROUTER_ACCOUNT_VAULT",
    "ROUTER_TRANSACTION",
    "STORED",
    "TERMINAL",
    "TICKET",
    "TRANSACTION",
    "USER",
]
