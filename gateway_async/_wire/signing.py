"""Credentials → what they add to a request."""

from base64 import b64encode

import attrs

from gateway_async._wire.query import Params
from gateway_async.credentials import Credentials, UserApiKey

__all__ = ["Signature", "sign"]


@attrs.frozen(repr=False)
class Signature:
    """Headers and parameters that prove who is calling; never shown."""

    headers: Params = ()
    params: Params = ()


def sign(credentials: Credentials, developer_id: str) -> Signature:
    """What goes with a request: `developer-id` stands where the credentials do (headers for Basic)."""
    developer = ("developer-id", developer_id)
    match credentials.send_in:
        case "headers":
            return Signature(headers=(developer, *_pair(credentials)))
        case "query":
            return Signature(params=(developer, *_pair(credentials)))
        case "basic":
            return Signature(headers=(developer, ("authorization", _basic(credentials))))


def _pair(key: UserApiKey) -> Params:
    return ("user-id", key.user_id), ("user-api-key", key.user_api_key.reveal())


def _basic(key: UserApiKey) -> str:
    return "Basic " + b64encode(f"{key.user_id}:{key.user_api_key.reveal()}".encode()).decode()
