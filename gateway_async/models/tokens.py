"""Access tokens, which a login returns (contract, *Token object*)."""

from datetime import datetime

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.record import Record

__all__ = ["Token"]


@attrs.frozen(kw_only=True, repr=False)
class Token(Record):
    """An access token of a user.

    Attributes:
        token: the value for `AccessToken`; masked, `.reveal()` returns it.
        expire: minutes without use after which the token expires.
        time: when the token was created, Unix seconds.
    """

    id: str | None = None
    token: Secret
    expire: int | None = None
    first_name: str | None = None
    last_name: str | None = None
    password_expire_ts: datetime | None = None
    time: int | None = None
    username: str | None = None
    primary_location_id: str | None = None
    timezone: str | None = None
    user_type_id: int | None = None
