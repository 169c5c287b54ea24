"""Access tokens, which a login returns (contract, *Token object*)."""

from datetime import datetime

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.record import Record


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Token(Record):
    """An access token of a user."""

    id: str | None = None
    """The gateway's id of the token."""
    token: Secret
    """The value for `AccessToken`; masked, `.reveal()` returns it."""
    expire: int | None = None
    """Minutes without use after which the token expires."""
    first_name: str | None = None
    """The user's first name."""
    last_name: str | None = None
    """The user's family name."""
    password_expire_ts: datetime | None = None
    """The time at which the user's password expires, in UTC."""
    time: int | None = None
    """When the token was created, Unix seconds."""
    username: str | None = None
    """The user's login name."""
    primary_location_id: str | None = None
    """The user's primary location."""
    timezone: str | None = None
    """The IANA name of the user's time zone."""
    user_type_id: int | None = None
    """The gateway's code of the user's type."""
