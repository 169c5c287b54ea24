"""Who is calling: credentials as values (contract, *Authentication*). Secrets in them are masked.

| class | proves it by |
|---|---|
| `UserApiKey` | a user id and the user's key |
| `PasswordLogin` | a token that the client fetches and keeps alive |
| `AccessToken` | a token that you fetched |
| `HashKey` | a signature of each request, where the gateway takes one |
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
    "Credentials",
    "HashKey",
    "PasswordLogin",
    "Place",
    "UserApiKey",
    "is_header_text",
]

Place = Literal["headers", "query"]
"""Where credentials and `developer-id` go; in a query string they end up in the gateway's access log."""

_PLACES = ("headers", "query")


def is_header_text(value: Any) -> bool:
    """Whether `value` can stand in a header: printable ASCII text, not empty, and no space around it."""
    return isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip() != ""


def _check(send_in: Any, places: tuple[str, ...], **texts: Any) -> None:
    """Refuse what cannot be sent.

    Raises:
        InvalidRequestError: `.problems` names every argument that cannot be sent, and repeats none.
    """
    problems = [] if send_in in places else [f"send_in: must be one of {', '.join(places)}"]
    problems += [
        f"{name}: must be printable ASCII text, not empty, without spaces around it"
        for name, value in texts.items()
        if not is_header_text(value.reveal() if isinstance(value, Secret) else value)
    ]
    if problems:
        raise InvalidRequestError(problems)


@attrs.frozen
class UserApiKey:
    """A user id and the user's api key (contract, *User id and user api key*).

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
    send_in: Literal["headers", "query", "basic"] = "headers"

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, (*_PLACES, "basic"), user_id=self.user_id, user_api_key=self.user_api_key)
        if self.send_in == "basic" and ":" in self.user_id:
            raise InvalidRequestError("user_id: must not contain a colon in Basic authorization")


@attrs.frozen
class PasswordLogin:
    """A user name and password, which the client turns into a token by itself (contract, *Token*).

    It logs in when the first call needs it, once for any number of waiting calls; again after 15 idle minutes, or when
    the gateway no longer takes the token (a 401 is given before anything is carried out, so that call is repeated,
    once); and it revokes the token when it is closed. A login that is refused is an `AuthenticationError`.

    Args:
        username: the user's name.
        password: the user's password, kept as a masked secret.
        domain: the domain of the user's account.
        send_in: where the token goes: `"headers"` or `"query"`.

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    username: str
    password: Secret = attrs.field(converter=Secret)
    domain: str
    send_in: Place = "headers"

    def __attrs_post_init__(self) -> None:
        texts = {"username": self.username, "password": self.password.reveal(), "domain": self.domain}
        problems = [
            f"{name}: must be text, and not empty"
            for name, value in texts.items()
            if not isinstance(value, str) or not value
        ]
        if problems:
            raise InvalidRequestError(problems)
        _check(self.send_in, _PLACES)


@attrs.frozen
class AccessToken:
    """A token from `gateway.tokens.create(…)`, which the client uses until it expires (contract, *Token*).

    Args:
        token: the token, kept as a masked secret.
        send_in: `"headers"` (`access-token`) or `"query"` (a parameter of that name).

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    token: Secret = attrs.field(converter=Secret)
    send_in: Place = "headers"

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, _PLACES, token=self.token)


@attrs.frozen
class HashKey:
    """A user's hash key, with which each request is signed afresh (contract, *HMAC*).

    The gateway takes it for account vaults, router account vaults and transactions; any other call is an
    `InvalidRequestError` before anything is sent. The clock of this machine must be right to some minutes.

    Args:
        user_id: the user's id.
        user_hash_key: the key of the signature, kept as a masked secret; it is never sent.
        send_in: where `user-id`, `timestamp` and `hash-key` go: `"headers"` or `"query"`.

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    user_id: str
    user_hash_key: Secret = attrs.field(converter=Secret)
    send_in: Place = "headers"

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, _PLACES, user_id=self.user_id, user_hash_key=self.user_hash_key)


def _as_secret(token: Any) -> Any:
    return token if callable(token) else Secret(token)


@attrs.frozen
class BearerToken:
    """An OAuth access token (contract, *OAuth*).

    Args:
        token: the token, kept as a masked secret; or an async callable that returns one, asked before each request.
            It should keep its token until it is about to expire.

    Raises:
        InvalidRequestError: the token cannot be sent.
    """

    token: Secret | Callable[[], Awaitable[str]] = attrs.field(converter=_as_secret)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.token, Secret):
            _check("headers", _PLACES, token=self.token)


Credentials = UserApiKey | PasswordLogin | AccessToken | HashKey | BearerToken
"""Every kind of credentials that a client takes."""
