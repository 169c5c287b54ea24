"""Credentials as values (contract, *Authentication*). The secrets in them are masked.

| class | what it sends |
|---|---|
| `UserApiKey` | a user id and the user's key |
| `PasswordLogin` | a token that the client fetches and renews |
| `AccessToken` | a token that you fetched |
| `HashKey` | a signature of each request, where the gateway accepts one |
| `BearerToken` | an OAuth token |

The secret of each class is a value, or a function that returns it, which may be async. The client calls it before each
request (for a `PasswordLogin`: before each login), which lets you rotate a key while the client runs. A function that
reads a file or asks a service should cache its result.
"""

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any, Final, Literal

import attrs

from gateway_async._secrets import Secret
from gateway_async.errors import InvalidRequestError

__all__ = [
    "SECRET_FIELDS",
    "AccessToken",
    "BearerToken",
    "CredentialLocation",
    "Credentials",
    "HashKey",
    "PasswordLogin",
    "SecretFunction",
    "UserApiKey",
    "has_secret_function",
    "is_header_text",
    "user_digest",
]

CredentialLocation = Literal["headers", "query"]
"""Where credentials and `developer-id` are sent.

A query string appears in the gateway's access log.
"""

SecretFunction = Callable[[], str | Secret | Awaitable[str | Secret]]
"""A function that returns the current value of a secret, or awaits it."""

_LOCATIONS = ("headers", "query")


def is_header_text(value: Any) -> bool:
    """Whether `value` is a valid header value.

    It must be printable ASCII text, not empty, without spaces around it.
    """
    return isinstance(value, str) and value.isascii() and value.isprintable() and value == value.strip() != ""


def _as_secret(value: Any) -> Any:
    return value if callable(value) else Secret(value)


def _repr_of_secret(value: Secret | SecretFunction) -> str:
    return repr(value) if isinstance(value, Secret) else "<function>"  # a function may refer to another secret


def _is_filled(value: Any) -> bool:
    if callable(value):
        return True
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
        if not callable(value) and not is_header_text(value.reveal() if isinstance(value, Secret) else value)
    ]
    if problems:
        raise InvalidRequestError(problems)


@attrs.frozen(init=False)
class UserApiKey:
    """A user id and the user's api key (contract, *User id and user api key*).

    Args:
        user_id: the user's id.
        user_api_key: the key, kept as a masked secret, or a function that returns it.
        send_in: `"headers"` (`user-id`, `user-api-key`), `"query"` (parameters of the same names, which appear in the
            gateway's access log) or `"basic"` (HTTP Basic authorization).

    Raises:
        InvalidRequestError: `send_in` is not one of the three, or a value cannot be sent there.
    """

    user_id: str
    user_api_key: Secret | SecretFunction = attrs.field(converter=_as_secret, repr=_repr_of_secret)
    send_in: Literal["headers", "query", "basic"] = "headers"

    def __init__(
        self,
        user_id: str,
        user_api_key: str | Secret | SecretFunction,
        send_in: Literal["headers", "query", "basic"] = "headers",
    ) -> None:
        user_api_key = _as_secret(user_api_key)  # an error's traceback shows local variables
        self.__attrs_init__(user_id, user_api_key, send_in)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, (*_LOCATIONS, "basic"), user_id=self.user_id, user_api_key=self.user_api_key)
        if self.send_in == "basic" and ":" in self.user_id:
            raise InvalidRequestError("user_id: must not contain a colon in Basic authorization")


@attrs.frozen(init=False)
class PasswordLogin:
    """A user name and password, exchanged for a token (contract, *Token*).

    The client logs in when the first call needs a token; concurrent calls share one login. It logs in again after 15
    idle minutes, or when the gateway rejects the token with a 401. After a 401, it repeats a read once, and a write
    once if a lookup does not find it. It does not repeat a terminal call or a write without an integrator id. Closing
    the client revokes the token. A rejected login is an `AuthenticationError`.

    Args:
        username: the user's name.
        password: the user's password, kept as a masked secret, or a function that returns it.
        domain: the domain of the user's account.
        send_in: where the token is sent: `"headers"` or `"query"`.

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    username: str
    password: Secret | SecretFunction = attrs.field(converter=_as_secret, repr=_repr_of_secret)
    domain: str
    send_in: CredentialLocation = "headers"

    def __init__(
        self,
        username: str,
        password: str | Secret | SecretFunction,
        domain: str,
        send_in: CredentialLocation = "headers",
    ) -> None:
        password = _as_secret(password)  # an error's traceback shows local variables
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
        token: the token, kept as a masked secret, or a function that returns it.
        send_in: `"headers"` (`access-token`) or `"query"` (a parameter of that name).

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    token: Secret | SecretFunction = attrs.field(converter=_as_secret, repr=_repr_of_secret)
    send_in: CredentialLocation = "headers"

    def __init__(self, token: str | Secret | SecretFunction, send_in: CredentialLocation = "headers") -> None:
        token = _as_secret(token)  # an error's traceback shows local variables
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
        user_hash_key: the key of the signature, kept as a masked secret, or a function that returns it. The key is
            never sent.
        send_in: where `user-id`, `timestamp` and `hash-key` are sent: `"headers"` or `"query"`.

    Raises:
        InvalidRequestError: a value cannot be sent.
    """

    user_id: str
    user_hash_key: Secret | SecretFunction = attrs.field(converter=_as_secret, repr=_repr_of_secret)
    send_in: CredentialLocation = "headers"

    def __init__(
        self, user_id: str, user_hash_key: str | Secret | SecretFunction, send_in: CredentialLocation = "headers"
    ) -> None:
        user_hash_key = _as_secret(user_hash_key)  # an error's traceback shows local variables
        self.__attrs_init__(user_id, user_hash_key, send_in)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        _check(self.send_in, _LOCATIONS, user_id=self.user_id, user_hash_key=self.user_hash_key)


@attrs.frozen(init=False)
class BearerToken:
    """An OAuth access token (contract, *OAuth*).

    Args:
        token: the token, kept as a masked secret, or a function that returns it. The function should cache its token
            until shortly before it expires.

    Raises:
        InvalidRequestError: the token cannot be sent.
    """

    token: Secret | SecretFunction = attrs.field(converter=_as_secret, repr=_repr_of_secret)

    def __init__(self, token: str | Secret | SecretFunction) -> None:
        token = _as_secret(token)  # an error's traceback shows local variables
        self.__attrs_init__(token)  # pyright: ignore[reportAttributeAccessIssue]  attrs makes it

    def __attrs_post_init__(self) -> None:
        _check("headers", _LOCATIONS, token=self.token)


Credentials = UserApiKey | PasswordLogin | AccessToken | HashKey | BearerToken
"""Every kind of credentials that a client accepts."""

SECRET_FIELDS: Final[Mapping[type[Any], str]] = {
    UserApiKey: "user_api_key",
    PasswordLogin: "password",
    AccessToken: "token",
    HashKey: "user_hash_key",
    BearerToken: "token",
}
"""The field with the secret of each class."""


def has_secret_function(credentials: Credentials) -> bool:
    """Whether the secret of credentials is a function to call."""
    return not isinstance(getattr(credentials, SECRET_FIELDS[type(credentials)]), Secret)


def user_digest(credentials: Credentials) -> str:
    """A digest that tells users apart, without their names; "" for a token, which does not say whose it is."""
    match credentials:
        case UserApiKey() | HashKey():
            name = credentials.user_id
        case PasswordLogin():
            name = f"{credentials.username}\n{credentials.domain}"
        case _:
            return ""
    return sha256(name.encode(errors="replace")).hexdigest()[:32]
