"""The fields of a change log: who made or changed a record, when, and what its fields held before."""

from gateway_async.sandbox.tables.fields import Field, Table
from gateway_async.sandbox.tables.kinds import CODE, MOMENT, OBJECT

CHANGELOG = Table(
    "changelog",
    "changelogs",
    (
        Field("id", CODE),
        Field("created_ts", MOMENT),
        Field("action", CODE),
        Field("model", CODE),
        Field("model_id", CODE),
        Field("user_id", CODE),
        Field("changelog_details", OBJECT),
    ),
)
