"""The fields of a user: one who calls the gateway.

Its credentials are stored and never shown. `domain` is the name that a login sends.
"""

from gateway_async.sandbox.schema.fields import NEVER, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, DATE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = ["USER", "USER_TYPE"]


USER_TYPE = 200
"""The `user_type_id` of every user of the sandbox."""

USER = Table(
    "user",
    "users",
    (
        *read_only(id=CODE, username=TEXT, first_name=TEXT, last_name=TEXT, company_name=TEXT, email=TEXT),
        *read_only(account_number=TEXT, address=TEXT, city=TEXT, state=TEXT, zip=TEXT),
        *read_only(home_phone=TEXT, cell_phone=TEXT, office_phone=TEXT, office_ext_phone=TEXT, date_of_birth=DATE),
        Field("email_trx_receipt", FLAG, settable=NEVER, default=0),
        *read_only(locale=TEXT),
        Field("tz", TEXT, settable=NEVER, default="UTC"),
        Field("requires_new_password", FLAG, settable=NEVER),
        *read_only(primary_location_id=CODE, branding_domain_id=CODE, branding_domain_url=TEXT),
        Field("user_type_id", INTEGER, settable=NEVER, default=USER_TYPE),
        *read_only(domain_id=CODE, contact_id=CODE, created_user_id=CODE),
        Field("status", INTEGER, settable=NEVER, default=1),
        Field("login_attempts", INTEGER, settable=NEVER, default=0),
        *read_only(current_login=TIMESTAMP, current_login_ip=TEXT, last_login_ts=TIMESTAMP),
        *read_only(terms_condition_id=CODE, terms_accepted_ts=TIMESTAMP, terms_agree_ip=TEXT),
        Field("ui_prefs", OBJECT, settable=NEVER),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        *(Field(name, CODE, settable=NEVER, shown=False) for name in ("location_id", "domain")),
        *(
            Field(name, TEXT, settable=NEVER, shown=False, secret=True)
            for name in ("password", "user_api_key", "user_hash_key")
        ),
    ),
)
