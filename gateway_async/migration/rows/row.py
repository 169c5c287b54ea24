"""A row of a migration, and the id under which its account is stored (contract, *Account vault*)."""

import re
from base64 import b32encode
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

import attrs

from gateway_async._secrets import is_card_number, is_confidential, luhn_valid, mask_text
from gateway_async._wire.convert import fields_of, once_per_class
from gateway_async._wire.json_text import is_utf8
from gateway_async.models.account_vaults import VaultCreate

__all__ = ["VaultRow", "api_id_of", "fingerprint_of", "key_problems"]

_LENGTH: Final = 32
_NUMBERS: Final = re.compile(r"[\d\W_]+")
"""The parts of a key that may be a card number."""


@attrs.frozen(kw_only=True)
class VaultRow:
    """One row of a migration.

    Attributes:
        key: the name of the row within the migration, such as a customer's number; "" if it has no name.
        line: line number in its file, from 1; None if it comes from no file.
        request: the request that stores it; None if the row cannot be read.
        problems: why it cannot be stored, one line each, beginning with the field's name.
        source: the row as it is in its file, with the full card number, for the file of rejects.
        former_key: the key as earlier versions read it, if that differs, such as 1001.0 for 1001. A journal that one of
            them began goes on with it.
        has_full_date: whether the file gives the expiry as a full date, which a spreadsheet may have made.
    """

    key: str
    line: int | None = None
    request: VaultCreate | None = attrs.field(default=None, repr=False)
    problems: tuple[str, ...] = ()
    source: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    former_key: str | None = attrs.field(default=None, repr=False)
    has_full_date: bool = attrs.field(default=False, repr=False)


def key_problems(key: str, api_id: str | None) -> Iterator[str]:
    """Return why no journal can store a row under these names."""
    if not key:
        yield "key: required (or account_vault_api_id)"
    elif "\0" in key or not is_utf8(key):
        yield "key: contains a character that cannot be stored"
    elif any(map(is_card_number, _NUMBERS.findall(f"{key}a{api_id or ''}"))):
        yield "key: contains a card number (expected another column, because the journal stores keys)"


def api_id_of(migration: str, key: str) -> str:
    """Return the `account_vault_api_id` of a row without one: 32 letters and digits, always the same.

    It is made of names alone, never of the card.
    """
    digest = sha256(f"{len(migration)}:{migration}{key}".encode(errors="surrogatepass")).digest()
    return "m" + b32encode(digest).decode().lower()[: _LENGTH - 1]


def fingerprint_of(row: VaultRow) -> str:
    """Return a hash that changes when the row's content changes.

    Of an account number it contains only the last four digits, the length and whether the check digit is valid.
    """
    number, routing = _reveal(row.request, "account_number"), _reveal(row.request, "routing")
    check_digit_valid = number.isascii() and number.isdigit() and luhn_valid(number)
    content = [
        *_public_values(row.request),
        number[-4:],
        len(number),
        check_digit_valid,
        routing[-4:],
        len(routing),
        *sorted(row.problems),
    ]
    return sha256(repr(content).encode()).hexdigest()[:_LENGTH]


def _public_values(request: VaultCreate | None) -> Iterator[str]:
    """Yield the values of a request without its secrets. A card number inside a text is masked."""
    if request is None:
        return
    yield type(request).__name__
    names, values = _reader(type(request))
    for name, value in zip(names, values(request), strict=True):
        if value is not None:
            yield f"{name}={mask_text(str(value))}"
    if request.extra:
        yield mask_text(str(sorted(request.extra.items())))


@once_per_class
def _reader(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[VaultCreate], tuple[Any, ...]]]:
    """Return the fields of a fingerprint, and a getter of their values."""
    names = tuple(name for name in fields_of(kind) if not is_confidential(name))
    return names, attrgetter(*names)


def _reveal(request: VaultCreate | None, name: str) -> str:
    secret = getattr(request, name, None)
    return "" if secret is None else str(secret.reveal())
