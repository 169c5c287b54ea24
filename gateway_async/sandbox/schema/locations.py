"""The fields of a location and of its location info.

A location info shows in one record what a client must know about a location. It is not stored itself: it is made from
the location and its merchant accounts and terminals.
"""

from gateway_async.sandbox.schema.fields import NEVER, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = ["LOCATION", "LOCATION_INFO"]


_BRANDING = read_only(branding_domain_id=CODE, developer_company_id=CODE)
_SWITCHES = tuple(
    Field(name, FLAG, settable=NEVER, default=default)
    for name, default in (
        ("contact_email_trx_receipt_default", 1),
        ("show_contact_files", 0),
        ("show_contact_notes", 1),
    )
)
_CUSTOM_FIELDS = read_only(location_c1=TEXT, location_c2=TEXT, location_c3=TEXT)
_ADDRESS = read_only(address1=TEXT, address2=TEXT, city=TEXT, state=TEXT)
_PHONES = read_only(office_phone=TEXT, office_ext_phone=TEXT, fax=TEXT)
_TIME_ZONE = Field("tz", TEXT, settable=NEVER, default="UTC")

LOCATION = Table(
    "location",
    "locations",
    (
        *read_only(id=CODE, parent_id=CODE, location_api_id=CODE, name=TEXT, account_number=TEXT),
        *_ADDRESS,
        *read_only(zip_code=TEXT),
        *_PHONES,
        _TIME_ZONE,
        *read_only(secret=True, aba=CODE, dda=CODE),
        *read_only(default_cc=CODE, default_ach=CODE, branding_domain_url=TEXT),
        *_BRANDING,
        *read_only(secret=True, location_api_key=TEXT, ticket_hash_key=TEXT),
        *read_only(email_reply_to=TEXT, receipt_logo=TEXT),
        *_CUSTOM_FIELDS,
        *_SWITCHES,
        Field("recurring_notification_days_default", INTEGER, settable=NEVER, default=0),
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
        *_ADDRESS,
        *read_only(zip=TEXT),
        *_PHONES,
        _TIME_ZONE,
        *read_only(branding_domain_url=TEXT, branding_domain=OBJECT, default_cc=CODE, default_ach=CODE),
        *_SWITCHES,
        *read_only(product_transactions=OBJECT, product_file=OBJECT, product_accountvault=OBJECT),
        *read_only(product_recurring=OBJECT, terminals=OBJECT, tags=OBJECT),
    ),
)
