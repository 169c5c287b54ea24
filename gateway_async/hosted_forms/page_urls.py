"""Encrypted URLs of hosted payment pages: their construction, and reading them again."""

import binascii
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs

from gateway_async._secrets import Secret, seal
from gateway_async._wire.json_text import decode, encode
from gateway_async.errors import InvalidRequestError
from gateway_async.hosted_forms.addresses import address_problems, single_params, split_url, text_problems
from gateway_async.hosted_forms.encryption import SALT_BYTES, decrypt, encrypt
from gateway_async.hosted_forms.fields import value_problems
from gateway_async.hosted_forms.page_fields import configuration_problems, write_setting

__all__ = ["HostedPage", "hosted_page_url", "read_hosted_page_url"]

_PATH: Final = "/hostedpaymentpage"


@attrs.frozen
class HostedPage:
    """The content of a hosted page's URL.

    Attributes:
        page_id: the id of the page.
        developer_id: the developer who made the URL, if it says so.
        settings: the settings of the page and its fields. The encryption hides them, and does not prevent changes.
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
    """Return the URL of a hosted payment page.

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
        developer_id: your developer id, if it shall be part of the URL.
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
    content = encode({name: write_setting(name, value) for name, value in settings.items()})
    data = encrypt(content, encryption_key, salt or os.urandom(SALT_BYTES))
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
        InvalidRequestError: the URL is not that of a hosted page, or was encrypted with another key.
        ModuleNotFoundError: the extra `hosted-pages` is not installed.
    """
    encryption_key = Secret(encryption_key)  # an error's traceback shows local variables
    parts = split_url(url)
    if not parts.path.rstrip("/").endswith(_PATH):
        raise InvalidRequestError(f"url: must be that of a hosted page, with the path {_PATH}")
    params = single_params(parts.query, ("id", "data"))
    settings = _read_data(params["data"], encryption_key)
    if settings is None:
        raise InvalidRequestError("data: is not that of a page, or was encrypted with another key")
    return HostedPage(params["id"], params.get("developer-id"), MappingProxyType(settings))


def _setting_problems(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name == "field_configuration" and isinstance(value, Mapping):
            yield from configuration_problems(value)
        else:
            yield from value_problems("hostedpaymentpage", name, value)


def _salt_problems(salt: Any) -> Iterator[str]:
    if salt is not None and not (isinstance(salt, bytes) and len(salt) == SALT_BYTES):
        yield f"salt: must be {SALT_BYTES} bytes"


def _read_data(data: str, key: Secret) -> dict[str, Any] | None:
    try:
        settings = decode(decrypt(b64decode(data, validate=True), key))
    except (binascii.Error, ValueError):
        return None
    return settings if isinstance(settings, dict) else None
