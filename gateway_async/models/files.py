"""Attachments of quick invoices, and the file storage of a location (contract, *Quick invoices*, rules 2, 3)."""

import os
from datetime import datetime
from typing import BinaryIO

import attrs

from gateway_async._secrets import mask_text
from gateway_async.models.record import Record
from gateway_async.models.request import Id, LocationId, Request

__all__ = ["Attachment", "ProductFile", "ProductFileCreate", "QuickInvoiceFile"]


@attrs.frozen(eq=False, repr=False)
class Attachment:
    """A file to attach: at most four for an invoice, at most 5,242,880 bytes each.

    Attributes:
        filename: the name that the customer sees.
        content: the bytes, the path of a file (text or `pathlib.Path`), or an open binary file. An open file is sent
            from its current position to its end, then reset to that position and not closed. It must be seekable,
            because the request may be sent again. One call at a time may use it.
        content_type: such as `"application/pdf"`; guessed from the filename when omitted.
    """

    filename: str
    content: bytes | str | os.PathLike[str] | BinaryIO
    content_type: str | None = None

    def __repr__(self) -> str:
        match self.content:
            case bytes():
                kind = "bytes"
            case str() | os.PathLike():
                kind = "path"
            case _:
                kind = "file"
        return f"Attachment({mask_text(repr(self.filename))}, <{kind}>)"


@attrs.frozen(kw_only=True, repr=False)
class QuickInvoiceFile(Record):
    """A file of a quick invoice. The contract does not show its fields; unknown ones are in `extra`."""

    id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class ProductFile(Record):
    """File storage of a location. The contract does not show the response, so every field may be None."""

    id: str | None = None
    title: str | None = None
    product_file_credential_id: str | None = None
    location_id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class ProductFileCreate(Request):
    """A request to enable file storage for a location."""

    title: str
    product_file_credential_id: Id
    location_id: LocationId | None = None
