"""The fields of a message to a customer.

`GET /_sandbox/outbox` shows the stored messages.
"""

from gateway_async.sandbox.schema.fields import Field, Table
from gateway_async.sandbox.schema.kinds import CODE, MOMENT, OBJECT, TEXT

NOTICE = Table(
    "notice",
    "outbox",
    (
        Field("id", CODE),
        Field("location_id", CODE, shown=False),
        Field("created_ts", MOMENT),
        Field("channel", CODE),
        Field("recipient", TEXT),
        Field("occasion", CODE),
        Field("quick_invoice_id", CODE),
        Field("paylink_id", CODE),
        Field("subject", TEXT),
        Field("text", TEXT),
        Field("attachments", OBJECT, default="[]"),
    ),
)
