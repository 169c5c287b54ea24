"""The fields of a quick invoice and of its attached files.

Two more tables have the fields of the requests that add a transaction and that enable file storage. The fields follow
the contract's "Quick invoice". A field can be set only once if the contract does not say that a PUT may change it, and
no gateway is known to allow it. `single_payment_min_amount` and `single_payment_max_amount` are known only from
responses; here a POST may set them. The content of a file is in its own table, which lists never read.
"""

from gateway_async.sandbox.schema.codes import InvoiceStatus, PaymentStatus
from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import (
    BIT,
    BYTES,
    CODE,
    DATE,
    INTEGER,
    ITEMS,
    MONEY,
    OBJECT,
    TAGS,
    TEXT,
    TIMESTAMP,
)

__all__ = ["FILE_CONTENT", "INVOICED_TRANSACTION", "PRODUCT_FILE", "QUICK_INVOICE", "QUICK_INVOICE_FILE"]


QUICK_INVOICE = Table(
    "quickinvoice",
    "quickinvoices",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("contact_id", CODE, 1, 36, references="contacts"),
        Field("invoice_number", TEXT, 0, 64),
        Field("title", TEXT, 1, 64, required=True),
        Field("item_header", TEXT, 0, 250),
        Field("item_list", ITEMS, 5, 4000, required=True),
        Field("item_footer", TEXT, 0, 250),
        Field("status_id", INTEGER, 1, 1, default=InvoiceStatus.OPEN),
        Field("payment_status_id", INTEGER, settable=NEVER, default=PaymentStatus.UNPAID),
        *read_only(amount_due=MONEY, remaining_balance=MONEY),
        Field("due_date", DATE, required=True),
        Field("expire_date", DATE),
        Field("email", TEXT, 5, 128),
        Field("allow_partial_pay", BIT, default=0),
        Field("single_payment_min_amount", MONEY, settable=ONCE, default=0),
        Field("single_payment_max_amount", MONEY, settable=ONCE, default=9_999_999_99),
        Field("allow_overpayment", BIT, settable=ONCE, default=0),
        Field("notification_days_before_due_date", INTEGER, 1, 2, default=3),
        Field("notification_on_due_date", BIT, default=1),
        Field("notification_days_after_due_date", INTEGER, 1, 2, default=7),
        Field("cc_product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("ach_product_transaction_id", CODE, 1, 36, references="producttransactions"),
        Field("is_active", BIT, settable=NEVER, default=1),
        *read_only(created_ts=TIMESTAMP, created_user_id=CODE, modified_ts=TIMESTAMP, modified_user_id=CODE),
        Field("note", TEXT, 0, 200),
        Field("notification_email", TEXT, settable=NEVER),
        Field("attach_files_to_email", BIT, default=0),
        Field("quick_invoice_api_id", TEXT, 0, 64, settable=ONCE),
        Field("cell_phone", TEXT, 1, 10, settable=ONCE),
        Field("send_text_to_pay", BIT, settable=ONCE, default=0),
        Field("customer_id", TEXT, 0, 64, settable=ONCE),
        Field("dl_number", TEXT, 1, 50, settable=ONCE, secret=True),
        Field("dl_state", TEXT, 2, 2, settable=ONCE),
        Field("ssn4", CODE, 4, 4, settable=ONCE, secret=True),
        Field("dob_year", CODE, 4, 4, settable=ONCE, secret=True),
        Field("tags", TAGS, settable=ONCE, shown=False, default="[]", column="tags"),
        Field("contact_api_id", TEXT, 1, 64, stored=False),
        Field("send_email", BIT, settable=ONCE, stored=False),
        Field("active", BIT, settable=NEVER, stored=False, column="is_active"),
        Field("files", OBJECT, settable=NEVER, stored=False),
        Field("transactions", OBJECT, settable=NEVER, stored=False),
    ),
    api_id="quick_invoice_api_id",
    link="/v2/quickinvoice/view?id={id}",
)

INVOICED_TRANSACTION = Table(
    "quickinvoice",
    "quickinvoices",
    (Field("transaction_id", CODE, 1, 36, required=True, references="transactions"),),
)

QUICK_INVOICE_FILE = Table(
    "file",
    "files",
    (
        Field("id", CODE),
        Field("location_id", CODE, shown=False),
        Field("quick_invoice_id", CODE),
        Field("name", TEXT, 1, 255),
        Field("size", INTEGER),
        Field("content_type", TEXT, 1, 255),
        Field("created_ts", TIMESTAMP),
    ),
    link="/v2/quickinvoices/{quick_invoice_id}/files/{id}",
)

FILE_CONTENT = Table("filecontent", "filecontents", (Field("id", CODE), Field("content", BYTES)))

PRODUCT_FILE = Table(
    "productfile",
    "productfiles",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, required=True, references="locations"),
        Field("title", TEXT, 1, required=True),
        Field("product_file_credential_id", CODE, 1, required=True),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
    ),
)
