"""Signing of requests with credentials, and a check of which requests they can sign."""

import hashlib
import hmac
from base64 import b64encode
from typing import Final

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call
from gateway_async.credentials import AccessToken, BearerToken, Credentials, HashKey, UserApiKey
from gateway_async.errors import InvalidRequestError

Params = tuple[tuple[str, str | Secret], ...]

_HASH_KEY_RESOURCES: Final = frozenset(
    {"accountforms", "accountvaults", "payform", "routeraccountvaults", "salestax", "transactions"}
)


@attrs.frozen(repr=False)
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
    """Return the headers of a request without credentials, such as a login."""
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
    """Return the HMAC-SHA256 of user id and timestamp, as lower-case hex."""
    return Secret(hmac.new(key.reveal().encode(), f"{user_id}{timestamp}".encode(), hashlib.sha256).hexdigest())


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()
