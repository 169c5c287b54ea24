"""Calls that create and revoke access tokens."""

from functools import partial
from typing import Any, Final
from urllib.parse import quote

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, HttpRequest, Kind, Recovery, lookup_by_success
from gateway_async._wire.convert import FieldError, read_nothing
from gateway_async._wire.json_text import encode, is_text
from gateway_async._wire.rows import structure
from gateway_async.credentials import is_header_text
from gateway_async.errors import AuthenticationError, InvalidRequestError
from gateway_async.models.tokens import Token

_PATH: Final = "/v2/token"


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
        request=HttpRequest(method="POST", path=_PATH, body=encode(content), secrets=(secret,), signed=False),
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
    path, secrets = Secret(f"{_PATH}/{segment.reveal()}"), (segment, token)
    call = Call(request=HttpRequest(method="DELETE", path=path, secrets=secrets), read=read_nothing)
    recovery = Recovery(lookup=partial(lookup_by_success, call, missing_is_success=True))
    return attrs.evolve(call, kind=Kind.IDEMPOTENT, recovery=recovery)


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
        raise FieldError(f".token{error.path}", error.reason) from None
    if not is_header_text(token.token.reveal()):
        raise FieldError(".token.token", "cannot be sent in a header")
    return token
