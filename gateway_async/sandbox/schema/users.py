"""The fields of a user (contract, "Users"), and of the roles that give it rights.

A user's password and keys are stored and never shown. `domain` is the name that a login sends. `password_used` says
whether a password that another user has set was used for its only login.
"""

from gateway_async.sandbox.schema.fields import NEVER, ONCE, Field, Table, read_only
from gateway_async.sandbox.schema.kinds import CODE, DATE, FLAG, INTEGER, OBJECT, TEXT, TIMESTAMP

__all__ = ["AUTH_ROLE_USER", "USER", "USER_TYPE"]


USER_TYPE = 200
"""The `user_type_id` of a user unless its creator names another one."""

_CHANGE_ONLY = frozenset({"PUT"})

USER = Table(
    "user",
    "users",
    (
        Field("id", CODE, settable=NEVER),
        Field("username", TEXT, 1, 64),
        *(Field(name, TEXT, 0, 64) for name in ("first_name", "last_name", "company_name")),
        Field("email", TEXT, 0, 128),
        Field("account_number", TEXT, 0, 32),
        Field("address", TEXT, 0, 64),
        *(Field(name, TEXT, 0, 100) for name in ("city", "state")),
        Field("zip", TEXT, 0, 10),
        *(Field(name, TEXT, 0, 10) for name in ("home_phone", "cell_phone", "office_phone", "office_ext_phone")),
        Field("date_of_birth", DATE),
        Field("email_trx_receipt", FLAG, default=0),
        Field("locale", TEXT, 0, 8),
        Field("tz", TEXT, 0, 30, default="UTC"),
        Field("requires_new_password", FLAG),
        Field("primary_location_id", CODE, 1, 36, settable=ONCE),
        Field("branding_domain_id", CODE, 1, 36),
        *read_only(branding_domain_url=TEXT),
        Field("user_type_id", INTEGER, 1, 4, default=USER_TYPE),
        *read_only(domain_id=CODE, contact_id=CODE, created_user_id=CODE),
        Field("status", INTEGER, settable=NEVER, default=1),
        Field("login_attempts", INTEGER, settable=NEVER, default=0),
        *read_only(current_login=TIMESTAMP, current_login_ip=TEXT, last_login_ts=TIMESTAMP),
        *read_only(terms_condition_id=CODE, terms_accepted_ts=TIMESTAMP, terms_agree_ip=TEXT),
        Field("ui_prefs", OBJECT, settable=NEVER),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        *(Field(name, CODE, settable=NEVER, shown=False) for name in ("location_id", "domain")),
        Field("password", TEXT, 12, 128, shown=False, secret=True),
        Field("old_password", TEXT, 1, 128, settable=_CHANGE_ONLY, stored=False, secret=True),
        Field("previous_passwords", TEXT, settable=NEVER, shown=False, default="[]", secret=True),
        Field("password_used", FLAG, settable=NEVER, shown=False, default=0),
        Field("user_api_key", TEXT, 1, 64, settable=ONCE, shown=False, secret=True),
        Field("user_hash_key", TEXT, 24, 64, settable=ONCE, shown=False, secret=True),
    ),
)

AUTH_ROLE_USER = Table(
    "authroleuser",
    "authroleusers",
    (
        Field("id", CODE, settable=NEVER),
        Field("user_id", CODE, 1, 36, settable=ONCE, required=True),
        Field("auth_role_id", INTEGER, 1, settable=ONCE, required=True),
        *read_only(created_ts=TIMESTAMP, modified_ts=TIMESTAMP),
        *(Field(name, CODE, settable=NEVER, shown=False) for name in ("location_id", "created_user_id")),
    ),
)
