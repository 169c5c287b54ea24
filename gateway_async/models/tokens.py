"""Tokens: what a user name and a password are exchanged for (contract, *Token object*)."""

from datetime import datetime

import attrs

from gateway_async._secrets import Secret
from gateway_async.models.record import Record

__all__ = ["Token"]


@attrs.frozen(kw_only=True, repr=False)
class Token(Record):
    """A login.

    Attributes:
        token: the value to use, for `AccessToken`; masked, `.reveal()` gives it.
        expire: minutes without use after which it ends.
        time: when it was made, Unix seconds.
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
