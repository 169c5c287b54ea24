"""Hosted payment pages: their records, and the page that a browser opens by an encrypted URL.

The page shows what the URL asks for. Nothing can be entered. Only the id of a page is required: the data of the URL
replaces settings of the page, and fills in its fields.
"""

import json
import secrets
from typing import Any

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.hosted_forms import make_page
from gateway_async.sandbox.handlers.merchant_accounts import default_product
from gateway_async.sandbox.http.encrypted_data import read_encrypted_data
from gateway_async.sandbox.http.errors import Problems, RefusedError
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import make_get, make_list, read_new, show_record
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import HOSTED_PAYMENT_PAGE
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import MONEY, show_money

__all__ = ["create", "get", "get_list", "show_page"]


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

get = make_get(HOSTED_PAYMENT_PAGE)
get_list = make_list(HOSTED_PAYMENT_PAGE)


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/hostedpaymentpages. An omitted encryption key is created."""
    values, problems = await read_new(context, HOSTED_PAYMENT_PAGE)
    _check_delay(values, problems)
    problems.raise_if_any()
    known = {
        "encryption_key": secrets.token_hex(_KEY_BYTES),
        "product_transaction_id": default_product(context.gateway, context.user, "cc"),
    }
    given = {name: value for name, value in values.items() if value is not None}
    row = context.gateway.create(HOSTED_PAYMENT_PAGE, context.user, known | given)
    return json_response({"hostedpaymentpage": show_record(context, HOSTED_PAYMENT_PAGE, row)}, 201)


async def show_page(context: RequestContext) -> Response:
    """Handle GET /hostedpaymentpage."""
    page = context.gateway.store.find(HOSTED_PAYMENT_PAGE, id=context.query.get("id", ""))
    if page is None:
        raise RefusedError(404, "The record cannot be found.")
    asked, problems = _read_data(context.query.get("data"), page["encryption_key"]), Problems()
    settings = read_fields(_SETTINGS, asked, problems, strict=context.gateway.strict)
    _check_delay(settings, problems)
    fields = _values(page, asked.get("field_configuration"), problems)
    _check_amount(page | settings, fields, problems)
    problems.raise_if_any()
    return make_page(page["title"], fields)


def _read_data(data: str | None, key: str) -> Row:
    if data is None:
        return {}
    try:
        asked = read_encrypted_data(data, key)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise RefusedError(400, "The parameter data must be base64 of JSON that the page's key encrypts.")
    return asked


def _check_delay(values: Row, problems: Problems) -> None:
    if (values.get("redirect_url_delay") or 0) > _LONGEST_DELAY:
        problems.add("redirect_url_delay", f"Redirect Url Delay must be at most {_LONGEST_DELAY} seconds.")


def _values(page: Row, asked: Any, problems: Problems) -> Row:
    """Return the values of the page's fields, with those of the URL."""
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
    """Return the fields of the body; what has another form is left out."""
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
