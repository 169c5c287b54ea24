"""The fields of a note (contract, "Notes").

A note has a location, which is stored but not shown.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, TEXT, TIMESTAMP

__all__ = ["NOTE"]


NOTE = Table(
    "note",
    "notes",
    (
        Field("id", CODE, settable=NEVER),
        Field("resource", CODE, 1, 36, settable=ONCE, required=True),
        Field("resource_id", CODE, 1, 36, settable=ONCE, required=True, references="contacts"),
        Field("note", TEXT, 0, 16384),
        Field("visibility_group_id", TEXT, 0, 36),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("location_id", CODE, settable=NEVER, shown=False),
        Field("created_user_id", CODE, settable=NEVER, shown=False),
    ),
    link="/v2/contacts/{resource_id}/notes/{id}",
    subject="/v2/contacts/{resource_id}",
)
