"""Encrypted URLs of hosted payment pages: create and read them.

The data is encrypted as by `openssl enc -aes-256-cbc -md md5`: `Salted__`, eight bytes of salt, and the encrypted text.
Key and initialization vector are MD5 digests of a text and the salt (`EVP_BytesToKey` of OpenSSL).
"""

import binascii
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from hashlib import md5
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs

from gateway_async._extras import import_extra
from gateway_async._secrets import Secret, is_confidential, seal
from gateway_async._wire.json_text import decode, encode, is_utf8
from gateway_async.errors import InvalidRequestError
from gateway_async.hosted_forms.fields import (
    address_problems,
    flag_problem,
    single_params,
    split_url,
    text_problems,
    value_problems,
    write_field,
)

_PATH: Final = "/hostedpaymentpage"


@attrs.frozen
class HostedPage:
    """The content of a hosted page's URL.

    Attributes:
        page_id: the id of the page.
        developer_id: the developer who made the URL, if it says so.
        settings: the settings of the page and its fields. The encryption hides them, but does not prevent changes.
    """

    page_id: str
    developer_id: str | None
    settings: Mapping[str, Any] = attrs.field(hash=False, repr=lambda settings: f"<{', '.join(settings)}>")


def hosted_page_url(
    base_url: str,
    page_id: str,
    settings: Mapping[str, Any],
    *,
    encryption_key: str | Secret,
    developer_id: str | None = None,
    salt: bytes | None = None,
) -> str:
    """The URL of a hosted payment page.

    The URL does not expire. The encryption hides the settings, but does not protect them: compare the result with
    `compare_form_result`.

    Args:
        base_url: the gateway's address, without `/v2`.
        page_id: the page, which exists at the gateway.
        settings: settings of the page, such as `redirect_url_on_approve`, and `field_configuration`, such as
            `{"body": {"fields": [{"id": "transaction_amount", "value": Decimal("12.50"), "readonly": True}]}}`.
            A field that is not on the page must be given as not visible. Amounts are a `Decimal`, an `int` or a `str`.
            Card and bank data, secrets, and data that identifies a person have no place in a URL.
        encryption_key: the page's key, which is not part of the URL.
        developer_id: your developer id, to make it part of the URL.
        salt: eight bytes that make the encrypted text unique; random by default.

    Raises:
        InvalidRequestError: an argument or a setting cannot be sent; `.problems` lists all of them.
        ModuleNotFoundError: the extra `hosted-pages` is not installed.
    """
    encryption_key, settings = Secret(encryption_key), seal(settings)  # an error's traceback shows local variables
    names = {} if developer_id is None else {"developer_id": developer_id}
    problems = [
        *address_problems(base_url),
        *text_problems(page_id=page_id, encryption_key=encryption_key, **names),
        *_setting_problems(settings),
        *_salt_problems(salt),
    ]
    if problems:
        raise InvalidRequestError(problems)
    content = encode({name: _write_setting(name, value) for name, value in settings.items()})
    data = _encrypt(content, encryption_key, salt or os.urandom(_SALT_BYTES))
    params = {"id": page_id, "data": b64encode(data).decode()}
    params |= {"developer-id": developer_id} if developer_id else {}
    return f"{base_url.rstrip('/')}{_PATH}?{urlencode(params, quote_via=quote)}"


def read_hosted_page_url(url: str, *, encryption_key: str | Secret) -> HostedPage:
    """Decrypt a hosted page's URL; return its content.

    The content does not prove who made the URL, or that it is unchanged.

    Args:
        url: the whole URL.
        encryption_key: the page's key.

    Raises:
        InvalidRequestError: it is not the URL of a hosted page, or was encrypted with another key.
        ModuleNotFoundError: the extra `hosted-pages` is not installed.
    """
    encryption_key = Secret(encryption_key)  # an error's traceback shows local variables
    if problems := [*text_problems(encryption_key=encryption_key)]:
        raise InvalidRequestError(problems)
    parts = split_url(url)
    if not parts.path.rstrip("/").endswith(_PATH):
        raise InvalidRequestError(f"url: must be the URL of a hosted page, with the path {_PATH}")
    params = single_params(parts.query, ("id", "data"))
    settings = _read_data(params["data"], encryption_key)
    if settings is None:
        raise InvalidRequestError("data: is not the data of a page, or was encrypted with another key")
    return HostedPage(params["id"], params.get("developer-id"), MappingProxyType(settings))


def _setting_problems(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name == "field_configuration" and isinstance(value, Mapping):
            yield from _configuration_problems(value)
        else:
            yield from value_problems("hostedpaymentpage", name, value)


def _salt_problems(salt: Any) -> Iterator[str]:
    if salt is not None and not (isinstance(salt, bytes) and len(salt) == _SALT_BYTES):
        yield f"salt: must be {_SALT_BYTES} bytes"


def _read_data(data: str, key: Secret) -> dict[str, Any] | None:
    try:
        settings = decode(_decrypt(b64decode(data, validate=True), key))
    except (binascii.Error, ValueError):
        return None
    return settings if isinstance(settings, dict) else None


# --- the fields of a page (`field_configuration`): their problems, and their values as JSON

_PARTS: Final = ("header", "body")
_KEYS: Final = ("id", "value", "label", "readonly", "visible")
_ENTERED_ONLY: Final = frozenset({"exp_date", "account_holder_name"})
"""Further fields whose values only the customer enters."""


def _configuration_problems(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each invalid part or field of a page."""
    for part, content in configuration.items():
        path = f"field_configuration.{part}"
        if part not in _PARTS:
            yield f"{path}: is not a part of a page (expected {' or '.join(_PARTS)})"
        elif not isinstance(content, Mapping) or not isinstance(content.get("fields"), list | tuple):
            yield f"{path}.fields: must be a list"
        else:
            yield from (f"{path}.{name}: is unknown (expected fields)" for name in content if name != "fields")
            for index, field in enumerate(content["fields"]):
                yield from (f"{path}.fields[{index}]{problem}" for problem in _field_problems(field))


def _field_problems(field: Any) -> Iterator[str]:
    if not isinstance(field, Mapping):
        yield ": must be a mapping"
        return
    yield from (f".{key}: is unknown (expected {', '.join(_KEYS)})" for key in field if key not in _KEYS)
    name, label = field.get("id"), field.get("label")
    if not isinstance(name, str) or not is_utf8(name) or not name:
        yield ".id: must be the name of a field"
    elif field.get("value") is not None:
        yield from _value_problems(name, field["value"])
    if label is not None and not (isinstance(label, str) and is_utf8(label)):
        yield ".label: must be text"
    for key in ("readonly", "visible"):
        if field.get(key) is not None and (problem := flag_problem(field[key])):
            yield f".{key}: {problem}"


def _value_problems(name: str, value: Any) -> Iterator[str]:
    if name in _ENTERED_ONLY or is_confidential(name):
        yield f".value: {name} can only be entered on the page"
    else:
        yield from (f".value: {line}" for line in value_problems("hostedpaymentpage", name, value))


def _write_setting(name: str, value: Any) -> Any:
    """Return the value of a page's setting as JSON has it."""
    if name != "field_configuration" or value is None:
        return write_field(name, value)
    return {
        part: {**content, "fields": [_write(field) for field in content["fields"]]} for part, content in value.items()
    }


def _write(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return a field as JSON has it: an amount with two decimals."""
    return {key: write_field(field["id"], value) if key == "value" else value for key, value in field.items()}


# --- encryption

_SALT_BYTES: Final = 8
_MAGIC: Final = b"Salted__"
_KEY_BYTES: Final = 32
_VECTOR_BYTES: Final = 16
_BLOCK_BITS: Final = 128


def _encrypt(content: bytes, key: Secret, salt: bytes) -> bytes:
    """The salt and the encrypted content."""
    padder, encryptor = _padding().padder(), _cipher(key, salt).encryptor()
    padded = padder.update(content) + padder.finalize()
    encrypted: bytes = _MAGIC + salt + encryptor.update(padded) + encryptor.finalize()
    return encrypted


def _decrypt(data: bytes, key: Secret) -> bytes:
    """The content. With another key it is an error, or seldom garbage.

    Raises:
        ValueError: the data has another format, or the key is wrong.
    """
    start = len(_MAGIC) + _SALT_BYTES
    if not data.startswith(_MAGIC) or len(data) < start:
        raise ValueError("the data has no salt")
    decryptor, unpadder = _cipher(key, data[len(_MAGIC) : start]).decryptor(), _padding().unpadder()
    padded = decryptor.update(data[start:]) + decryptor.finalize()
    content: bytes = unpadder.update(padded) + unpadder.finalize()
    return content


def _padding() -> Any:
    return _import("padding").PKCS7(_BLOCK_BITS)


def _cipher(key: Secret, salt: bytes) -> Any:
    ciphers = _import("ciphers")
    derived = _derive(key.reveal().encode(), salt)
    return ciphers.Cipher(ciphers.algorithms.AES(derived[:_KEY_BYTES]), ciphers.modes.CBC(derived[_KEY_BYTES:]))


def _derive(key: bytes, salt: bytes) -> bytes:
    """Derive the encryption key, followed by the initialization vector."""
    derived = digest = b""
    while len(derived) < _KEY_BYTES + _VECTOR_BYTES:
        digest = md5(digest + key + salt, usedforsecurity=False).digest()
        derived += digest
    return derived


def _import(module: str) -> Any:
    return import_extra(
        f"cryptography.hazmat.primitives.{module}", extra="hosted-pages", user="the URL of a hosted page"
    )
