"""The fields of the initial records: locations, users, merchant accounts and terminals."""

from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import CODE, FLAG, TEXT, TIMESTAMP

__all__ = ["LOCATION", "PRODUCT_TRANSACTION", "TERMINAL", "USER"]


LOCATION = Table(
    "location",
    "locations",
    (
        Field("id", CODE),
        Field("name", TEXT),
        Field("timezone", TEXT),
        Field("created_ts", TIMESTAMP),
    ),
)

USER = Table(
    "user",
    "users",
    (
        Field("id", CODE),
        Field("location_id", CODE),
        Field("username", TEXT),
        Field("first_name", TEXT),
        Field("last_name", TEXT),
        Field("domain", TEXT, shown=False),
        Field("password", TEXT, shown=False),
        Field("user_api_key", TEXT, shown=False),
        Field("user_hash_key", TEXT, shown=False),
        Field("created_ts", TIMESTAMP),
    ),
)

PRODUCT_TRANSACTION = Table(
    "product_transaction",
    "producttransactions",
    (
        Field("id", CODE),
        Field("location_id", CODE),
        Field("payment_method", CODE),
        Field("title", TEXT),
        Field("created_ts", TIMESTAMP),
    ),
)

TERMINAL = Table(
    "terminal",
    "terminals",
    (
        Field("id", CODE),
        Field("location_id", CODE),
        Field("title", TEXT),
        Field("serial_number", CODE),
        Field("active", FLAG, default=1),
        Field("created_ts", TIMESTAMP),
    ),
)
