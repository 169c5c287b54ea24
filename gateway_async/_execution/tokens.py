"""`Authenticator`: sign each request, with a token or a secret that is fetched for it if necessary.

Concurrent calls share one login. A token that another call has renewed is not fetched again. The waiting calls also
share a rejection, because many attempts with a wrong password would lock the account.

A token is renewed when it has expired, or after a 401: `HttpClient` discards it, `CallExecutor` repeats the call
(`NextStep.RENEW_TOKEN`), and the repetition logs in.
"""

import inspect
import time
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Final

import anyio
import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.auth import Signature, check_supported, log_in, revoke, sign, sign_without_credentials
from gateway_async._wire.call import Call
from gateway_async.credentials import (
    SECRET_FIELDS,
    AccessToken,
    Credentials,
    HashKey,
    PasswordLogin,
    SecretFunction,
    has_secret_function,
    is_header_text,
)
from gateway_async.errors import AuthenticationError, GatewayError, NotSentError
from gateway_async.models.tokens import Token

SendTokenCall = Callable[[Call[Any], Signature], Awaitable[Any]]
"""Sends one request and reads its response."""

_LOGIN_SECONDS: Final = 10.0
_REVOKE_SECONDS: Final = 2.0
_IDLE_MINUTES: Final = 15
_MARGIN_SECONDS: Final = 30.0
"""Seconds before its expiry at which a token is replaced, because a request may take time to arrive."""


class Authenticator:
    """Signs requests with one kind of credentials; `fetch` sends a login or a revocation."""

    def __init__(self, credentials: Credentials, developer_id: str, fetch: SendTokenCall) -> None:
        self._credentials = credentials
        self._developer_id = developer_id
        self._tokens = (
            TokenProvider(credentials, developer_id, fetch) if isinstance(credentials, PasswordLogin) else None
        )
        self._must_fetch = self._tokens is not None or has_secret_function(credentials)
        self._reusable: Signature | None = None  # reused for all requests, if neither time nor a renewal changes it

    def check(self, call: Call[Any]) -> None:
        check_supported(self._credentials, call)

    def ready_signature(self, call: Call[Any]) -> Signature | None:
        """The signature, or None if a token has to be fetched."""
        if not call.request.signed:
            return sign_without_credentials(self._developer_id)
        if self._must_fetch:
            return None
        if isinstance(self._credentials, HashKey):
            return self._sign(self._credentials)
        self._reusable = self._reusable or self._sign(self._credentials)
        return self._reusable

    async def fetch_signature(self, call: Call[Any]) -> Signature:
        """Sign with a fetched token or secret.

        Raises:
            AuthenticationError: the login was rejected.
            NotSentError: no token or secret is available.
        """
        if self._tokens is not None:
            return self._sign(await self._tokens.token(call))
        return self._sign(await with_current_secret(self._credentials, call))

    def _sign(self, credentials: Credentials) -> Signature:
        return sign(credentials, self._developer_id, time.time())

    def extend_token(self, signature: Signature) -> None:
        """Extend the token of `signature` after the gateway has accepted it."""
        if self._tokens is not None:
            self._tokens.extend(signature)

    def discard_token(self, signature: Signature) -> bool:
        """Discard the token of a rejected `signature`; return whether another one can be fetched."""
        if self._tokens is not None:
            self._tokens.discard(signature)
        return self._tokens is not None

    async def aclose(self) -> None:
        """Revoke the token of a login, bounded in time and shielded from cancellation."""
        if self._tokens is not None:
            await self._tokens.aclose()


class TokenProvider:
    """The token of a `PasswordLogin`, which concurrent calls share."""

    def __init__(self, credentials: PasswordLogin, developer_id: str, fetch: SendTokenCall) -> None:
        self._credentials = credentials
        self._developer_id = developer_id
        self._fetch = fetch
        self._login_lock = anyio.Lock()
        self._token: Token | None = None
        self._used_at = 0.0
        self._rejection: AuthenticationError | None = None

    async def token(self, call: Call[Any]) -> AccessToken:
        """Get the token, logging in first if it is missing or expired."""
        if (token := self._valid_token()) is None:
            rejection = self._rejection
            async with self._login_lock:
                if self._rejection and self._rejection is not rejection:
                    raise copy(self._rejection)
                token = self._valid_token() or await self._renew(call)
        return AccessToken(token.token, self._credentials.send_in)

    def extend(self, signature: Signature) -> None:
        """Restart the token's idle time after a successful request."""
        if self._has_signed(signature):
            self._used_at = anyio.current_time()

    def discard(self, signature: Signature) -> None:
        """Drop a rejected token, unless another call has renewed it meanwhile."""
        if self._has_signed(signature):
            self._token = None

    async def aclose(self) -> None:
        token, self._token = self._token, None
        if token is None:
            return
        with anyio.move_on_after(_REVOKE_SECONDS, shield=True):
            try:
                await self._fetch(revoke(token.token), self._sign(token))
            except GatewayError:
                return  # the token expires when idle

    def _valid_token(self) -> Token | None:
        if self._token is None:
            return None
        lifetime = (self._token.expire or _IDLE_MINUTES) * 60 - _MARGIN_SECONDS
        return self._token if anyio.current_time() - self._used_at < lifetime else None

    async def _renew(self, call: Call[Any]) -> Token:
        login = self._credentials
        try:
            with anyio.fail_after(_LOGIN_SECONDS):
                password = login.password
                if not isinstance(password, Secret):
                    password = await call_secret_function(password, "password", call)
                token: Token = await self._fetch(
                    log_in(login.username, password, login.domain), sign_without_credentials(self._developer_id)
                )
        except TimeoutError:
            raise NotSentError(f"no login within {_LOGIN_SECONDS:g} s", call=str(call)) from None
        except AuthenticationError as error:
            self._rejection = copy(error)
            raise
        except NotSentError as error:
            raise NotSentError(f"no login: {error.reason}", call=str(call)) from error
        except GatewayError as error:
            raise NotSentError(f"no login: {error}", call=str(call)) from error
        self._token, self._used_at = token, anyio.current_time()
        return token

    def _has_signed(self, signature: Signature) -> bool:
        return self._token is not None and self._token.token in signature.secrets

    def _sign(self, token: Token) -> Signature:
        return sign(AccessToken(token.token, self._credentials.send_in), self._developer_id, time.time())


async def with_current_secret(credentials: Credentials, call: Call[Any]) -> Credentials:
    """Fill in the secret that the credentials' function returns now; raise `NotSentError` without one."""
    field = SECRET_FIELDS[type(credentials)]
    source = getattr(credentials, field)
    if isinstance(source, Secret):
        return credentials
    secret = await call_secret_function(source, field, call)
    if not is_header_text(secret.reveal()):
        raise NotSentError(f"no {field}: the value cannot be sent", call=str(call))
    changes: Any = {field: secret}
    return attrs.evolve(credentials, **changes)


async def call_secret_function(source: SecretFunction, field: str, call: Call[Any]) -> Secret:
    """Call the function for the secret `field`; raise `NotSentError` if it fails or returns no text."""
    try:
        secret = await _result_of(source)
    except Exception as error:
        raise NotSentError(f"no {field}: {type(error).__name__}", call=str(call)) from error
    if secret.kind is not str or not secret.reveal():
        raise NotSentError(f"no {field}: the value cannot be sent", call=str(call))
    return secret


async def _result_of(source: SecretFunction) -> Secret:
    given: Any = source()
    return Secret(await given if inspect.isawaitable(given) else given)
