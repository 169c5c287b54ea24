"""Credentials as values (contract, *Authentication*). The secrets in them are masked.

| class | what it sends |
|---|---|
| `UserApiKey` | a user id and the user's key |
| `PasswordLogin` | a token that the client fetches and renews |
| `AccessToken` | a token that you fetched |
| `HashKey` | a signature of each request, where the gateway accepts one |
| `BearerToken` | an OAuth token |
"""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import attrs

from gateway_async._secrets import Secret
from gateway_async.errors import InvalidRequestError

__all__ = [
    "AccessToken",
    "BearerToken",
    "CredentialLocation",
    "Credentials",
    "HashKey",
    "PasswordLogin",
    "UserApiKey",
    "is_header_text",
]

CredentialLocation = Literal["headers", "query"]
"""Where credentials and `developer-id` are sent.

A query string appears in the gateway's access log.
"""

_LOCATIONS = ("headers", "query")


def is_header_text(value: Any) -> bool:
    """Return whether `value` is a valid header value.

    It must be printable ASCII text, not empty, without spaces around it.
    """
    return isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip() != ""


def _is_filled(value: Any) -> bool:
    text = value.reveal() if isinstance(value, Secret) else value
    return isinstance(text, str) and text != ""


def _check(send_in: Any, locations: tuple[str, ...], **texts: Any) -> None:
    """Reject values that cannot be sent.

    Raises:
        InvalidRequestError: `.problems` names every argument that cannot be sent, without its value.
    """
    problems = [] if send_in in locations else [f"send_in: must be one of {', '.join(locations)}"]
    problems += [
        f"{name}: must be printable ASCII text, not empty, without spaces around it"
        for name, value in texts.items()
        if not is_header_text(value.reveal() if isinstance(value, Secret) else value)
    ]
    if problems:
        raise InvalidRequestError(problems)


@attrs.frozen(init=False)
class UserApiKey:
    """A user id and the user's api key (contract, *User id and user api key*).

    Args:
        user_id: the user's id.
        user_api_key: the key, kept as a masked secret.
        send_in: `"headers"` (`user-id`, `user-api-key`), `"query"` (parameters of the same names, which appear in the
            gateway's access log) or `"basic"` (HTTP Basic authorization).

    Raises:
        InvalidRequestError: `send_in` is not one of the three, or a value cannot be sent there.
    """

    user_id: str
    user_api_key: Secret = attrs.field(converter=Secret)
    send_in: Literal["headers", "query", "basic"] = "headers"

    def __init__(
        self, user_id: str, user_api_key: str | Secret, send_in: Literal["headers", "query", "basic"] = "headers"
    ) -> None:
        user_api_key = Secret(user_api_key)  # an error's traceback shows local variables
        self.__attrs_init__(user_id, user_api_key, send_in)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, (*_LOCATIONS, "basic"), user_id=self.user_id, user_api_key=self.user_api_key)
        if self.send_in == "basic" and ":" in self.user_id:
            raise InvalidRequestError("user_id: must not contain a colon in Basic authorization")


@attrs.frozen(init=False)
class PasswordLogin:
    """A user name and password, exchanged for a token (contract, *Token*).

    The client logs in when the first call needs a token; concurrent calls share one login. It logs in again after 15
    idle minutes, or when the gateway rejects the token with a 401. The gateway checks the token before it executes
    anything, so the client then repeats that call once. Closing the client revokes the token. A rejected login is an
    `AuthenticationError`.

    Args:
        username: the user's name.
        password: the user's password, kept as a masked secret.
        domain: the domain of the user's account.
        send_in: where the token is sent: `"headers"` or `"query"`.

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    username: str
    password: Secret = attrs.field(converter=Secret)
    domain: str
    send_in: CredentialLocation = "headers"

    def __init__(
        self, username: str, password: str | Secret, domain: str, send_in: CredentialLocation = "headers"
    ) -> None:
        password = Secret(password)  # an error's traceback shows local variables
        self.__attrs_init__(username, password, domain, send_in)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        texts: dict[str, Any] = {"username": self.username, "password": self.password, "domain": self.domain}
        problems = [f"{name}: must be text, and not empty" for name, value in texts.items() if not _is_filled(value)]
        if problems:
            raise InvalidRequestError(problems)
        _check(self.send_in, _LOCATIONS)


@attrs.frozen(init=False)
class AccessToken:
    """A token from `gateway.tokens.create(…)`, used until it expires (contract, *Token*).

    Args:
        token: the token, kept as a masked secret.
        send_in: `"headers"` (`access-token`) or `"query"` (a parameter of that name).

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    token: Secret = attrs.field(converter=Secret)
    send_in: CredentialLocation = "headers"

    def __init__(self, token: str | Secret, send_in: CredentialLocation = "headers") -> None:
        token = Secret(token)  # an error's traceback shows local variables
        self.__attrs_init__(token, send_in)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, _LOCATIONS, token=self.token)


@attrs.frozen(init=False)
class HashKey:
    """A user's hash key, which signs each request separately (contract, *HMAC*).

    The gateway accepts it for account vaults, router account vaults and transactions. Any other call raises
    `InvalidRequestError` before anything is sent. The clock of this machine must be accurate to a few minutes.

    Args:
        user_id: the user's id.
        user_hash_key: the key of the signature, kept as a masked secret; it is never sent.
        send_in: where `user-id`, `timestamp` and `hash-key` are sent: `"headers"` or `"query"`.

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    user_id: str
    user_hash_key: Secret = attrs.field(converter=Secret)
    send_in: CredentialLocation = "headers"

    def __init__(self, user_id: str, user_hash_key: str | Secret, send_in: CredentialLocation = "headers") -> None:
        user_hash_key = Secret(user_hash_key)  # an error's traceback shows local variables
        self.__attrs_init__(user_id, user_hash_key, send_in)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, _LOCATIONS, user_id=self.user_id, user_hash_key=self.user_hash_key)


def _as_secret(token: Any) -> Any:
    return token if callable(token) else Secret(token)


@attrs.frozen(init=False)
class BearerToken:
    """An OAuth access token (contract, *OAuth*).

    Args:
        token: the token, kept as a masked secret; or an async callable that returns one, called before each request.
            The callable should cache its token until shortly before it expires.

    Raises:
        InvalidRequestError: the token cannot be sent.
    """

    token: Secret | Callable[[], Awaitable[str]] = attrs.field(converter=_as_secret)

    def __init__(self, token: str | Secret | Callable[[], Awaitable[str]]) -> None:
        token = _as_secret(token)  # an error's traceback shows local variables
        self.__attrs_init__(token)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        if isinstance(self.token, Secret):
            _check("headers", _LOCATIONS, token=self.token)


Credentials = UserApiKey | PasswordLogin | AccessToken | HashKey | BearerToken
"""Every kind of credentials that a client accepts."""
