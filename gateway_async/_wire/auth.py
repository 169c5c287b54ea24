"""Signatures of requests, and the calls that create and revoke tokens."""

import hashlib
import hmac
from base64 import b64encode
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, HttpRequest, RepeatEffect, Resolver, lookup_by_success
from gateway_async._wire.convert import FieldError, read_nothing
from gateway_async._wire.json_text import encode, is_text
from gateway_async._wire.query import Params
from gateway_async._wire.rows import structure
from gateway_async.credentials import AccessToken, BearerToken, Credentials, HashKey, UserApiKey, is_header_text
from gateway_async.errors import AuthenticationError, InvalidRequestError
from gateway_async.models.tokens import Token

_PATH_OF_TOKENS: Final = "/v2/token"
_HASH_KEY_RESOURCES: Final = frozenset(
    {"accountforms", "accountvaults", "payform", "routeraccountvaults", "salestax", "transactions"}
)


@attrs.define(repr=False)
class Signature:
    """Headers and query parameters that authenticate a request.

    Attributes:
        secrets: the secrets in it, which are masked in quoted response texts.
    """

    headers: Params = ()
    params: Params = ()
    secrets: tuple[Secret, ...] = ()


def check_supported(credentials: Credentials, call: Call[object]) -> None:
    """Reject a call that the credentials cannot sign (contract, *HMAC*).

    Raises:
        InvalidRequestError: the endpoint does not accept a hash-key.
    """
    if (
        isinstance(credentials, HashKey)
        and call.request.signed
        and call.request.path.split("/")[2] not in _HASH_KEY_RESOURCES
    ):
        raise InvalidRequestError(f"credentials: HashKey cannot sign {call}; the gateway takes it for account vaults,"
                                  " router account vaults and transactions only")  # fmt: skip


def sign_without_credentials(developer_id: str) -> Signature:
    """Build the headers of a request without credentials, such as a login."""
    return Signature(headers=(("developer-id", developer_id),))


def sign(credentials: Credentials, developer_id: str, now: float) -> Signature:
    """Sign a request that is sent at `now` (Unix seconds).

    `developer-id` is a header or a query parameter, like the credentials.
    """
    developer = ("developer-id", developer_id)
    match credentials:
        case UserApiKey(user_id=user_id, user_api_key=Secret() as key, send_in="basic"):
            basic = Secret(f"Basic {_base64(f'{user_id}:{key.reveal()}')}")
            return Signature((developer, ("authorization", basic)), secrets=(key, basic))
        case BearerToken(token=Secret() as token):
            return Signature((developer, ("authorization", Secret(f"Bearer {token.reveal()}"))), secrets=(token,))
        case UserApiKey(user_id=user_id, user_api_key=Secret() as key):
            return _signature_in(credentials.send_in, (developer, ("user-id", user_id), ("user-api-key", key)), key)
        case AccessToken(token=Secret() as token):
            return _signature_in(credentials.send_in, (developer, ("access-token", token)), token)
        case HashKey(user_id=user_id, user_hash_key=Secret() as key):
            timestamp = str(int(now))
            digest = hash_key(user_id, key, timestamp)
            signed_params = (("user-id", user_id), ("timestamp", timestamp), ("hash-key", digest))
            return _signature_in(credentials.send_in, (developer, *signed_params), key, digest)
        case _:
            raise TypeError("credentials must hold their secret when they sign")


def _signature_in(send_in: str, params: Params, *secrets: Secret) -> Signature:
    return Signature(params=params, secrets=secrets) if send_in == "query" else Signature(params, secrets=secrets)


def hash_key(user_id: str, key: Secret, timestamp: str) -> Secret:
    """Compute the HMAC-SHA256 of user id and timestamp, in lower-case hex."""
    return Secret(hmac.new(key.reveal().encode(), f"{user_id}{timestamp}".encode(), hashlib.sha256).hexdigest())


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def log_in(username: str, password: str | Secret, domain: str) -> Call[Token]:
    """Build the call that fetches a token.

    Repeating it is safe: it creates a second token, and the unused one expires.

    Raises:
        InvalidRequestError: `.problems` names every argument that cannot be sent.
    """
    secret = Secret(password)
    del password  # an error's traceback shows local variables
    content: dict[str, Any] = {"username": username, "password": secret, "domain": domain}
    problems = [f"{name}: must be text, and not empty" for name, value in content.items() if not _is_text(value)]
    if problems:
        raise InvalidRequestError(problems)
    return Call(
        request=HttpRequest(method="POST", path=_PATH_OF_TOKENS, body=encode(content), secrets=(secret,), signed=False),
        read=_token,
        sent=content | {"password": "***"},
        error_class=AuthenticationError,
    )


def revoke(token: Secret) -> Call[None]:
    """Build the call that revokes a token immediately.

    If the response is lost, the lookup revokes it again: a token that is already revoked is not found.

    Raises:
        InvalidRequestError: the token cannot be sent.
    """
    if not _is_text(token) or token.reveal() in (".", ".."):
        raise InvalidRequestError("token: must be text, and not empty")
    segment = Secret(quote(token.reveal(), safe=""))
    path, secrets = Secret(f"{_PATH_OF_TOKENS}/{segment.reveal()}"), (segment, token)
    call = Call(request=HttpRequest(method="DELETE", path=path, secrets=secrets), read=read_nothing)
    resolver = Resolver(lookup=partial(lookup_by_success, call, missing_is_success=True))
    return attrs.evolve(call, repeat_effect=RepeatEffect.IDEMPOTENT, resolver=resolver)


def _is_text(value: Any) -> bool:
    text = value.reveal() if isinstance(value, Secret) else value
    return is_text(text) and text != ""


def _token(content: Any) -> Token:
    wrapped = content.get("token") if isinstance(content, dict) else None
    if not isinstance(wrapped, dict):
        raise FieldError(".token", "missing, or not an object")
    try:
        token = structure(Token, wrapped)
    except FieldError as error:
        raise error.under(".token") from None
    if not is_header_text(token.token.reveal()):
        raise FieldError(".token.token", "cannot be sent in a header")
    return token
