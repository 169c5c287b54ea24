"""Merchant accounts: a new location's accounts, a location's defaults, and checks of named accounts."""

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_TRANSACTION
from gateway_async.sandbox.schema.fields import Row

_METHODS = {"cc_product_transaction_id": "cc", "ach_product_transaction_id": "ach"}
PRODUCTS = tuple(_METHODS)
"""The fields of an invoice or paylink that name a merchant account."""


def add_products(gateway: Gateway, location_id: str) -> dict[str, str]:
    """Create the merchant accounts of a new location; return their ids by payment method."""
    owner = {"location_id": location_id}
    titles = {"cc": "Cards", "ach": "Bank accounts"}
    return {
        method: gateway.create(PRODUCT_TRANSACTION, owner, {"payment_method": method, "title": title})["id"]
        for method, title in titles.items()
    }


def default_products(gateway: Gateway, user: Row) -> Row:
    """The location's default merchant accounts for an invoice or paylink."""
    return {name: default_product(gateway, user, method) for name, method in _METHODS.items()}


def default_product(gateway: Gateway, user: Row, method: str) -> str | None:
    """The merchant account of the caller's location for a payment method."""
    product = gateway.store.find(PRODUCT_TRANSACTION, location_id=user["location_id"], payment_method=method)
    return str(product["id"]) if product else None


def find_product(gateway: Gateway, user: Row, values: Row) -> Row:
    """Find the merchant account of a payment: the named one, or the location's default; empty without one."""
    product_id = values.get("product_transaction_id") or default_product(gateway, user, values["payment_method"])
    return gateway.store.find(PRODUCT_TRANSACTION, id=product_id) or {}


def check_product(gateway: Gateway, name: str, values: Row, method: str | None, problems: Problems) -> None:
    """Check that a merchant account, if given, supports a payment method."""
    if values.get(name) is None or name in problems:
        return
    product = gateway.store.find(PRODUCT_TRANSACTION, id=values[name])
    if product and product["payment_method"] != method:
        problems.add_invalid(name)


def check_products(gateway: Gateway, values: Row, problems: Problems) -> None:
    """Check that a bill has merchant accounts that support their payment methods; one is enough."""
    for name, method in _METHODS.items():
        check_product(gateway, name, values, method, problems)
    if all(values.get(name) is None for name in PRODUCTS):
        problems.add(PRODUCTS[0], "One of Cc and Ach Product Transaction Id must be given.")
