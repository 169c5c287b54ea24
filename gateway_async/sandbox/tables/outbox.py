"""The fields of a notice that went to a customer, kept for the sandbox's own `GET /_sandbox/outbox`."""

from gateway_async.sandbox.tables.fields import Field, Table
from gateway_async.sandbox.tables.kinds import CODE, MOMENT, OBJECT, TEXT

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
