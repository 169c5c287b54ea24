"""The fields of a login, the contract's "Token", and of the token it leads to.

A token itself is not kept: its `id` is its digest, and whoever has the token can make that.
"""

from gateway_async.sandbox.tables.fields import Field, Table
from gateway_async.sandbox.tables.kinds import CODE, MOMENT, TEXT

LOGIN = Table(
    "token",
    "token",
    (
        Field("username", TEXT, 1, required=True),
        Field("password", TEXT, 1, required=True),
        Field("domain", TEXT, 1, required=True),
    ),
)

TOKEN = Table(
    "token",
    "tokens",
    (
        Field("id", CODE),
        Field("location_id", CODE),
        Field("user_id", CODE),
        Field("created_ts", MOMENT),
        Field("used_ts", MOMENT),
    ),
)
