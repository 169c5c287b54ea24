"""The fields of a postback config (contract, "Postback config").

The credentials for the receiver are shown only on `expand`. A flag is returned as it was sent: "1" stays "1", and true
stays true.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, INTEGER, RAW_FLAG, TEXT, TIMESTAMP

__all__ = ["POSTBACK_CONFIG"]


POSTBACK_CONFIG = Table(
    "postbackconfig",
    "postbackconfigs",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("resource", CODE, 1, required=True),
        Field("on_create", RAW_FLAG, default="0"),
        Field("on_update", RAW_FLAG, default="0"),
        Field("on_delete", RAW_FLAG, default="0"),
        Field("url", TEXT, 1, 2048, required=True),
        Field("is_active", RAW_FLAG, default="1"),
        Field("format", CODE, choices=("api-default",), default="api-default"),
        Field("number_of_attempts", INTEGER, 1, default=1),
        Field("attempt_interval", INTEGER, 1, default=300),
        Field("expands", TEXT, 0, 250),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("basic_auth_username", TEXT, 0, 250, shown=False, secret=True),
        Field("basic_auth_password", TEXT, 0, 250, shown=False, secret=True),
    ),
)
