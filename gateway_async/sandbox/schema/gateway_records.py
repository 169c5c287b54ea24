"""The fields of the records that no request writes: the gateway creates and changes them itself.

- Merchant accounts are initial records.
- A change log entry says who created or changed a record, when, and the earlier values.
- A message to a customer is shown by `GET /_sandbox/outbox`.
- A postback is one change for one receiver, with its attempts. `data` is the record as it was at the change, and
  `due_ts` is when the next attempt is due, with 0 for at once.
- A token (contract, "Token") is not stored itself. Its `id` is its digest, which can be computed from the token.
- A transaction batch has a location, which is stored but not shown.
"""

from gateway_async.sandbox.schema.fields import NEVER, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import BIT, CODE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = [
    "CHANGELOG",
    "MESSAGE",
    "POSTBACK",
    "PRODUCT_TRANSACTION",
    "TICKET",
    "TOKEN",
    "TRANSACTION_BATCH",
]


_HIDDEN_LOCATION = Field("location_id", CODE, settable=NEVER, shown=False)

PRODUCT_TRANSACTION = Table(
    "product_transaction",
    "producttransactions",
    (
        *read_only(id=CODE, location_id=CODE, payment_method=CODE, title=TEXT),
        Field("processor", TEXT, settable=NEVER, default="sandbox"),
        Field("industry_type", TEXT, settable=NEVER, default="ecommerce"),
        *read_only(default_transaction_type=CODE, current_batch=CODE, partner=TEXT),
        *(
            Field(name, FLAG, settable=NEVER, default=1)
            for name in ("active", "allow_partial_authorization", "display_avs", "quick_invoice_allow")
        ),
        *(
            Field(name, FLAG, settable=NEVER, default=0)
            for name in ("auto_decline_cvv", "auto_decline_street", "auto_decline_zip", "surcharge")
        ),
        *(Field(name, FLAG, settable=NEVER, default=0) for name in ("hosted_payment_page_allow", "level3_allow")),
        *read_only(hosted_payment_page_max_allowed=INTEGER, level3_default=OBJECT, velocity_settings=OBJECT),
        *read_only(tax_surcharge_config=OBJECT, processor_data=OBJECT),
        Field("ach_terminal", CODE, settable=NEVER, shown=False),
        *(
            Field(name, FLAG, settable=NEVER, shown=False, default=0)
            for name in ("license_verification", "run_avs_on_accountvault_create")
        ),
        *read_only(created_ts=TIMESTAMP),
    ),
)

TICKET = Table(
    "ticket",
    "tickets",
    read_only(
        id=CODE,
        location_id=CODE,
        account_type=CODE,
        first_six=CODE,
        last_four=CODE,
        exp_date=CODE,
        created_ts=TIMESTAMP,
    ),
)

TOKEN = Table(
    "token",
    "tokens",
    read_only(id=CODE, location_id=CODE, user_id=CODE, created_ts=TIMESTAMP, used_ts=TIMESTAMP),
)

CHANGELOG = Table(
    "changelog",
    "changelogs",
    (
        *read_only(id=CODE, created_ts=TIMESTAMP, action=CODE, model=CODE, model_id=CODE, user_id=CODE),
        *read_only(changelog_details=OBJECT),
    ),
)

TRANSACTION_BATCH = Table(
    "transactionbatch",
    "transactionbatches",
    (
        *read_only(id=CODE, batch_num=INTEGER),
        Field("is_open", BIT, settable=NEVER, default=1),
        Field("processing_status_id", INTEGER, settable=NEVER, default=1),
        *read_only(product_transaction_id=CODE, created_ts=TIMESTAMP, settlement_file_name=TEXT),
        *read_only(batch_close_ts=TIMESTAMP),
        Field("status_message", TEXT, settable=NEVER, in_postbacks=False),
        _HIDDEN_LOCATION,
    ),
    page_size=15,
)

POSTBACK = Table(
    "postback",
    "postbacks",
    (
        *read_only(id=CODE),
        _HIDDEN_LOCATION,
        *read_only(config_id=CODE, resource=CODE, type=CODE, record_id=CODE, created_ts=TIMESTAMP),
        Field("state", CODE, settable=NEVER, default="waiting"),
        Field("due_ts", TIMESTAMP, settable=NEVER, default=0),
        Field("attempts", OBJECT, settable=NEVER, default="[]"),
        Field("data", TEXT, settable=NEVER, shown=False),
    ),
)

MESSAGE = Table(
    "message",
    "outbox",
    (
        *read_only(id=CODE),
        _HIDDEN_LOCATION,
        *read_only(created_ts=TIMESTAMP, channel=CODE, recipient=TEXT, event=CODE),
        *read_only(quick_invoice_id=CODE, paylink_id=CODE, subject=TEXT, text=TEXT),
        Field("attachments", OBJECT, settable=NEVER, default="[]"),
    ),
)
