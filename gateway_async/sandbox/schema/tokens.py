"""The fields of a login and of a token (contract, "Token").

The token itself is not stored. Its `id` is its digest, which can be computed from the token.
"""

from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import CODE, TEXT, TIMESTAMP

__all__ = ["LOGIN", "TOKEN"]


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
        Field("created_ts", TIMESTAMP),
        Field("used_ts", TIMESTAMP),
    ),
)
