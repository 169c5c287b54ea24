"""The initial data of a gateway.

It is a location with a user, merchant accounts, a contact and a terminal.
"""

import secrets
import sqlite3
from collections.abc import Mapping

import attrs
import msgspec

from gateway_async.sandbox.handlers.merchant_accounts import add_products
from gateway_async.sandbox.runtime.gateway import Gateway, SandboxInfo
from gateway_async.sandbox.schema import (
    AUTH_ROLE_USER,
    CONTACT,
    CREATED_RECORDS,
    LOCATION,
    PRODUCT_TRANSACTION,
    TERMINAL,
    USER,
)
from gateway_async.sandbox.schema.fields import Row, Table

_CONTACT = {"first_name": "John", "last_name": "Smith"}
_ROLE = 1
_OWN = "created_user_id IS NULL"
"""The condition for records that the sandbox made itself, not a request."""

_DEVICE = {"terminal_manufacturer_id": "1", "terminal_application_id": "1"}
_USER = {"first_name": "Sandy", "last_name": "Box", "email": "sandy@example.com"}


def load_info(gateway: Gateway) -> SandboxInfo:
    """Load the info of the first location, which the first start creates."""
    info = read_info(gateway.store.read_settings())
    if info is None:
        info = add_location(gateway, developer_id=gateway.ids.new())
        gateway.store.write_setting("info", msgspec.json.encode(info).decode())
        return info
    _complete_users(gateway)
    return attrs.evolve(info, base_url=gateway.base_url)


def read_info(settings: Mapping[str, str]) -> SandboxInfo | None:
    """Read the info of the first location; None before the first start has created it.

    Raises:
        sqlite3.DatabaseError: The settings are not a sandbox's.
    """
    try:
        return msgspec.json.decode(settings["info"], type=SandboxInfo) if "info" in settings else None
    except (msgspec.DecodeError, TypeError):
        raise sqlite3.DatabaseError("the file was not made by this sandbox") from None


def _complete_users(gateway: Gateway) -> None:
    """Complete the sandbox's own users.

    An older file lacks their primary location and role, and a request can remove the role.
    """
    for user in gateway.store.select(USER, "primary_location_id IS NULL"):
        gateway.store.update(USER, user["id"], {"primary_location_id": user["location_id"]})
    for user in gateway.store.select(USER, _OWN):
        if gateway.store.find(AUTH_ROLE_USER, user_id=user["id"]) is None:
            _add_role(gateway, user)


def _add_role(gateway: Gateway, user: Row) -> None:
    gateway.create(AUTH_ROLE_USER, {"location_id": user["location_id"]}, {"user_id": user["id"], "auth_role_id": _ROLE})


def delete_records(gateway: Gateway) -> None:
    """Delete what requests created.

    The sandbox's own locations, users and terminals stay, or come back. So does the id of the first contact.
    """
    with gateway.store.transaction():
        for table in CREATED_RECORDS:
            gateway.store.clear(table)
        for table in (LOCATION, USER, AUTH_ROLE_USER, TERMINAL):
            gateway.store.clear(table, f"NOT ({_OWN})")
            for row in gateway.store.select(table, "deleted_ts IS NOT NULL"):
                gateway.store.update(table, row["id"], {"deleted_ts": None})
        gateway.store.clear(PRODUCT_TRANSACTION, "location_id NOT IN (SELECT id FROM locations)")
        _complete_users(gateway)
        contact = gateway.new_row(CONTACT, gateway.first_location, _CONTACT) | {"id": gateway.info.contact_id}
        gateway.store.insert(CONTACT, contact)


def add_location(
    gateway: Gateway, developer_id: str, name: str = "Sandbox", parent_id: str | None = None
) -> SandboxInfo:
    """Create a location with its user, merchant accounts, contact and terminal.

    Without a `parent_id`, its parent is one that no user can see.
    """
    owner: Row = {"location_id": gateway.ids.new()}

    def add(table: Table, **values: str) -> str:
        return str(gateway.create(table, owner, values)["id"])

    secret = {name: secrets.token_hex(16) for name in ("password", "user_api_key", "user_hash_key")}
    login = {"username": f"user-{secrets.token_hex(4)}", "domain": f"sandbox-{secrets.token_hex(4)}"}
    with gateway.store.transaction():
        products = add_products(gateway, owner["location_id"])
        info = SandboxInfo(
            base_url=gateway.base_url,
            developer_id=developer_id,
            user_id=add(USER, **_USER, primary_location_id=owner["location_id"], **login, **secret),
            **login,
            **secret,
            location_id=owner["location_id"],
            contact_id=add(CONTACT, **_CONTACT),
            cc_product_transaction_id=products["cc"],
            ach_product_transaction_id=products["ach"],
            terminal_id=add_terminal(gateway, owner, "Counter"),
        )
        gateway.store.insert(LOCATION, _location(gateway, info, name, parent_id or gateway.ids.new()))
        _add_role(gateway, owner | {"id": info.user_id})
        return info


def _location(gateway: Gateway, info: SandboxInfo, name: str, parent_id: str) -> Row:
    known = {
        "name": name,
        "parent_id": parent_id,
        "location_api_id": f"location-{secrets.token_hex(4)}",
        "default_cc": info.cc_product_transaction_id,
        "default_ach": info.ach_product_transaction_id,
    }
    return gateway.new_row(LOCATION, {"location_id": info.location_id}, known) | {"id": info.location_id}


def add_terminal(gateway: Gateway, user: Row, title: str, *, sig_capture_enable: bool = True) -> str:
    """Create a terminal in the caller's location and return its id."""
    values = _DEVICE | {"title": title, "sig_capture_enable": int(sig_capture_enable)}
    values |= {"serial_number": str(secrets.randbelow(10**12))}
    return str(gateway.create(TERMINAL, user, values)["id"])
