"""Call the functions that return the secrets of credentials, such as a key that is replaced while the client runs."""

import inspect
from typing import Any

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call
from gateway_async.credentials import SECRET_FIELDS, Credentials, SecretFunction, is_header_text
from gateway_async.errors import NotSentError

__all__ = ["call_secret_function", "with_current_secret"]


async def with_current_secret(credentials: Credentials, call: Call[Any]) -> Credentials:
    """Return credentials with the secret that their function returns now.

    Raises:
        NotSentError: the function failed, or its result cannot be sent.
    """
    field = SECRET_FIELDS[type(credentials)]
    source = getattr(credentials, field)
    if isinstance(source, Secret):
        return credentials
    secret = await call_secret_function(source, field, call)
    if not is_header_text(secret.reveal()):
        raise NotSentError(f"no {field}: what was given cannot be sent", call=str(call))
    changes: Any = {field: secret}
    return attrs.evolve(credentials, **changes)


async def call_secret_function(source: SecretFunction, field: str, call: Call[Any]) -> Secret:
    """Call the function for the secret `field`.

    Raises:
        NotSentError: the function failed, or returned no text.
    """
    try:
        secret = await _result_of(source)
    except Exception as error:
        raise NotSentError(f"no {field}: {type(error).__name__}", call=str(call)) from error
    if secret.kind is not str or not secret.reveal():
        raise NotSentError(f"no {field}: what was given cannot be sent", call=str(call))
    return secret


async def _result_of(source: SecretFunction) -> Secret:
    given: Any = source()
    return Secret(await given if inspect.isawaitable(given) else given)
