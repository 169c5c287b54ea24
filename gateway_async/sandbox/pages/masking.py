"""Mask secrets: credentials, data of cards and bank accounts, and numbers that identify a person.

The schema tables mark the secret fields. Further names are those that programs use by mistake. A card number is masked
under every name, but for its last four digits.
"""

import re
from typing import Any

from gateway_async.sandbox.request.credentials import PARAMETERS
from gateway_async.sandbox.runtime.postback_delivery import mask_url
from gateway_async.sandbox.schema import STORED
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators.cards import mask_card_numbers

_STARS = "***"


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_SECRETS = frozenset(
    {_normalize(field.name) for table in STORED for field in table.fields if field.secret}
    | {_normalize(name) for name in PARAMETERS - {"user-id", "timestamp"}}
    | {"authorization", "cookie", "setcookie", "proxyauthorization"}
    | {"card", "cvc", "cvc2", "cvv2", "csc", "iban", "pan", "passwd", "pin", "pwd", "securitycode"}
    | {"track", "track1", "track2"}
)
_SECRET_ENDINGS = (
    *("accountnumber", "apikey", "cardnumber", "cvv", "dateofbirth", "dlnumber", "dobyear", "encryptionkey", "hashkey"),
    *("licensenumber", "password", "routingnumber", "secret", "ssn", "token", "trackdata"),
)
_SECRET_WORDS = frozenset(
    {
        "aba",
        "cavv",
        "cid",
        "csc",
        "cvc",
        "cvc2",
        "cvv2",
        "dda",
        "dob",
        "iban",
        "pan",
        "pin",
        "routing",
        "ssn4",
        "ticket",
    }
    | {"track", "track1", "track2"}
)
"""Words at the end of a name that are too short to be looked for without what separates them."""
_LAST_WORD = re.compile(r"(?:^|[^a-zA-Z0-9]|(?<=[a-z0-9])(?=[A-Z]))([A-Z]?[a-z0-9]+|[A-Z0-9]+)[^a-zA-Z0-9]*$")
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s\"']*@")
_MASKED_CARD = re.compile(r"\*+[0-9]{4}")
_NAME = re.compile(r"""((?:[\w\[\]-]|\\u[0-9A-Fa-f]{4}){1,64})[\\"']*\s*[:=]\s*""")
"""A name and what separates it from its value, in text that cannot be parsed, such as JSON that was cut off."""
_VALUE = re.compile(r"""[\[{].*|"(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&}\]]*""", re.DOTALL)
"""The value after a name; one that has an end of its own, and the whole rest of the text otherwise."""
_STRUCTURED = re.compile(r"\s*[\[{]|\w+://[^?]*\?")
"""The beginning of a text that contains fields: JSON, or a URL with a query."""


def is_secret(name: str) -> bool:
    """Whether values under a name are secrets; the name may have a group, as in `contact[ssn]`."""
    return any(map(_is_secret_part, re.split(r"[\[\].]", name)))


def _is_secret_part(name: str) -> bool:
    part, last = _normalize(name), _LAST_WORD.search(name)
    return part in _SECRETS or part.endswith(_SECRET_ENDINGS) or (last is not None and last[1].lower() in _SECRET_WORDS)


def mask_shown_text(text: str) -> str:
    """Mask the card numbers and the credentials of URLs in a text."""
    return mask_card_numbers(_USER_OF_URL.sub(f"{_STARS}@", text))


def mask_pairs(text: str) -> str:
    """Mask a text that may contain secret fields, whatever its format is."""
    parts, end = [], 0
    for found in _NAME.finditer(text):
        if found.start() >= end and ("\\" in found[1] or is_secret(found[1])):
            parts += [text[end : found.end()], _STARS]
            value = _VALUE.match(text, found.end())
            end = value.end() if value else found.end()
    return mask_shown_text("".join([*parts, text[end:]]))


def mask_header(name: str, value: str) -> str:
    """Mask the value of a header; of credentials, the scheme remains."""
    if not is_secret(name):
        return mask_pairs(value)
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {_STARS}" if space and scheme.isalpha() else _STARS


def mask_value(value: Any, name: str = "", *, secret: bool = False) -> Any:
    """Mask the secrets in a JSON value.

    Args:
        value: The value.
        name: The name under which the value is.
        secret: Whether everything in the value is secret.
    """
    secret = secret or is_secret(name)
    match value:
        case dict():
            return {mask_shown_text(key): mask_value(each, key, secret=secret) for key, each in value.items()}
        case list():
            return [mask_value(each, name, secret=secret) for each in value]
        case bool() | None | "":
            return value
        case _:
            return _mask_scalar(value, name, secret=secret)


def _mask_scalar(value: Any, name: str, *, secret: bool) -> Any:
    text = mask_url(str(value)) if name == "url" else str(value)
    masked = mask_pairs(text) if _STRUCTURED.match(text) else mask_shown_text(text)
    if secret:
        return masked if _MASKED_CARD.fullmatch(masked) else _STARS
    return value if masked == str(value) else masked


def mask_record(table: Table, record: Row) -> Row:
    """Mask the secrets of a record, which its table marks."""
    secrets = {field.name for field in table.fields if field.secret}
    return {
        name: mask_value(value, name if name == "url" else "", secret=name in secrets) for name, value in record.items()
    }
