"""The fields of a location (contract, "Locations") and of its location info.

A location info shows in one record what a client must know about a location. It is not stored itself: it is made from
the location and its merchant accounts and terminals.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = ["LOCATION", "LOCATION_INFO"]


_SWITCHES = tuple(
    Field(name, FLAG, default=default)
    for name, default in (
        ("contact_email_trx_receipt_default", 1),
        ("show_contact_files", 0),
        ("show_contact_notes", 1),
    )
)
_STREET = tuple(Field(name, TEXT, 0, 32) for name in ("address1", "address2"))
_PLACE = tuple(Field(name, TEXT, 0, 100) for name in ("city", "state"))
_PHONES = tuple(Field(name, TEXT, 0, 10) for name in ("office_phone", "office_ext_phone", "fax"))
_TIME_ZONE = Field("tz", TEXT, 0, 24, default="UTC")
_BRANDING_URL = Field("branding_domain_url", TEXT, 0, 256)
_MERCHANT_ACCOUNTS = tuple(Field(name, CODE, 1, 36) for name in ("default_cc", "default_ach"))

LOCATION = Table(
    "location",
    "locations",
    (
        Field("id", CODE, settable=NEVER),
        Field("parent_id", CODE, 1, 36, settable=ONCE, required=True, references="locations"),
        Field("location_api_id", CODE, 0, 64),
        Field("name", TEXT, 1, 64, required=True),
        Field("account_number", TEXT, 0, 32),
        *_STREET,
        *_PLACE,
        Field("zip_code", TEXT, 5, 10),
        *_PHONES,
        _TIME_ZONE,
        Field("aba", CODE, 9, 9, secret=True),
        Field("dda", CODE, 3, 32, secret=True),
        *_MERCHANT_ACCOUNTS,
        _BRANDING_URL,
        *(Field(name, CODE, 1, 36) for name in ("branding_domain_id", "developer_company_id")),
        *read_only(secret=True, location_api_key=TEXT, ticket_hash_key=TEXT),
        Field("email_reply_to", TEXT, 0, 60),
        Field("receipt_logo", TEXT, 0, 256),
        *(Field(f"location_c{number}", TEXT, 0, 128) for number in (1, 2, 3)),
        *_SWITCHES,
        Field("recurring_notification_days_default", INTEGER, 1, 2, default=0),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        Field("created_user_id", CODE, settable=NEVER, shown=False),
    ),
    api_id="location_api_id",
)

LOCATION_INFO = Table(
    "locationinfo",
    "locationinfos",
    (
        *read_only(id=CODE, name=TEXT),
        *_STREET,
        *_PLACE,
        *read_only(zip=TEXT),
        *_PHONES,
        _TIME_ZONE,
        _BRANDING_URL,
        *read_only(branding_domain=OBJECT),
        *_MERCHANT_ACCOUNTS,
        *_SWITCHES,
        *read_only(product_transactions=OBJECT, product_file=OBJECT, product_accountvault=OBJECT),
        *read_only(product_recurring=OBJECT, terminals=OBJECT, tags=OBJECT),
    ),
)
