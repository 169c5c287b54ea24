"""The hosted forms for payments and account vaults, which a browser opens by a signed URL.

The sandbox shows that the URL is right, and what it asks for. Nothing can be entered.
"""

import json
from decimal import Decimal
from html import escape

from starlette.responses import HTMLResponse, Response

from gateway_async.sandbox.http.errors import Problems, RefusedError
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.schema.fields import Row, label

__all__ = ["make_page", "show_account_form", "show_payment_form"]


_SHOWN = ("action", "payment_method", "transaction_amount", "transaction_api_id", "account_vault_api_id")
_PAYMENT = ("payment_method", "action", "product_transaction_id", "transaction_api_id")
_ACTIONS = ("sale", "debit", "authonly", "avsonly", "refund")
_REFERENCES = ("previous_transaction_id", "previous_transaction_api_id")
_ACCOUNT = ("payment_method", "location_id", "account_vault_api_id")


async def show_payment_form(context: RequestContext) -> Response:
    """Handle GET /v2/payform."""
    fields = _read_data(context, "transaction")
    amount = () if fields.get("action") == "avsonly" else ("transaction_amount",)
    code = ("ach_sec_code",) if fields.get("payment_method") == "ach" else ()
    problems = Problems()
    _check_action(fields, problems)
    return make_page("Payment form", fields, (*_PAYMENT, *amount, *code), problems)


async def show_account_form(context: RequestContext) -> Response:
    """Handle GET /v2/accountform."""
    return make_page("Account form", _read_data(context, "accountvault"), _ACCOUNT)


def _check_action(fields: Row, problems: Problems) -> None:
    """Check that a form makes a new payment, or a free refund."""
    if fields.get("action") not in (None, "", *_ACTIONS):
        problems.add("action", f"Action must be one of {', '.join(_ACTIONS)}.")
    for name in _REFERENCES if fields.get("action") == "refund" else ():
        if fields.get(name):
            problems.add(name, f"{label(name)} cannot be set for a refund.")


def _read_data(context: RequestContext, wrapper: str) -> Row:
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


def make_page(title: str, fields: Row, required: tuple[str, ...] = (), problems: Problems | None = None) -> Response:
    """Return a page that shows what a URL asks for.

    Raises:
        ValidationError: A required field is missing, or there are other problems.
    """
    problems = problems or Problems()
    for name in required:
        if fields.get(name) in (None, ""):
            problems.add(name, f"{label(name)} cannot be blank.")
    problems.raise_if_any()
    rows = "".join(
        f"<dt>{label(name)}</dt><dd>{escape(str(fields[name]))}</dd>" for name in _SHOWN if fields.get(name) is not None
    )
    return HTMLResponse(f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1><dl>{rows}</dl>")
