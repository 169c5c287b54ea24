"""The calls of a token's life: log in, revoke."""

from typing import Any, Final
from urllib.parse import quote

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.convert import FieldError, encode, is_text, structure
from gateway_async.credentials import is_header_text
from gateway_async.errors import AuthenticationError, InvalidRequestError
from gateway_async.models.tokens import Token

__all__ = ["log_in", "revoke"]

_PATH: Final = "/v2/token"


def log_in(username: str, password: str | Secret, domain: str) -> Call[Token]:
    """Fetch a token. Doing it twice makes two tokens, of which one idles out: it is safe to repeat.

    Raises:
        InvalidRequestError: `.problems` names every argument that cannot be sent.
    """
    secret = Secret(password)
    content = {"username": username, "password": secret.reveal(), "domain": domain}
    problems = [f"{name}: must be text, and not empty" for name, value in content.items() if not _is_text(value)]
    if problems:
        raise InvalidRequestError(problems)
    return Call(
        method="POST",
        path=_PATH,
        body=encode(content),
        read=_token,
        sent=content | {"password": "***"},
        secrets=(secret,),
        signed=False,
        refusal=AuthenticationError,
    )


def revoke(token: Secret) -> Call[None]:
    """End a token at once. A lost answer is settled by asking once more: what is revoked already is not found.

    Raises:
        InvalidRequestError: the token cannot be sent.
    """
    if not _is_text(token.reveal()) or token.reveal() in (".", ".."):
        raise InvalidRequestError("token: must be text, and not empty")
    segment = quote(token.reveal(), safe="")
    path, secrets = f"{_PATH}/{segment}", (Secret(segment), token)
    again: Call[Any] = Call(method="DELETE", path=path, read=_nothing, secrets=secrets, absent=None)
    return Call(method="DELETE", path=path, read=_nothing, kind=Kind.IDEMPOTENT, secrets=secrets, lookup=again)


def _is_text(value: Any) -> bool:
    return is_text(value) and value != ""


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


def _nothing(_: Any) -> None:
    """Of the answer to a deletion there is nothing to read."""
