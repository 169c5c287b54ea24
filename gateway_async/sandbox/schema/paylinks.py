"""The fields of a paylink (contract, "Paylink").

`delivery_method` is 1 by default, as in the responses that the contract shows. An e-mail is sent only if there is an
address. `description` is the merchant's own text, of any length.
"""

from gateway_async.sandbox.schema.codes import DeliveryMethod
from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import BIT, CODE, DATE, INTEGER, MONEY, TEXT, TIMESTAMP

__all__ = ["PAYLINK"]


PAYLINK = Table(
    "paylink",
    "paylinks",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("cc_product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("ach_product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("paylink_api_id", TEXT, 0, 64),
        Field("contact_id", CODE, 1, 36, references="contacts"),
        Field("amount_due", MONEY, settable=ONCE, required=True),
        Field("cell_phone", TEXT, 1, 10),
        Field("email", TEXT, 5, 128),
        Field("description", TEXT),
        Field("expire_date", DATE),
        Field("delivery_method", INTEGER, 1, 1, default=DeliveryMethod.EMAIL),
        Field("paylink_action", CODE, 0, 10, default="sale"),
        Field("display_product_transaction_receipt_details", BIT, default=0),
        Field("display_billing_fields", BIT, default=0),
        Field("status_id", INTEGER, settable=NEVER, default=0),
        Field("active", BIT, settable=NEVER, default=1),
        *read_only(created_ts=TIMESTAMP, created_user_id=CODE, modified_ts=TIMESTAMP, modified_user_id=CODE),
        Field("contact_api_id", TEXT, 1, 64, stored=False),
    ),
    api_id="paylink_api_id",
)
