"""The fields of a tag (contract, "Tags")."""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, TEXT, TIMESTAMP

__all__ = ["TAG"]


TAG = Table(
    "tag",
    "tags",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("title", TEXT, 1, 64, required=True),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("created_user_id", CODE, settable=NEVER, shown=False),
    ),
)
