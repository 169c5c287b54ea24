"""User accounts of the gateway (contract, *Users*)."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.record import Record, lenient


@lenient
@attrs.frozen(kw_only=True, eq=False, repr=False)
class User(Record):
    """A user of the gateway. It contains no money: a value that does not fit its field is in `extra`."""

    id: str
    """The gateway's id, which `UserApiKey` and `HashKey` take."""
    username: str | None = None
    """The name that the user logs in with, at most 64 characters."""
    first_name: str | None = None
    """At most 64 characters."""
    last_name: str | None = None
    """At most 64 characters."""
    company_name: str | None = None
    """At most 64 characters."""
    email: str | None = None
    """The user's e-mail address, at most 128 characters."""
    account_number: str | None = None
    """The integrator's number for the user, at most 32 characters. It does not hold a bank account."""
    address: str | None = None
    """The street, at most 64 characters."""
    city: str | None = None
    """At most 100 characters."""
    state: str | None = None
    """At most 100 characters."""
    zip: str | None = None
    """At most 10 characters."""
    home_phone: str | None = None
    """10 digits."""
    cell_phone: str | None = None
    """10 digits."""
    office_phone: str | None = None
    """10 digits."""
    office_ext_phone: str | None = None
    """The extension of the office, at most 10 digits."""
    date_of_birth: date | None = None
    """The user's date of birth."""
    email_trx_receipt: bool | None = None
    """Whether the user gets receipts by e-mail."""
    locale: str | None = None
    """The user's language, at most 8 characters, such as `en_CA`."""
    tz: str | None = None
    """The user's time zone, at most 30 characters. Some lists show their times in it."""
    requires_new_password: bool | None = None
    """Whether the user must change the password at the next login."""
    primary_location_id: str | None = None
    """Default location for transactions."""
    branding_domain_id: str | None = None
    """The id of the user's web address."""
    branding_domain_url: str | None = None
    """The user's web address of the hosted interface."""
    user_type_id: int | None = None
    """The kind of user, such as 250 for a client administrator and 300 for an integration user."""
    domain_id: str | None = None
    """The id of the domain that a login names."""
    contact_id: str | None = None
    """The contact that the user is, if any."""
    user_api_key: Secret | None = None
    """The key for `UserApiKey`, masked. The gateway shows it only when it is generated."""
    user_hash_key: Secret | None = None
    """The key for `HashKey`, masked. The gateway does not show it."""
    status: int | None = None
    """The state of the user; 1 for an active one."""
    login_attempts: int | None = None
    """Failed logins since the last good one."""
    current_login: datetime | None = None
    """The time of the current login."""
    current_login_ip: str | None = None
    """The address from which the user logged in."""
    last_login_ts: datetime | None = None
    """The time of the login before."""
    current_date_time: datetime | None = None
    """The gateway's time when it made the response."""
    terms_condition_id: str | None = None
    """The id of the terms that the user has accepted."""
    terms_accepted_ts: datetime | None = None
    """The time at which the user accepted them."""
    terms_agree_ip: str | None = None
    """The address from which the user accepted them."""
    ui_prefs: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    """The user's settings of the hosted interface, such as `entry_page`, `page_size` and `default_terminal`."""
    created_user_id: str | None = None
    """The user who created it."""
    created_ts: datetime | None = None
    """When it was created, in UTC."""
    modified_ts: datetime | None = None
    """When it was last changed, in UTC."""
