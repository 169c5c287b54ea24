"""Quick invoices (contract, "Quick invoices"): itemized invoices that a customer pays on a page.

The content of a file is in its own table, and is read only on demand. The File Storage Service, which stores files for
a location, is enabled from the start in the gateway's first location.
"""

from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import PRODUCTS, check_products, default_product
from gateway_async.sandbox.handlers.payments.invoice_balance import compute_balance, is_expired
from gateway_async.sandbox.handlers.payments.rules import check_license
from gateway_async.sandbox.http.responses import (
    Problems,
    RefusedError,
    RefusedFieldsError,
    UnknownRecordError,
    empty_response,
    json_response,
)
from gateway_async.sandbox.notifications import notify_about_invoice
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.forms import is_form, read_form
from gateway_async.sandbox.request.records import (
    check_values,
    find_record,
    make_links,
    respond,
    update_record,
)
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    CONTACT,
    FILE_CONTENT,
    PRODUCT_FILE,
    PRODUCT_TRANSACTION,
    QUICK_INVOICE,
    QUICK_INVOICE_FILE,
)
from gateway_async.sandbox.schema.codes import InvoiceStatus, PaymentStatus
from gateway_async.sandbox.schema.fields import Row, label
from gateway_async.sandbox.schema.kinds import BIT, total
from gateway_async.sandbox.state_machines.quick_invoices import (
    INVOICE_MACHINE,
    InvoiceTrigger,
    codes_of,
    invoice_state_of,
)

_CLOSED = (InvoiceStatus.CLOSED, InvoiceStatus.CLOSED_ALIAS)
"""The values of `status_id` in a request that close an invoice; responses show 0."""

MOST_FILES, LARGEST_FILE = 4, 5 * 1024 * 1024
_UNTYPED = "application/octet-stream"
_REMINDERS = ("notification_days_before_due_date", "notification_days_after_due_date")
"""The days of reminders, which have defaults. Null in a PUT leaves such a reminder out."""


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/quickinvoices, as JSON or as a form with optional files."""
    if not is_form(context.request):
        return _create(context, await context.read_record("quickinvoice"), [])
    async with read_form(context.request, "quickinvoice", arrays=("files", "tags")) as record:
        return _create(context, record, record.pop("files", []))


def _create(context: RequestContext, body: Row, files: Any) -> Response:
    gateway, problems = context.gateway, Problems()
    values = _read_values(context, body, problems)
    uploads = _check_files(gateway, context.user, files, problems)
    problems.raise_if_any()
    row = _make_row(context, values)
    with gateway.store.transaction():
        gateway.store.insert(QUICK_INVOICE, row)
        for upload in uploads:
            _store_file(gateway, row, upload)
        if values.get("send_email"):
            notify_about_invoice(gateway, row, "created")
    return respond(context, QUICK_INVOICE, row, 201)


async def update(context: RequestContext) -> Response:
    """Handle PUT /v2/quickinvoices/{id}; a closed invoice is refused.

    If the new items are already paid for, the invoice closes, as after a payment.
    """
    body = await context.read_record("quickinvoice")
    row, problems = find_record(context, QUICK_INVOICE), Problems()
    if INVOICE_MACHINE.next_state(invoice_state_of(row), InvoiceTrigger.CHANGE) is None:
        raise RefusedFieldsError({"status_id": ["The invoice is closed."]})
    values = _read_values(context, body, problems, current=row)
    problems.raise_if_any()
    closes = values.pop("status_id", None) in _CLOSED
    changed = row | {name: value for name, value in values.items() if name in row}
    changed["amount_due"] = total(changed["item_list"])
    if not row["allow_overpayment"] and row["single_payment_max_amount"] == row["amount_due"]:
        changed["single_payment_max_amount"] = changed["amount_due"]
    changed |= compute_balance(context.gateway, changed)
    updated = update_record(context, QUICK_INVOICE, row, _close(changed) if closes else changed)
    return respond(context, QUICK_INVOICE, updated)


async def reopen(context: RequestContext) -> Response:
    """Handle POST /v2/quickinvoices/{id}/reopen; an open invoice is returned."""
    row = find_record(context, QUICK_INVOICE)
    state = invoice_state_of(row)
    if row["status_id"] == InvoiceStatus.OPEN:
        return respond(context, QUICK_INVOICE, row)
    if is_expired(context.gateway, row):
        raise RefusedFieldsError({"expire_date": ["The invoice has expired."]})
    reopened = INVOICE_MACHINE.next_state(
        state, InvoiceTrigger.REOPEN_OVERPAYABLE if row["allow_overpayment"] else InvoiceTrigger.REOPEN
    )
    if reopened is None:
        raise RefusedFieldsError({"status_id": [f"The invoice is {state} and cannot be reopened."]})
    updated = update_record(context, QUICK_INVOICE, row, codes_of(reopened))
    return respond(context, QUICK_INVOICE, updated)


async def resend(context: RequestContext) -> Response:
    """Handle POST /v2/quickinvoices/{id}/resend, with optional `?sms=0` or `?email=0`.

    The response is 204, even without an address to send to.
    """
    row, problems = find_record(context, QUICK_INVOICE), Problems()
    email, sms = (_read_flag(context, name, problems) for name in ("email", "sms"))
    if not email and not sms:
        problems.add("email", "One of Email and Sms must be sent.")
    problems.raise_if_any()
    notify_about_invoice(context.gateway, row, "resend", email=email, sms=sms)
    return empty_response()


def _read_values(context: RequestContext, body: Row, problems: Problems, *, current: Row | None = None) -> Row:
    values = check_values(context, QUICK_INVOICE, body, problems, current=current)
    if current is None and all(values.get(name) is None for name in PRODUCTS):
        values["cc_product_transaction_id"] = default_product(context.gateway, context.user, "cc")
    merged = (current or {}) | values
    check_products(context.gateway, merged, problems)
    _check_dependent_fields(merged, problems)
    if (product_id := values.get("ach_product_transaction_id")) is not None:
        product = context.gateway.store.find(PRODUCT_TRANSACTION, id=product_id) or {}
        check_license(product, merged, problems)
    if current:
        _check_same_products(current, values, problems)
        values |= {name: None for name in _REMINDERS if body.get(name, "") is None}
    return values


def _make_row(context: RequestContext, values: Row) -> Row:
    gateway = context.gateway
    closes = values.pop("status_id", None) in _CLOSED
    given = {name: value for name, value in values.items() if value is not None}
    due = total(values["item_list"])
    sums = {"amount_due": due, "remaining_balance": due}
    contact = values.get("contact_id") and gateway.store.find(CONTACT, id=values["contact_id"])
    known = {"email": contact["email"] or None if contact else None}
    if not values.get("allow_overpayment"):
        known["single_payment_max_amount"] = due
    row = gateway.new_row(QUICK_INVOICE, context.user, known | given | sums)
    return _close(row) if closes else row


def _close(row: Row) -> Row:
    state = INVOICE_MACHINE.next_state(invoice_state_of(row), InvoiceTrigger.CLOSE)
    return row | codes_of(state) if state else row


def _read_flag(context: RequestContext, name: str, problems: Problems) -> bool:
    try:
        return bool(BIT.read(context.query.get(name, "1")))
    except ValueError as reason:
        problems.add(name, f"{label(name)} {reason}")
        return True


def _check_dependent_fields(row: Row, problems: Problems) -> None:
    is_status = row.get("status_id") in {None, *InvoiceStatus}
    problems.check(is_status, "status_id", "Status Id must be 1, or 0 or 2 to close the invoice.")
    has_phone = not row.get("send_text_to_pay") or row.get("cell_phone") is not None
    message = "Cell Phone cannot be blank when Send Text To Pay is 1."
    problems.check(has_phone, "cell_phone", message, "send_text_to_pay")
    has_both = row.get("ssn4") is not None and row.get("dob_year") is not None
    problems.check(not has_both, "dob_year", "Only one of Ssn4 and Dob Year can be given.", "ssn4")
    has_license = (row.get("dl_number") is None) == (row.get("dl_state") is None)
    problems.check(has_license, "dl_state", "Dl Number and Dl State must be given together.", "dl_number")


def _check_same_products(current: Row, values: Row, problems: Problems) -> None:
    for name in PRODUCTS:
        if current["payment_status_id"] != PaymentStatus.UNPAID and values.get(name, current[name]) != current[name]:
            problems.add(name, f"{label(name)} cannot be changed once a payment was made.")


async def attach(context: RequestContext) -> Response:
    """Handle POST /v2/quickinvoices/{id}/files; even a closed invoice accepts files."""
    if not is_form(context.request):
        raise RefusedError(400, "The body must be a form with a file in file[file].")
    async with read_form(context.request, "file") as record:
        invoice, problems = find_record(context, QUICK_INVOICE), Problems()
        for name in record.keys() - {"file"}:
            problems.add(name, f"{label(name)} is not a known field.")
        stored = context.gateway.store.total(QUICK_INVOICE_FILE, "count(*)", "quick_invoice_id = ?", (invoice["id"],))
        uploads = _check_files(context.gateway, invoice, [record.get("file")], problems, field="file", stored=stored)
        problems.raise_if_any()
        row = _store_file(context.gateway, invoice, uploads[0])
    record = QUICK_INVOICE_FILE.show(row) | {"_links": make_links(context.gateway, QUICK_INVOICE_FILE, row)}
    return json_response({"file": record}, 201)


async def remove(context: RequestContext) -> Response:
    """Handle DELETE /v2/quickinvoices/{id}/files/{file_id}."""
    store, invoice = context.gateway.store, find_record(context, QUICK_INVOICE)
    row = store.find(QUICK_INVOICE_FILE, id=context.path_id("file_id"), quick_invoice_id=invoice["id"])
    if row is None:
        raise RefusedError(404, "The file cannot be found.")
    with store.transaction():
        store.delete(QUICK_INVOICE_FILE, row["id"])
        store.delete(FILE_CONTENT, row["id"])
    return empty_response()


def _check_files(
    gateway: Gateway, owner: Row, files: Any, problems: Problems, *, field: str = "files", stored: int = 0
) -> list[UploadFile]:
    """Check that an invoice can have files, and return them.

    `owner` is a record of the same location. `stored` is the number of files that the invoice has already.
    """
    given = files if isinstance(files, list) else [files]
    uploads = [file for file in given if isinstance(file, UploadFile)]
    if given is not files or len(uploads) < len(given):
        problems.add(field, f"{label(field)} must be sent as a file, with a file name.")
    if uploads and not _can_store_files(gateway, owner["location_id"]):
        problems.add(field, "The File Storage Service is not enabled for this location.")
    if stored + len(uploads) > MOST_FILES:
        problems.add(field, f"An invoice has at most {MOST_FILES} files.")
    for upload in uploads:
        _check_file(upload, field, problems)
    return uploads


def _store_file(gateway: Gateway, invoice: Row, upload: UploadFile) -> Row:
    """Store a file of an invoice, and return its record."""
    values = {
        "quick_invoice_id": invoice["id"],
        "name": upload.filename,
        "size": upload.size,
        "content_type": upload.content_type or _UNTYPED,
    }
    with gateway.store.transaction():
        row = gateway.create(QUICK_INVOICE_FILE, invoice, values)
        gateway.store.insert(FILE_CONTENT, {"id": row["id"], "content": upload.file.read()})
    return row


def read_file(gateway: Gateway, file_id: str) -> tuple[bytes, str]:
    """Read the content and content type of a file of any invoice.

    Raises:
        UnknownRecordError: The file is unknown.
    """
    row = gateway.store.find(QUICK_INVOICE_FILE, id=file_id)
    content = row and gateway.store.find(FILE_CONTENT, id=file_id)
    if not row or not content:
        raise UnknownRecordError("file", file_id)
    return content["content"], row["content_type"]


def _can_store_files(gateway: Gateway, location_id: str) -> bool:
    product_file = gateway.store.find(PRODUCT_FILE, location_id=location_id)
    return product_file is not None or location_id == gateway.info.location_id


def _check_file(upload: UploadFile, field: str, problems: Problems) -> None:
    names = QUICK_INVOICE_FILE.by_name
    try:
        name = names["name"].read(upload.filename)
        kind = str(names["content_type"].read(upload.content_type or _UNTYPED))
    except ValueError as reason:
        problems.add(field, f"A file's {reason}")
        return
    if not (kind.isascii() and kind.isprintable()):
        problems.add(field, "A file's Content Type must be printable ASCII.")
    if (upload.size or 0) > LARGEST_FILE:
        problems.add(field, f"{name} is larger than {LARGEST_FILE} bytes.")
