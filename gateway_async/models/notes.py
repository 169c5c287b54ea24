"""Notes: texts about a contact, for the merchant's own staff (contract, *Notes*)."""

from datetime import datetime
from typing import Annotated, Literal

import attrs

from gateway_async.models.codes import NoteResource
from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Id, Length, Request, Unset

NoteText = Annotated[str, Length(0, 16384)]
VisibilityGroup = Annotated[str, Length(0, 36)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Note(Record):
    """A note about a record. Its `extra["_links"]` also has a link to that record."""

    id: str
    """The gateway's id."""
    resource: NoteResource | None = None
    """The kind of record that the note is about."""
    resource_id: str | None = None
    """The id of that record."""
    note: str | None = None
    """The text."""
    visibility_group_id: str | None = None
    """The id of the group of users that may see the note; it can be empty."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NoteCreate(Request):
    """A new note."""

    resource: Literal["Contact"] | NoteResource
    """The kind of record that the note is about. Required; `Contact` is the documented one."""
    resource_id: Id
    """The id of that record. Required."""
    note: NoteText | None = None
    """The text, at most 16384 characters."""
    visibility_group_id: VisibilityGroup | None = None
    """The id of the group of users that may see the note; it can be empty."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NoteUpdate(Request):
    """Changes to a note. Omitted fields keep their values; None is sent as null."""

    note: NoteText | Unset | None = UNSET
    """The text, at most 16384 characters."""
    visibility_group_id: VisibilityGroup | Unset | None = UNSET
    """The id of the group of users that may see the note; it can be empty."""
