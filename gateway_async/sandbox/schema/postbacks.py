"""The fields of a postback: one change, one receiver, its attempts.

`data` is the record as it was at the change. `due_ts` is when the next attempt is due, with 0 for at once.
"""

from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import CODE, OBJECT, TEXT, TIMESTAMP

__all__ = ["POSTBACK"]


POSTBACK = Table(
    "postback",
    "postbacks",
    (
        Field("id", CODE),
        Field("location_id", CODE, shown=False),
        Field("config_id", CODE),
        Field("resource", CODE),
        Field("type", CODE),
        Field("record_id", CODE),
        Field("created_ts", TIMESTAMP),
        Field("state", CODE, default="waiting"),
        Field("due_ts", TIMESTAMP, default=0),
        Field("attempts", OBJECT, default="[]"),
        Field("data", TEXT, shown=False),
    ),
)
