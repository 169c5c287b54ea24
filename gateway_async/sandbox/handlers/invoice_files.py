"""Files of quick invoices (contract, "Quick invoices", rules 2 and 3).

The content of a file is in its own table, and is read only on demand. The File Storage Service, which stores files for
a location, is enabled from the start in the gateway's first location.
"""

from typing import Any

from starlette.datastructures import UploadFile
from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems, RefusedError, UnknownRecordError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.forms import is_form, read_form
from gateway_async.sandbox.request.records import find_record, make_create, make_links
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import FILE_CONTENT, PRODUCT_FILE, QUICK_INVOICE, QUICK_INVOICE_FILE
from gateway_async.sandbox.schema.fields import Row, label

__all__ = ["LARGEST_FILE", "MOST_FILES", "attach", "check_files", "enable_storage", "read_file", "remove", "store_file"]


MOST_FILES, LARGEST_FILE = 4, 5 * 1024 * 1024

_UNTYPED = "application/octet-stream"

enable_storage = make_create(PRODUCT_FILE)
"""Handles POST /v2/productfiles, which enables file storage for the location."""


async def attach(context: RequestContext) -> Response:
    """Handle POST /v2/quickinvoices/{id}/files; a closed invoice accepts files too."""
    if not is_form(context.request):
        raise RefusedError(400, "The body must be a form with a file in file[file].")
    async with read_form(context.request, "file") as record:
        invoice, problems = find_record(context, QUICK_INVOICE), Problems()
        for name in record.keys() - {"file"}:
            problems.add(name, f"{label(name)} is not a known field.")
        stored = context.gateway.store.total(QUICK_INVOICE_FILE, "count(*)", "quick_invoice_id = ?", (invoice["id"],))
        uploads = check_files(context.gateway, invoice, [record.get("file")], problems, field="file", stored=stored)
        problems.raise_if_any()
        row = store_file(context.gateway, invoice, uploads[0])
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


def check_files(
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


def store_file(gateway: Gateway, invoice: Row, upload: UploadFile) -> Row:
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
    """Return the content and content type of a file of any invoice.

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
