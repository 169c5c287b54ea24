"""`Signer`: what proves to the gateway who is calling, request by request."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from gateway_async._net.login import Fetch, Login
from gateway_async._secrets import Secret
from gateway_async._wire.call import Call
from gateway_async._wire.signing import Proof, Signature, check_supported, sign, unsigned
from gateway_async.credentials import BearerToken, Credentials, HashKey, PasswordLogin
from gateway_async.errors import InvalidRequestError, NotSentError

__all__ = ["Signer"]


class Signer:
    """Signs requests with one kind of credentials.

    Args:
        credentials: who is calling.
        developer_id: goes with every request.
        fetch: sends a login.
    """

    def __init__(self, credentials: Credentials, developer_id: str, fetch: Fetch) -> None:
        self._credentials = credentials
        self._developer_id = developer_id
        self._source = (
            Login(credentials, developer_id, fetch) if isinstance(credentials, PasswordLogin) else credentials
        )
        self._lasting: Signature | None = None  # one for all requests, where neither time nor a renewal changes it

    def check(self, call: Call[Any]) -> None:
        """Refuse a call that these credentials cannot sign.

        Raises:
            InvalidRequestError: the gateway takes no such credentials there.
        """
        check_supported(self._credentials, call)

    async def signature(self, call: Call[Any]) -> Signature:
        """What goes with one request of `call`, now.

        Raises:
            AuthenticationError: the login was refused.
            NotSentError: there is no token, so that the request cannot be sent.
        """
        if not call.signed:
            return unsigned(self._developer_id)
        match self._source:
            case Login() as login:
                return self._signed(await login.proof(call))
            case BearerToken(token=token) if not isinstance(token, Secret):
                return self._signed(await _asked(token, call))
            case HashKey() as key:
                return self._signed(key)
            case lasting:
                self._lasting = self._lasting or self._signed(lasting)
                return self._lasting

    def _signed(self, proof: Proof) -> Signature:
        return sign(proof, self._developer_id, time.time())

    def accepted(self, signature: Signature) -> None:
        """The gateway answered a request that went with `signature`."""
        if isinstance(self._source, Login):
            self._source.prolong(signature)

    def renews(self, signature: Signature) -> bool:
        """Whether another signature could help where `signature` was refused with a 401."""
        return isinstance(self._source, Login) and self._source.give_up(signature)

    async def aclose(self) -> None:
        """Revoke the token, if there is one; bounded, and not stopped by cancellation."""
        if isinstance(self._source, Login):
            await self._source.aclose()


async def _asked(ask: Callable[[], Awaitable[str]], call: Call[Any]) -> BearerToken:
    """What the caller's own function gives for a token."""
    try:
        return BearerToken(await ask())
    except InvalidRequestError:
        raise NotSentError("no bearer token: what was given cannot be sent", call=str(call)) from None
    except Exception as error:
        raise NotSentError(f"no bearer token: {type(error).__name__}", call=str(call)) from error
