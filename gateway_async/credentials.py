"""Who is calling: credentials as values (contract, *Authentication*). Secrets in them are masked."""

from typing import Any, Literal

import attrs

from gateway_async._secrets import Secret
from gateway_async.errors import InvalidRequestError

__all__ = ["Credentials", "Place", "UserApiKey", "is_header_text"]

Place = Literal["headers", "query", "basic"]

_PLACES: tuple[Place, ...] = ("headers", "query", "basic")


def is_header_text(value: Any) -> bool:
    """Whether `value` can stand in a header: printable ASCII text, and not empty."""
    return isinstance(value, str) and value != "" and value.isascii() and value.isprintable()


@attrs.frozen
class UserApiKey:
    """A user id and the user's api key.

    Args:
        user_id: the user's id.
        user_api_key: the key, kept as a masked secret.
        send_in: `"headers"` (`user-id`, `user-api-key`), `"query"` (parameters of the same names; they end up in the
            gateway's access log) or `"basic"` (HTTP Basic authorization).

    Raises:
        InvalidRequestError: `send_in` is none of the three, or a value cannot be sent there.
    """

    user_id: str
    user_api_key: Secret = attrs.field(converter=Secret)
    send_in: Place = "headers"

    def __attrs_post_init__(self) -> None:
        if self.send_in not in _PLACES:
            raise InvalidRequestError(f"send_in: must be one of {', '.join(_PLACES)}")
        for name, value in (("user_id", self.user_id), ("user_api_key", self.user_api_key.reveal())):
            if not is_header_text(value):
                raise InvalidRequestError(f"{name}: must be printable ASCII text, and not empty")
        if self.send_in == "basic" and ":" in self.user_id:
            raise InvalidRequestError("user_id: must not contain a colon in Basic authorization")


Credentials = UserApiKey
"""Every kind of credentials that a client takes."""
