"""The fields of a message to a customer.

`GET /_sandbox/outbox` shows the stored messages.
"""

from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import CODE, OBJECT, TEXT, TIMESTAMP

__all__ = ["MESSAGE"]


MESSAGE = Table(
    "message",
    "outbox",
    (
        Field("id", CODE),
        Field("location_id", CODE, shown=False),
        Field("created_ts", TIMESTAMP),
        Field("channel", CODE),
        Field("recipient", TEXT),
        Field("event", CODE),
        Field("quick_invoice_id", CODE),
        Field("paylink_id", CODE),
        Field("subject", TEXT),
        Field("text", TEXT),
        Field("attachments", OBJECT, default="[]"),
    ),
)
