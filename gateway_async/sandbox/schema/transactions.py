"""The fields of a transaction, and of a request at a terminal.

Amounts are two-decimal strings in responses. `action` and the fields that identify the account serve the request and
are not stored. The stored fields are those of the contract's "Records carried in postbacks". A request without
`location_id` is for the user's primary location. Maximum lengths are the documented ones, or wider where integrators
are known to send more.
"""

from gateway_async.sandbox.schema.codes import TransactionSource
from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import (
    AMOUNTS,
    BIT,
    CODE,
    DATE,
    FLAG,
    INTEGER,
    MONEY,
    OBJECT,
    TEXT,
    TEXT_OR_TAGS,
    TIMESTAMP,
    Kind,
)

__all__ = ["ACH_UPDATE", "ROUTER_TRANSACTION", "TRANSACTION"]


_CHANGED = frozenset({"PUT"})
_OVERRIDABLE = ("allow_partial_authorization", "auto_decline_cvv", "auto_decline_street", "auto_decline_zip")
"""The settings of a merchant account that a request can replace once."""

_TITLES_OF_TAGS = (
    "(SELECT group_concat(title) FROM tags WHERE deleted_ts IS NULL"
    " AND id IN (SELECT value FROM json_each(transactions.tags)))"
)


def _response_only(**kinds: Kind) -> tuple[Field, ...]:
    """Return fields that only responses contain, not postbacks."""
    return tuple(Field(name, kind, settable=NEVER, in_postbacks=False) for name, kind in kinds.items())


TRANSACTION = Table(
    "transaction",
    "transactions",
    (
        Field("id", CODE, settable=NEVER),
        Field("payment_method", CODE, 2, 3, settable=ONCE),
        Field("account_vault_id", CODE, 1, 36, settable=ONCE),
        Field("recurring_id", CODE, 1, 36, settable=NEVER),
        *read_only(first_six=CODE, last_four=CODE),
        Field("account_holder_name", TEXT, 1, 60),
        Field("transaction_amount", MONEY, 0, 10),
        Field("description", TEXT, 0, 64),
        *read_only(transaction_code=TEXT, avs=CODE, batch=CODE),
        Field("order_num", TEXT, 0, 32),
        *read_only(verbiage=TEXT, transaction_settlement_status=TEXT),
        Field("effective_date", DATE, settable=ONCE),
        Field("routing", CODE, 9, 9, settable=ONCE, secret=True),
        *read_only(return_date=DATE, created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("transaction_api_id", TEXT, 0, 64, settable=ONCE),
        Field("terms_agree", BIT, settable=ONCE),
        Field("notification_email_address", TEXT, 0, 128),
        Field("notification_email_sent", FLAG, settable=NEVER, default=1),
        *read_only(response_message=TEXT, auth_amount=MONEY),
        Field("auth_code", TEXT, 0, 250, settable=ONCE),
        *read_only(status_id=INTEGER, type_id=INTEGER),
        Field("location_id", CODE, 1, 36, settable=ONCE, references="locations"),
        Field("reason_code_id", INTEGER, settable=NEVER),
        Field("contact_id", CODE, 0, 36, references="contacts"),
        Field("billing_zip", TEXT, 0, 12),
        Field("billing_street", TEXT, 0, 64),
        Field("product_transaction_id", CODE, 1, 36, settable=ONCE, references="producttransactions"),
        Field("tax", MONEY, default=0),
        Field("customer_ip", TEXT, 0, 45, settable=ONCE),
        Field("customer_id", TEXT, 0, 250),
        Field("po_number", TEXT, 0, 250),
        *read_only(avs_enhanced=CODE, cvv_response=CODE),
        Field("billing_phone", TEXT, 0, 10),
        Field("billing_city", TEXT, 0, 36),
        Field("billing_state", TEXT, 0, 26),
        Field("clerk_number", TEXT, 0, 250),
        Field("tip_amount", MONEY, default=0),
        Field("subtotal_amount", MONEY, default=0, in_postbacks=False),
        Field("surcharge_amount", MONEY, in_postbacks=False),
        Field("bill_payment", BIT, settable=NEVER, default=0, in_postbacks=False),
        *read_only(created_user_id=CODE, modified_user_id=CODE),
        Field("ach_identifier", TEXT, 1, 1, settable=ONCE),
        Field("check_number", TEXT, 0, 250, settable=ONCE),
        *_response_only(recaptcha_score=CODE),
        Field("previous_transaction_id", CODE, 1, 36, settable=ONCE, in_postbacks=False),
        *_response_only(auth_surcharge_rate=MONEY, is_surcharge=FLAG, auth_surcharge_fee=MONEY),
        *read_only(settle_date=DATE, charge_back_date=DATE, void_date=TEXT),
        Field("account_type", CODE, 1, 32, settable=ONCE),
        Field("is_recurring", FLAG, settable=NEVER, default=0),
        Field("is_accountvault", FLAG, settable=NEVER, default=0),
        *(Field(f"transaction_c{number}", TEXT, 0, 128) for number in (1, 2, 3)),
        Field("transaction_c4", TEXT, 0, 128, in_postbacks=False),
        *_response_only(online_payment_cryptogram=CODE, ecommerce_indicator=CODE, digital_payment_cryptogram=CODE),
        Field("additional_amounts", AMOUNTS, settable=ONCE, default="[]"),
        Field("terminal_serial_number", CODE, 0, 24),
        *read_only(entry_mode_id=CODE, terminal_id=CODE),
        Field("quick_invoice_id", CODE, 1, 36, settable=_CHANGED, references="quickinvoices"),
        Field("paylink_id", CODE, settable=NEVER, in_postbacks=False),
        Field("ach_sec_code", CODE, 3, 3, settable=ONCE),
        Field("custom_data", OBJECT, 0, 4000),
        Field("hosted_payment_page_id", CODE, settable=NEVER),
        Field("trx_source_id", INTEGER, settable=NEVER, default=TransactionSource.API),
        Field("transaction_batch_id", CODE, settable=NEVER, in_postbacks=False),
        Field("recurring_flag", CODE, settable=NEVER, default="no", in_postbacks=False),
        *_response_only(recurring_number=CODE, installment_number=CODE, installment_total_count=CODE),
        Field("external_recurring_flag", CODE, settable=NEVER, default="no", in_postbacks=False),
        *_response_only(external_installment_number=CODE, external_installment_total_count=CODE),
        *_response_only(external_recurring_number=CODE, tlid=CODE),
        Field("service_address", TEXT, 0, 32, settable=ONCE, in_postbacks=False),
        Field("service_state", TEXT, 0, 26, settable=ONCE, in_postbacks=False),
        Field("service_zip", TEXT, 4, 12, settable=ONCE, in_postbacks=False),
        Field("service_city", TEXT, 0, 36, settable=ONCE, in_postbacks=False),
        Field("service_country", CODE, 3, 3, settable=ONCE, in_postbacks=False),
        Field("checkin_date", DATE, in_postbacks=False),
        Field("checkout_date", DATE, in_postbacks=False),
        Field("room_num", TEXT, 0, 250, in_postbacks=False),
        Field("room_rate", MONEY, default=0, in_postbacks=False),
        Field("advance_deposit", FLAG, default=0, in_postbacks=False),
        Field("no_show", FLAG, default=0, in_postbacks=False),
        Field("emv_receipt_data", OBJECT, settable=NEVER),
        Field("action", CODE, 1, 32, required=True, stored=False),
        Field("contact_api_id", TEXT, 1, 64, stored=False),
        Field("account_number", CODE, 4, 19, settable=ONCE, stored=False, secret=True),
        Field("exp_date", CODE, 4, 4, shown=False),
        Field("tags", TEXT_OR_TAGS, shown=False, default="[]", column=_TITLES_OF_TAGS),
        Field("cvv", CODE, 3, 4, settable=ONCE, stored=False, secret=True),
        Field("track_data", CODE, 1, 256, settable=ONCE, stored=False, secret=True),
        Field("e_format", CODE, settable=ONCE, stored=False, choices=("ksn", "ksnpin", "idtech", "magnesafe")),
        Field("e_track_data", CODE, 1, settable=ONCE, stored=False, secret=True),
        Field("e_serial_number", CODE, 1, 20, settable=ONCE, stored=False),
        Field("ticket", CODE, 1, 36, settable=ONCE, stored=False, secret=True),
        Field("account_vault_api_id", TEXT, 1, 64, stored=False),
        Field("previous_transaction_api_id", TEXT, 1, 64, settable=ONCE, stored=False),
        Field("save_account", BIT, settable=ONCE, stored=False),
        Field("save_account_title", TEXT, 0, 16, settable=ONCE, stored=False),
        Field("location_api_id", TEXT, 1, 36, stored=False),
        Field("locale", CODE, 5, 5, settable=ONCE, stored=False),
        Field("card_present", FLAG, settable=ONCE, stored=False),
        Field("wallet_id", CODE, 0, 3, settable=ONCE, stored=False),
        Field("cavv", CODE, 0, 40, settable=ONCE, stored=False, secret=True),
        Field("xid", CODE, 0, 40, settable=ONCE, stored=False, secret=True),
        Field("image_front", CODE, 1, 65535, settable=ONCE, stored=False, secret=True),
        Field("image_back", CODE, 1, 65535, settable=ONCE, stored=False, secret=True),
        Field("allow_partial_authorization_override", FLAG, settable=ONCE, stored=False),
        *(
            Field(f"auto_decline_{name}_override", FLAG, settable=ONCE, stored=False)
            for name in ("cvv", "street", "zip")
        ),
        Field("move_account_vault", FLAG, settable=_CHANGED, stored=False),
        Field("move_account_vault_transactions", FLAG, settable=_CHANGED, stored=False),
        Field("dl_number", TEXT, 1, 50, settable=ONCE, stored=False, secret=True),
        Field("dl_state", TEXT, 2, 2, settable=ONCE, stored=False),
        Field("ssn4", CODE, 4, 4, settable=ONCE, stored=False, secret=True),
        Field("dob_year", CODE, 4, 4, settable=ONCE, stored=False, secret=True),
    ),
    api_id="transaction_api_id",
)

ACH_UPDATE = Table(
    "transaction",
    "transactions",
    (Field("track_data", CODE, 1, 256), Field("transaction_amount", MONEY, 0, 10)),
)
"""The fields that correct a bank payment."""

ROUTER_TRANSACTION = Table(
    "routertransaction",
    "routertransactions",
    (
        Field("payment_method", CODE, 2, 3, required=True),
        Field("action", CODE, 1, 32, required=True),
        Field("location_id", CODE, 1, 36, references="locations"),
        Field("terminal_id", CODE, 1, 36, required=True, references="terminals"),
        Field("transaction_amount", MONEY, 0, 10, required=True),
        Field("transaction_api_id", TEXT, 0, 64),
        Field("product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("contact_id", CODE, 1, 36, references="contacts"),
        Field("contact_api_id", TEXT, 1, 64),
        Field("order_num", TEXT, 0, 32),
        Field("description", TEXT, 0, 64),
        Field("tax", MONEY),
        Field("save_account", BIT),
        Field("billing_street", TEXT, 0, 64),
        Field("billing_zip", TEXT, 0, 12),
        Field("po_number", TEXT, 0, 250),
        Field("clerk_number", TEXT, 0, 250),
        Field("notification_email_address", TEXT, 0, 128),
        Field("checkin_date", DATE),
        Field("checkout_date", DATE),
        Field("room_num", TEXT, 0, 12),
        Field("room_rate", MONEY, 0, 10),
        Field("advance_deposit", FLAG),
        Field("no_show", FLAG),
        Field("auth_code", TEXT, 0, 6),
        Field("batch", CODE, 0, 36),
    ),
    api_id="transaction_api_id",
)
