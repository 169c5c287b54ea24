"""Values for fields: of a given length, and recipes that several record types share."""

from collections.abc import Callable
from typing import Any

from .raw_client import BANK_ACCOUNT, VISA
from .record_type import Recipe, Recipes

LONG_VISA = VISA + "003"
"""The test card with as many digits as the longest card has; its check digit is right."""
TRACK = f";{VISA}=30121010000012345678?"


def address(_desk: Any, length: int) -> str:
    return "a@b.test".rjust(length, "a")[-length:] if length else ""


def phone(_desk: Any, length: int) -> str:
    return ("2125550123" * 2)[:length]


def items(_desk: Any, length: int) -> dict[str, Any]:
    """Return an item list whose compact JSON has the length."""
    name = length - len('{"":1}')
    return {"x" * name: 1} if name > 0 else {}


def starting(start: str) -> Callable[[Any, int], str]:
    """Return a value cut or filled up with zeros."""
    return lambda _desk, length: start.ljust(length, "0")[:length]


def track(_desk: Any, length: int) -> str:
    """Return a magnetic stripe, filled up."""
    return TRACK.ljust(length, "x")[:length]


def ticket(raw_client: Any, length: int) -> str:
    """Return a ticket, as long as the gateway creates them."""
    return raw_client.ticket() if 0 < length <= 36 else "t" * length


def contacts_id(raw_client: Any, length: int) -> str:
    """Return the integrator id of a contact."""
    own = raw_client.own_id(length)
    return str(raw_client.contact(contact_api_id=own)["contact_api_id"]) if 0 < length <= 64 else own


def sales_id(raw_client: Any, length: int) -> str:
    """Return the integrator id of a sale."""
    own = raw_client.own_id(length)
    return str(raw_client.sale(transaction_api_id=own)["transaction_api_id"]) if 0 < length <= 64 else own


def vaults_id(raw_client: Any, length: int) -> str:
    """Return the integrator id of a vault, which is shorter than the fields that name it."""
    own = raw_client.own_id(min(length, 36) if length <= 64 else length)
    return str(raw_client.vault(account_vault_api_id=own)["account_vault_api_id"]) if 0 < length <= 64 else own


def locations_id(raw_client: Any, length: int) -> str:
    """Return the integrator id of the location, or a text that is too short or too long for one."""
    return str(raw_client.location_api_id()) if 0 < length <= 36 else "l" * length


def picture(_desk: Any, length: int) -> str:
    return "aGk=" * (length // 4) + "a" * (length % 4)


def fact(name: str) -> Callable[[Any, int], str]:
    """Return an id of the seed data."""
    return lambda raw_client, length: getattr(raw_client.info, name) if 0 < length <= 36 else "f" * length


def made(what: str) -> Callable[[Any, int], str]:
    """Return the id of a new record."""
    return lambda raw_client, length: getattr(raw_client, what)()["id"] if 0 < length <= 36 else "f" * length


WITH_PHONE = Recipe(beside={"cell_phone": "2125550123"}, put_beside={"cell_phone": "2125550123"})
BANK = Recipe(create_mode="bank account")
MOVED = Recipe(put_beside={"action": "edit", "contact_id": lambda raw_client: raw_client.info.contact_id})
"""The recipe for a flag that moves a vault to another contact."""

SHARED: dict[str, Recipes] = {
    "location_id": Recipe(value=fact("location_id")),
    "contact_id": Recipe(value=fact("contact_id")),
    "contact_api_id": Recipe(value=contacts_id),
    "terminal_id": Recipe(value=fact("terminal_id")),
    "product_transaction_id": Recipe(value=fact("cc_product_transaction_id")),
    "cc_product_transaction_id": Recipe(value=fact("cc_product_transaction_id")),
    "ach_product_transaction_id": Recipe(value=fact("ach_product_transaction_id")),
    "email": Recipe(value=address),
    "cell_phone": Recipe(value=phone),
    "dl_number": Recipe(beside={"dl_state": "FL"}, put_beside={"dl_state": "FL"}),
    "dl_state": Recipe(beside={"dl_number": "D1234"}, put_beside={"dl_number": "D1234"}),
    "dob_year": Recipe(value=starting("1980")),
}
"""The recipes for fields of several record types."""

ACCOUNT_FIELDS: dict[str, Recipes] = SHARED | {
    "payment_method": (Recipe(values=("cc",)), Recipe(create_mode="bank account", values=("ach",))),
    "account_number": (
        Recipe(value=lambda _, length: LONG_VISA[:length].ljust(length, "0"), lengths=(19,)),
        Recipe(create_mode="bank account", value=starting("1")),
    ),
    "exp_date": Recipe(value=starting("1230")),
    "account_type": BANK,
    "routing": Recipe(create_mode="bank account", value=starting(BANK_ACCOUNT["routing"])),
    "is_company": BANK,
    "ach_sec_code": BANK,
    "track_data": Recipe(create_mode="swiped", value=track, lengths=(256,)),
    "ticket": Recipe(create_mode="ticket", value=ticket),
}
"""The recipes for a record type with a card or a bank account."""

NO_METHOD = {"payment_method": {"payment_method", "account_number", "exp_date"}}
"""Without a payment method an account is taken for a card."""


def instead(source: str) -> dict[str, set[str]]:
    """Return the fields of a problem that a missing account is reported under."""
    return {source: {source, "account_number"}}
