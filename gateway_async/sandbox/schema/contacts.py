"""The fields of a contact, from the contract's "Records carried in postbacks".

Gateways name the header message type in two ways. The sandbox accepts both and returns `header_message_type_id`, as
postbacks do.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import BALANCE, BIT, CODE, DATE, FLAG, INTEGER, TEXT, TIMESTAMP

__all__ = ["CONTACT"]


CONTACT = Table(
    "contact",
    "contacts",
    (
        Field("id", CODE, settable=NEVER),
        Field("location_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("account_number", TEXT, 0, 250),
        Field("contact_api_id", TEXT, 0, 64),
        Field("company_name", TEXT, 0, 250),
        Field("first_name", TEXT, 0, 250),
        Field("last_name", TEXT, 1, 64, required=True),
        Field("email", TEXT, 0, 128),
        Field("address", TEXT, 0, 255),
        Field("city", TEXT, 0, 250),
        Field("state", TEXT, 0, 250),
        Field("zip", TEXT, 0, 250),
        Field("home_phone", TEXT, 0, 10),
        Field("cell_phone", TEXT, 0, 10),
        Field("office_phone", TEXT, 0, 10),
        Field("office_ext_phone", TEXT, 0, 10),
        Field("email_trx_receipt", FLAG, default=0),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("date_of_birth", DATE),
        Field("header_message", TEXT, 0, 250),
        Field("header_message_type_id", INTEGER, 1, 2, default=0),
        *(Field(f"contact_c{number}", TEXT, 0, 250) for number in (1, 2, 3)),
        Field("contact_balance", BALANCE),
        Field("header_message_type", INTEGER, 1, 2, stored=False, default=0, column="header_message_type_id"),
        Field("created_user_id", CODE, settable=NEVER, shown=False),
        Field("update_if_exists", BIT, settable=ONCE, stored=False),
    ),
    api_id="contact_api_id",
)
