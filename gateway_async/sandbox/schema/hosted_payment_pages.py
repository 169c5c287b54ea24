"""The fields of a hosted payment page.

The contract shows the settings that a URL can have. The other fields are known from newer releases of the gateway.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import BIT, CODE, INTEGER, MONEY, OBJECT, TEXT, TIMESTAMP

__all__ = ["HOSTED_PAYMENT_PAGE", "PAGE_SETTINGS"]


_SETTINGS = (
    Field("stylesheet_url", TEXT, 0, 256),
    Field("min_payment_amount", MONEY),
    Field("max_payment_amount", MONEY),
    Field("parent_send_message", BIT),
    Field("redirect_url_on_approve", TEXT, 0, 256),
    Field("redirect_url_on_decline", TEXT, 0, 256),
    Field("redirect_url_delay", INTEGER, 1, 2),
    Field("field_configuration", OBJECT),
)

HOSTED_PAYMENT_PAGE = Table(
    "hostedpaymentpage",
    "hostedpaymentpages",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("title", TEXT, 1, 64, required=True),
        Field("action", CODE, choices=("sale", "authonly", "avsonly", "debit", "refund"), default="sale"),
        Field("encryption_key", TEXT, 32, 32, secret=True),
        *_SETTINGS,
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP, created_user_id=CODE, modified_user_id=CODE),
    ),
)

PAGE_SETTINGS = Table("hostedpaymentpage", "hostedpaymentpages", _SETTINGS)
"""The settings that the data of a URL replaces."""
