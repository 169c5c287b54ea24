"""Tags: labels for transactions and invoices (contract, *Tags*)."""

from datetime import datetime
from typing import Annotated

import attrs

from gateway_async.models.record import Record
from gateway_async.models.request import UNSET, Length, LocationId, Request, Unset

TagTitle = Annotated[str, Length(1, 64)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Tag(Record):
    """A tag of a location."""

    id: str
    """The gateway's id."""
    location_id: str | None = None
    """The location that owns the tag."""
    title: str | None = None
    """The text of the tag."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TagCreate(Request):
    """A new tag."""

    title: TagTitle
    """The text of the tag, 1 to 64 characters."""
    location_id: LocationId | None = None
    """The location that owns the tag. The client's own location is used when it is omitted."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TagUpdate(Request):
    """A change to a tag."""

    title: TagTitle | Unset | None = UNSET
    """The text of the tag, 1 to 64 characters."""
