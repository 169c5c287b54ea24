"""`Login`: the token of a `PasswordLogin`, fetched when it is needed, kept alive by use, revoked at the end.

The law of this file: one login for any number of waiting calls, and none for a token that another call has renewed.
A refusal is theirs too: a wrong password tried a hundred times over locks its account.
"""

import time
from collections.abc import Awaitable, Callable
from copy import copy
from typing import Any, Final

import anyio

from gateway_async._wire.call import Call
from gateway_async._wire.login import log_in, revoke
from gateway_async._wire.signing import Signature, sign, unsigned
from gateway_async.credentials import AccessToken, PasswordLogin
from gateway_async.errors import AuthenticationError, GatewayError, NotSentError
from gateway_async.models.tokens import Token

__all__ = ["Fetch", "Login"]

Fetch = Callable[[Call[Any], Signature], Awaitable[Any]]
"""Sends one request and reads its answer."""

_LOGIN_SECONDS: Final = 10.0
_REVOKE_SECONDS: Final = 2.0
_IDLE_MINUTES: Final = 15
_MARGIN_SECONDS: Final = 30.0
"""A token this close to its end is not used any more: the request would arrive after it."""


class Login:
    """The token of a `PasswordLogin`.

    Args:
        credentials: the user's name, password and domain.
        developer_id: goes with every request.
        fetch: sends a login or a revocation.
    """

    def __init__(self, credentials: PasswordLogin, developer_id: str, fetch: Fetch) -> None:
        self._credentials = credentials
        self._developer_id = developer_id
        self._fetch = fetch
        self._turn = anyio.Lock()
        self._token: Token | None = None
        self._used_at = 0.0
        self._refusal: AuthenticationError | None = None

    async def proof(self, call: Call[Any]) -> AccessToken:
        """The token, fetched if there is none or its time is up; who waits for a login gets its refusal."""
        if (token := self._fresh()) is None:
            refusal = self._refusal
            async with self._turn:
                if self._refusal and self._refusal is not refusal:
                    raise copy(self._refusal)
                token = self._fresh() or await self._renew(call)
        return AccessToken(token.token, self._credentials.send_in)

    def prolong(self, signature: Signature) -> None:
        """Every successful request gives the token its full time again."""
        if self._is_of(signature):
            self._used_at = anyio.current_time()

    def give_up(self, signature: Signature) -> bool:
        """Forget the token that was refused, unless another call has renewed it meanwhile."""
        if self._is_of(signature):
            self._token = None
        return bool(signature.secrets)

    async def aclose(self) -> None:
        """Revoke the token."""
        token, self._token = self._token, None
        if token is None:
            return
        with anyio.move_on_after(_REVOKE_SECONDS, shield=True):
            try:
                await self._fetch(revoke(token.token), self._signed(token))
            except GatewayError:
                return  # it idles out

    def _fresh(self) -> Token | None:
        if self._token is None:
            return None
        lifetime = (self._token.expire or _IDLE_MINUTES) * 60 - _MARGIN_SECONDS
        return self._token if anyio.current_time() - self._used_at < lifetime else None

    async def _renew(self, call: Call[Any]) -> Token:
        who = self._credentials
        try:
            with anyio.fail_after(_LOGIN_SECONDS):
                token: Token = await self._fetch(
                    log_in(who.username, who.password, who.domain), unsigned(self._developer_id)
                )
        except TimeoutError:
            raise NotSentError(f"no login within {_LOGIN_SECONDS:g} s", call=str(call)) from None
        except AuthenticationError as error:
            self._refusal = copy(error)
            raise
        except GatewayError as error:
            raise NotSentError(f"no login: {error}", call=str(call)) from error
        self._token, self._used_at = token, anyio.current_time()
        return token

    def _is_of(self, signature: Signature) -> bool:
        return self._token is not None and self._token.token in signature.secrets

    def _signed(self, token: Token) -> Signature:
        return sign(AccessToken(token.token, self._credentials.send_in), self._developer_id, time.time())
