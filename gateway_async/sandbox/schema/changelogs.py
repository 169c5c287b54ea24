"""The fields of a change log entry.

An entry says who created or changed a record, when, and the earlier values.
"""

from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import CODE, OBJECT, TIMESTAMP

__all__ = ["CHANGELOG"]


CHANGELOG = Table(
    "changelog",
    "changelogs",
    (
        Field("id", CODE),
        Field("created_ts", TIMESTAMP),
        Field("action", CODE),
        Field("model", CODE),
        Field("model_id", CODE),
        Field("user_id", CODE),
        Field("changelog_details", OBJECT),
    ),
)
