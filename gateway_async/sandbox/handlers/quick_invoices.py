"""Quick invoices (contract, "Quick invoices"): itemized bills for a customer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway_async.sandbox.handlers.invoice_files import check_files, store_file
from gateway_async.sandbox.handlers.invoice_payments import counted
from gateway_async.sandbox.handlers.merchant_accounts import PRODUCTS, check_products, default_product
from gateway_async.sandbox.handlers.payment_pages import is_expired
from gateway_async.sandbox.http.errors import InvalidError, Problems
from gateway_async.sandbox.http.responses import answer, no_body
from gateway_async.sandbox.notifications.messages import tell_of_invoice
from gateway_async.sandbox.request.forms import is_form, read_form
from gateway_async.sandbox.request.records import change, deleter, lister, locate, reader, show
from gateway_async.sandbox.request.references import check_references
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import CONTACT, QUICK_INVOICE
from gateway_async.sandbox.schema.fields import label
from gateway_async.sandbox.schema.kinds import BIT, total
from gateway_async.sandbox.state_machines.quick_invoices import LIFE, Trigger, codes_of, state_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from gateway_async.sandbox.request.calls import Call
    from gateway_async.sandbox.runtime.gateway import Gateway
    from gateway_async.sandbox.schema.fields import Row

    Rule = tuple[tuple[str, ...], str, Callable[[Row], bool]]
    """The fields concerned, the message for the first of them, and a test for a broken rule."""

_CLOSED = (0, 2)
"""The values of `status_id` in a request that close an invoice; responses show 0."""

_UNPAID = 1


async def create(call: Call) -> Response:
    """Handle POST /v2/quickinvoices, as JSON or as a form with optional files."""
    if not is_form(call.request):
        return _create(call, await call.record("quickinvoice"), [])
    async with read_form(call.request, "quickinvoice", arrays=("files", "tags")) as record:
        return _create(call, record, record.pop("files", []))


def _create(call: Call, body: Row, files: Any) -> Response:
    gateway, problems = call.gateway, Problems()
    values = _read(call, body, problems)
    uploads = check_files(gateway, call.user, files, problems)
    problems.done()
    row = _new(call, values)
    with gateway.store.transaction():
        gateway.store.insert(QUICK_INVOICE, row)
        for upload in uploads:
            store_file(gateway, row, upload)
        if values.get("send_email"):
            tell_of_invoice(gateway, row, "created")
    return answer({"quickinvoice": show(call, QUICK_INVOICE, row)}, 201)


async def update(call: Call) -> Response:
    """Handle PUT /v2/quickinvoices/{id}; a closed invoice is refused.

    If the new items are already paid for, the invoice closes, as after a payment.
    """
    body = await call.record("quickinvoice")
    row, problems = locate(call, QUICK_INVOICE), Problems()
    if LIFE.after(state_of(row), Trigger.CHANGE) is None:
        raise InvalidError({"status_id": ["The invoice is closed."]})
    values = _read(call, body, problems, current=row)
    problems.done()
    closes = values.pop("status_id", None) in _CLOSED
    now = row | {name: value for name, value in values.items() if name in row}
    now |= {"amount_due": total(now["item_list"]), "modified_user_id": call.user["id"]}
    now |= counted(call.gateway, now)
    now = change(call, QUICK_INVOICE, row, _closed(now) if closes else now)
    return answer({"quickinvoice": show(call, QUICK_INVOICE, now)})


async def reopen(call: Call) -> Response:
    """Handle POST /v2/quickinvoices/{id}/reopen."""
    row = locate(call, QUICK_INVOICE)
    if is_expired(call.gateway, row):
        raise InvalidError({"expire_date": ["The invoice has expired."]})
    state = state_of(row)
    reopened = LIFE.after(state, Trigger.REOPEN_OVERPAYABLE if row["allow_overpayment"] else Trigger.REOPEN)
    if reopened is None:
        raise InvalidError({"status_id": [f"The invoice is {state} and cannot be reopened."]})
    now = change(call, QUICK_INVOICE, row, codes_of(reopened) | {"modified_user_id": call.user["id"]})
    return answer({"quickinvoice": show(call, QUICK_INVOICE, now)})


async def resend(call: Call) -> Response:
    """Handle POST /v2/quickinvoices/{id}/resend, with optional `?sms=0` or `?email=0`.

    The response is 204, also without an address to send to.
    """
    row, problems = locate(call, QUICK_INVOICE), Problems()
    email, sms = (_flag(call, name, problems) for name in ("email", "sms"))
    if not email and not sms:
        problems.add("email", "One of Email and Sms must be sent.")
    problems.done()
    tell_of_invoice(call.gateway, row, "resend", email=email, sms=sms)
    return no_body()


def _read(call: Call, body: Row, problems: Problems, *, current: Row | None = None) -> Row:
    values = read_fields(QUICK_INVOICE, body, problems, current=current)
    check_references(call.gateway, call.user, QUICK_INVOICE, values, problems, current=current)
    check_products(call.gateway, values, problems, current=current)
    _check_rules((current or {}) | values, problems)
    if current:
        _check_products_kept(current, values, problems)
    return values


def _new(call: Call, values: Row) -> Row:
    gateway, user = call.gateway, call.user
    closes = values.pop("status_id", None) in _CLOSED
    given = {name: value for name, value in values.items() if value is not None}
    due = total(values["item_list"])
    sums = {"amount_due": due, "remaining_balance": due}
    by = {"created_user_id": user["id"], "modified_user_id": user["id"]}
    row = gateway.new_row(QUICK_INVOICE, user, _known(gateway, user, values) | given | sums | by)
    return _closed(row) if closes else row


def _known(gateway: Gateway, user: Row, values: Row) -> Row:
    """Return the defaults that come from the location and the contact."""
    contact = values.get("contact_id") and gateway.store.find(CONTACT, id=values["contact_id"])
    known = {"email": contact["email"] or None if contact else None}
    if all(values.get(name) is None for name in PRODUCTS):
        known["cc_product_transaction_id"] = default_product(gateway, user, "cc")
    return known


def _closed(row: Row) -> Row:
    state = LIFE.after(state_of(row), Trigger.CLOSE)
    return row | codes_of(state) if state else row


def _flag(call: Call, name: str, problems: Problems) -> bool:
    try:
        return bool(BIT.read(call.query.get(name, "1")))
    except ValueError as reason:
        problems.add(name, f"{label(name)} {reason}")
        return True


def _check_rules(row: Row, problems: Problems) -> None:
    for fields, sentence, is_broken in _RULES:
        if is_broken(row) and not any(field in problems for field in fields):
            problems.add(fields[0], sentence)


def _check_products_kept(current: Row, values: Row, problems: Problems) -> None:
    for name in PRODUCTS:
        if current["payment_status_id"] != _UNPAID and values.get(name, current[name]) != current[name]:
            problems.add(name, f"{label(name)} cannot be changed once a payment was made.")


_RULES: tuple[Rule, ...] = (
    (
        ("status_id",),
        "Status Id must be 1, or 0 or 2 to close the invoice.",
        lambda row: row.get("status_id") not in {None, 1, *_CLOSED},
    ),
    (
        ("cell_phone", "send_text_to_pay"),
        "Cell Phone cannot be blank when Send Text To Pay is 1.",
        lambda row: bool(row.get("send_text_to_pay")) and row.get("cell_phone") is None,
    ),
    (
        ("dob_year", "ssn4"),
        "Only one of Ssn4 and Dob Year can be given.",
        lambda row: row.get("ssn4") is not None and row.get("dob_year") is not None,
    ),
    (
        ("dl_state", "dl_number"),
        "Dl Number and Dl State must be given together.",
        lambda row: (row.get("dl_number") is None) != (row.get("dl_state") is None),
    ),
)

get = reader(QUICK_INVOICE)
get_list = lister(QUICK_INVOICE)
delete = deleter(QUICK_INVOICE)
