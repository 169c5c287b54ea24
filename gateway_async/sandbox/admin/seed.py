"""The initial data of a gateway.

It is a location with a user, merchant accounts, a contact and a terminal.
"""

import asyncio
import secrets
import sqlite3

import attrs
import msgspec

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.info import SandboxInfo
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CONTACT,
    CREATED_RECORDS,
    LOCATION,
    PRODUCT_TRANSACTION,
    TERMINAL,
    TICKET,
    USER,
)
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators.cards import TEST_CARDS, Account, read_card

__all__ = ["add_location", "add_terminal", "add_ticket", "add_vaults", "delete_records", "load_info"]


_VAULTS_PER_TRANSACTION = 5000
_CONTACT = {"first_name": "John", "last_name": "Smith"}
_USER = {"first_name": "Sandy", "last_name": "Box", "email": "sandy@example.com"}


def load_info(gateway: Gateway) -> SandboxInfo:
    """Return the info of the first location, which the first start creates.

    Raises:
        sqlite3.DatabaseError: The data file holds incompatible info.
    """
    settings = gateway.store.read_settings()
    if "info" not in settings:
        info = add_location(gateway, developer_id=gateway.ids.new())
        gateway.store.write_setting("info", msgspec.json.encode(info).decode())
        return info
    _complete_users(gateway)
    try:
        return attrs.evolve(msgspec.json.decode(settings["info"], type=SandboxInfo), base_url=gateway.base_url)
    except msgspec.DecodeError:
        raise sqlite3.DatabaseError("the file was not made by this sandbox") from None


def _complete_users(gateway: Gateway) -> None:
    """Fill in what the users of an older file lack."""
    for user in gateway.store.select(USER, "primary_location_id IS NULL"):
        gateway.store.update(USER, user["id"], {"primary_location_id": user["location_id"]})


def add_ticket(gateway: Gateway, user: Row, card: Account) -> str:
    """Create a ticket and return its id; it replaces a card once."""
    row = gateway.new_row(TICKET, user, attrs.asdict(card))
    gateway.store.insert(TICKET, row)
    return str(row["id"])


def delete_records(gateway: Gateway) -> None:
    """Delete what requests created.

    Locations, users and terminals stay, and so does the id of the first contact.
    """
    with gateway.store.transaction():
        for table in CREATED_RECORDS:
            gateway.store.clear(table)
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
        row = gateway.new_row(table, owner, values)
        gateway.store.insert(table, row)
        return str(row["id"])

    secret = {name: secrets.token_hex(16) for name in ("password", "user_api_key", "user_hash_key")}
    login = {"username": f"user-{secrets.token_hex(4)}", "domain": f"sandbox-{secrets.token_hex(4)}"}
    with gateway.store.transaction():
        info = SandboxInfo(
            base_url=gateway.base_url,
            developer_id=developer_id,
            user_id=add(USER, **_USER, primary_location_id=owner["location_id"], **login, **secret),
            **login,
            **secret,
            location_id=owner["location_id"],
            contact_id=add(CONTACT, **_CONTACT),
            cc_product_transaction_id=add(PRODUCT_TRANSACTION, payment_method="cc", title="Cards"),
            ach_product_transaction_id=add(PRODUCT_TRANSACTION, payment_method="ach", title="Bank accounts"),
            terminal_id=add_terminal(gateway, owner, "Counter"),
        )
        gateway.store.insert(LOCATION, _location(gateway, info, name, parent_id or gateway.ids.new()))
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
    known = {"title": title, "sig_capture_enable": int(sig_capture_enable)}
    row = gateway.new_row(TERMINAL, user, known | {"serial_number": str(secrets.randbelow(10**12))})
    gateway.store.insert(TERMINAL, row)
    return str(row["id"])


async def add_vaults(gateway: Gateway, user: Row, count: int) -> None:
    """Store many account vaults of the first contact.

    Each has its own `account_vault_api_id`.

    Raises:
        ValueError: The count is negative.
    """
    if count < 0:
        raise ValueError("count: must be 0 or more.")
    card = read_card(TEST_CARDS["visa"], "1230", "John Smith")
    values = attrs.asdict(card) | {"contact_id": gateway.info.contact_id}
    template = gateway.new_row(ACCOUNT_VAULT, user, values)
    series = secrets.token_hex(4)
    for start in range(0, count, _VAULTS_PER_TRANSACTION):
        with gateway.store.transaction():
            numbers = range(start, min(start + _VAULTS_PER_TRANSACTION, count))
            names = ({"account_vault_api_id": f"seed-{series}-{n}", "title": f"Vault {n}"} for n in numbers)
            gateway.store.insert(ACCOUNT_VAULT, *(template | {"id": gateway.ids.new()} | own for own in names))
        await asyncio.sleep(0)
