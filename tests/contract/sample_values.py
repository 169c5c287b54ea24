"""What fields are tried with: values of a length, and recipes that several families share."""

from collections.abc import Callable
from typing import Any

from .raw_client import BANK_ACCOUNT, VISA
from .record_type import Recipe

LONG_VISA = VISA + "003"
"""The test card with as many digits as the longest card has; its check digit is right."""
TRACK = f";{VISA}=30121010000012345678?"


def address(_desk: Any, length: int) -> str:
    """An e-mail address."""
    return "a@b.test".rjust(length, "a")[-length:] if length else ""


def phone(_desk: Any, length: int) -> str:
    """A telephone number."""
    return ("2125550123" * 2)[:length]


def items(_desk: Any, length: int) -> dict[str, Any]:
    """An item list that is as long as it is written as compact JSON."""
    name = length - len('{"":1}')
    return {"x" * name: 1} if name > 0 else {}


def starting(start: str) -> Callable[[Any, int], str]:
    """A value cut or filled up with zeros."""
    return lambda _desk, length: start.ljust(length, "0")[:length]


def track(_desk: Any, length: int) -> str:
    """A magnetic stripe, filled up."""
    return TRACK.ljust(length, "x")[:length]


def ticket(desk: Any, length: int) -> str:
    """A ticket, as long as the gateway makes them."""
    return desk.ticket() if 0 < length <= 36 else "t" * length


def contacts_id(desk: Any, length: int) -> str:
    """The integrator id of a contact."""
    own = desk.own_id(length)
    return str(desk.contact(contact_api_id=own)["contact_api_id"]) if 0 < length <= 64 else own


def sales_id(desk: Any, length: int) -> str:
    """The integrator id of a sale."""
    own = desk.own_id(length)
    return str(desk.sale(transaction_api_id=own)["transaction_api_id"]) if 0 < length <= 64 else own


def vaults_id(desk: Any, length: int) -> str:
    """The integrator id of a vault; they are shorter than the fields that name them."""
    own = desk.own_id(min(length, 36) if length <= 64 else length)
    return str(desk.vault(account_vault_api_id=own)["account_vault_api_id"]) if 0 < length <= 64 else own


def fact(name: str) -> Callable[[Any, int], str]:
    """An id that is there from the start."""
    return lambda desk, length: getattr(desk.info, name) if 0 < length <= 36 else "f" * length


def made(what: str) -> Callable[[Any, int], str]:
    """The id of a record that is made for the purpose."""
    return lambda desk, length: getattr(desk, what)()["id"] if 0 < length <= 36 else "f" * length


CONTACT_ID = Recipe(value=fact("contact_id"))
CONTACT_ALIAS = Recipe(value=contacts_id)
LOCATION_ID = Recipe(value=fact("location_id"))
TERMINAL_ID = Recipe(value=fact("terminal_id"))
CC_PRODUCT = Recipe(value=fact("cc_product_transaction_id"))
ACH_PRODUCT = Recipe(value=fact("ach_product_transaction_id"))
EMAIL = Recipe(value=address)
PHONE = Recipe(value=phone)
WITH_PHONE = Recipe(beside={"cell_phone": "2125550123"}, put_beside={"cell_phone": "2125550123"})
DL_NUMBER = Recipe(beside={"dl_state": "FL"}, put_beside={"dl_state": "FL"})
DL_STATE = Recipe(beside={"dl_number": "D1234"}, put_beside={"dl_number": "D1234"})
YEAR = Recipe(value=starting("1980"))
EXPIRY = Recipe(value=starting("1230"))
ROUTING = Recipe(way="bank account", value=starting(BANK_ACCOUNT["routing"]))
NUMBER = (
    Recipe(value=lambda _, length: LONG_VISA[:length].ljust(length, "0"), lengths=(19,)),
    Recipe(way="bank account", value=starting("1"), lengths=(4,)),
)
METHOD = (Recipe(values=("cc",)), Recipe(way="bank account", values=("ach",)))
BANK = Recipe(way="bank account")
NO_METHOD = {"payment_method": {"payment_method", "account_number", "exp_date"}}
"""Without a payment method an account is taken for a card."""


def instead(source: str) -> dict[str, set[str]]:
    """Whoever names no account is asked for a number."""
    return {source: {source, "account_number"}}
