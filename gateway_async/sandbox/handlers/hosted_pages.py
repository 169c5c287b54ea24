"""The gateway's own forms and pages, which a browser opens by a signed or encrypted URL.

The sandbox shows that the URL is right, and what it asks for. Nothing can be entered. Only the id of a hosted payment
page is required: the data of the URL replaces settings of the page, and fills in its fields.
"""

import json
import secrets
from base64 import b64decode
from decimal import Decimal
from hashlib import md5
from html import escape
from typing import Any

import attrs
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from starlette.responses import HTMLResponse, Response

from gateway_async.sandbox.handlers.merchant_accounts import default_product
from gateway_async.sandbox.http.responses import Problems, RefusedError
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.standard_handlers import make_create
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import HOSTED_PAYMENT_PAGE
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.schema.kinds import MONEY, show_money

_SETTINGS = attrs.evolve(
    HOSTED_PAYMENT_PAGE,
    fields=tuple(
        HOSTED_PAYMENT_PAGE.by_name[name]
        for name in (
            *("stylesheet_url", "min_payment_amount", "max_payment_amount", "parent_send_message"),
            *("redirect_url_on_approve", "redirect_url_on_decline", "redirect_url_delay", "field_configuration"),
        )
    ),
)
"""The fields of a page that the data of a URL replaces."""
_KEY_BYTES = 16
_LONGEST_DELAY = 15
_ENTERED = ("account_holder_name", "account_number", "exp_date", "cvv")
"""The fields that only the customer fills in."""
_HIDDEN = ("false", "0")
"""The spellings of `visible` in a field that is not shown."""
_DEFAULT_FIELDS = ("transaction_amount", *_ENTERED, "billing_street", "billing_zip")
"""The fields of a page without a `field_configuration`."""

_SHOWN = ("action", "payment_method", "transaction_amount", "transaction_api_id", "account_vault_api_id")
_PAYMENT = ("payment_method", "action", "product_transaction_id", "transaction_api_id")
_ACTIONS = ("sale", "debit", "authonly", "avsonly", "refund")
_REFERENCES = ("previous_transaction_id", "previous_transaction_api_id")
_ACCOUNT = ("payment_method", "location_id", "account_vault_api_id")


async def show_payment_form(context: RequestContext) -> Response:
    """Handle GET /v2/payform."""
    fields = _read_form(context, "transaction")
    amount = () if fields.get("action") == "avsonly" else ("transaction_amount",)
    code = ("ach_sec_code",) if fields.get("payment_method") == "ach" else ()
    problems = Problems()
    _check_action(fields, problems)
    return _make_page("Payment form", fields, (*_PAYMENT, *amount, *code), problems)


async def show_account_form(context: RequestContext) -> Response:
    """Handle GET /v2/accountform."""
    return _make_page("Account form", _read_form(context, "accountvault"), _ACCOUNT)


def _check_action(fields: Row, problems: Problems) -> None:
    """Check that a form makes a new payment, or a free refund."""
    if fields.get("action") not in (None, "", *_ACTIONS):
        problems.add("action", f"Action must be one of {', '.join(_ACTIONS)}.")
    for name in _REFERENCES if fields.get("action") == "refund" else ():
        if fields.get(name):
            problems.add(name, f"{label(name)} cannot be set for a refund.")


def _read_form(context: RequestContext, wrapper: str) -> Row:
    if "hash-key" not in context.query and "hash-key" not in context.request.headers:
        raise RefusedError(401, "Hash key is invalid")
    try:
        content = json.loads(bytes.fromhex(context.query.get("data", "")).decode(), parse_float=Decimal)
    except (ValueError, RecursionError):
        content = None
    fields = content.get(wrapper) if isinstance(content, dict) else None
    if not isinstance(fields, dict):
        raise RefusedError(400, f'The parameter data must be hex of JSON with the fields under "{wrapper}".')
    return fields


def _make_page(title: str, fields: Row, required: tuple[str, ...] = (), problems: Problems | None = None) -> Response:
    """Return a page that shows what a URL asks for."""
    problems = problems or Problems()
    for name in required:
        if fields.get(name) in (None, ""):
            problems.add_blank(name)
    problems.raise_if_any()
    rows = "".join(
        f"<dt>{label(name)}</dt><dd>{escape(str(fields[name]))}</dd>" for name in _SHOWN if fields.get(name) is not None
    )
    return HTMLResponse(f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1><dl>{rows}</dl>")


def _read_encrypted(text: str, key: str) -> Any:
    """Decrypt the data of a URL; return its JSON value.

    Raises:
        ValueError: It has another format, or another key encrypted it.
    """
    data = b64decode(text, validate=True)
    if data[:8] != b"Salted__":
        raise ValueError("The data has no salt.")
    content = _decrypt(data[16:], _derive(key.encode(), data[8:16]))
    try:
        return json.loads(content.decode(), parse_float=Decimal)
    except RecursionError:
        raise ValueError("The data is nested too deeply.") from None


def _derive(key: bytes, salt: bytes) -> bytes:
    """Derive 32 bytes for the key and 16 for the initialization vector."""
    first = md5(key + salt, usedforsecurity=False).digest()
    second = md5(first + key + salt, usedforsecurity=False).digest()
    return first + second + md5(second + key + salt, usedforsecurity=False).digest()


def _decrypt(encrypted: bytes, derived: bytes) -> bytes:
    decryptor = Cipher(algorithms.AES(derived[:32]), modes.CBC(derived[32:])).decryptor()
    unpadder = PKCS7(128).unpadder()
    padded = decryptor.update(encrypted) + decryptor.finalize()
    return unpadder.update(padded) + unpadder.finalize()


def _complete(context: RequestContext, _row: Row, values: Row, problems: Problems) -> None:
    """Check a new page, and add what was omitted."""
    _check_delay(values, problems)
    if values.get("encryption_key") is None:
        values["encryption_key"] = secrets.token_hex(_KEY_BYTES)
    if values.get("product_transaction_id") is None:
        values["product_transaction_id"] = default_product(context.gateway, context.user, "cc")


async def show_page(context: RequestContext) -> Response:
    """Handle GET /hostedpaymentpage."""
    page = context.gateway.store.find(HOSTED_PAYMENT_PAGE, id=context.query.get("id", ""))
    if page is None:
        raise RefusedError(404, "The record cannot be found.")
    asked, problems = _read_data(context.query.get("data"), page["encryption_key"]), Problems()
    settings = read_fields(context, _SETTINGS, asked, problems)
    _check_delay(settings, problems)
    fields = _values(page, asked.get("field_configuration"), problems)
    _check_amount(page | settings, fields, problems)
    problems.raise_if_any()
    return _make_page(page["title"], fields)


def _read_data(data: str | None, key: str) -> Row:
    if data is None:
        return {}
    try:
        asked = _read_encrypted(data, key)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise RefusedError(400, "The parameter data must be base64 of JSON that the page's key encrypts.")
    return asked


def _check_delay(values: Row, problems: Problems) -> None:
    if (values.get("redirect_url_delay") or 0) > _LONGEST_DELAY:
        problems.add("redirect_url_delay", f"Redirect Url Delay must be at most {_LONGEST_DELAY} seconds.")


def _values(page: Row, asked: Any, problems: Problems) -> Row:
    """The values of the page's fields, including the URL's."""
    own = _fields_of(json.loads(page["field_configuration"] or "{}"))
    on_page = {field["id"] for field in own} or set(_DEFAULT_FIELDS)
    given = _fields_of(asked)
    for field in given:
        if field["id"] in _ENTERED and field.get("value") is not None:
            problems.add(field["id"], f"The value of {field['id']} cannot be set.")
        elif field["id"] not in on_page and str(field.get("visible")).lower() not in _HIDDEN:
            problems.add(field["id"], f"{field['id']} is not on the page, so it must not be visible.")
    values = {"action": page["action"]} | {field["id"]: field.get("value") for field in (*own, *given)}
    return {name: value for name, value in values.items() if value is not None}


def _fields_of(configuration: Any) -> list[Row]:
    """The fields of the body; what has another form is left out."""
    body = configuration.get("body") if isinstance(configuration, dict) else None
    fields = body.get("fields") if isinstance(body, dict) else None
    listed = fields if isinstance(fields, list) else []
    return [field for field in listed if isinstance(field, dict) and isinstance(field.get("id"), str)]


def _check_amount(settings: Row, fields: Row, problems: Problems) -> None:
    if "transaction_amount" not in fields:
        return
    try:
        cents = MONEY.read(fields["transaction_amount"])
    except ValueError as problem:
        problems.add("transaction_amount", f"Transaction Amount {problem}")
        return
    low, high = settings["min_payment_amount"], settings["max_payment_amount"]
    if low is not None and cents < low:
        problems.add("transaction_amount", f"Transaction Amount must be at least {show_money(low)}.")
    if high is not None and cents > high:
        problems.add("transaction_amount", f"Transaction Amount must be at most {show_money(high)}.")


create = make_create(HOSTED_PAYMENT_PAGE, _complete)
