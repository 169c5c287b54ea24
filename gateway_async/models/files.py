"""Attachments of quick invoices, and the file storage of a location (contract, *Quick invoices*, rules 2, 3)."""

import os
from datetime import datetime
from typing import BinaryIO

import attrs

from gateway_async._secrets import mask_text
from gateway_async.models.record import Record
from gateway_async.models.request import Id, LocationId, Request


@attrs.frozen(eq=False, repr=False)
class Attachment:
    """A file to attach: at most four for an invoice, at most 5,242,880 bytes each."""

    filename: str
    """The name that the customer sees."""
    content: bytes | str | os.PathLike[str] | BinaryIO
    """The bytes, the path of a file (text or `pathlib.Path`), or an open binary file.

    An open file is sent from its current position to its end, then reset to that position and not closed. It must be
    seekable, because the request may be sent again. One call at a time may use it.
    """
    content_type: str | None = None
    """Such as `"application/pdf"`; guessed from the filename when omitted."""

    def __repr__(self) -> str:
        match self.content:
            case bytes():
                kind = "bytes"
            case str() | os.PathLike():
                kind = "path"
            case _:
                kind = "file"
        return f"Attachment({mask_text(repr(self.filename))}, <{kind}>)"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class QuickInvoiceFile(Record):
    """A file of a quick invoice. The contract does not show its fields; unknown ones are in `extra`."""

    id: str | None = None
    """The gateway's id; `remove_file` takes it."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProductFile(Record):
    """File storage of a location. The contract does not show the response, so every field may be None."""

    id: str | None = None
    """The gateway's id."""
    title: str | None = None
    """The title of the file storage."""
    product_file_credential_id: str | None = None
    """The credential of the file storage."""
    location_id: str | None = None
    """The location of the file storage."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ProductFileCreate(Request):
    """A request to enable file storage for a location."""

    title: str
    """The title of the file storage. Required."""
    product_file_credential_id: Id
    """The credential of the file storage, at most 36 characters. Required."""
    location_id: LocationId | None = None
    """The location, at most 36 characters. Required, unless the client has one."""
