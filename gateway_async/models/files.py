"""Files: what is attached to quick invoices, and where a location keeps it (contract, *Quick invoices*, rules 2, 3)."""

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
        filename: what the customer sees it called.
        content: the bytes, the path of a file (text or `pathlib.Path`), or a binary file, which is sent from where it
            stands to its end, put back there and not closed. It must be seekable, since the request may have to be
            sent again, and belongs to one call at a time.
        content_type: such as `"application/pdf"`; guessed from the filename when left out.
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
    """A file that hangs on a quick invoice. The contract does not show its fields: what comes is in `extra`."""

    id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class ProductFile(Record):
    """File storage, enabled for a location. The contract does not show the answer, so all of it may be None."""

    id: str | None = None
    title: str | None = None
    product_file_credential_id: str | None = None
    location_id: str | None = None
    created_ts: datetime | None = None
    modified_ts: datetime | None = None


@attrs.frozen(kw_only=True, repr=False)
class ProductFileCreate(Request):
    """Enables file storage for a location."""

    title: str
    product_file_credential_id: Id
    location_id: LocationId | None = None
