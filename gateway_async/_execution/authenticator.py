"""`Authenticator`: sign each request with the client's credentials."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from gateway_async._execution.token_provider import Fetch, Login
from gateway_async._secrets import Secret
from gateway_async._wire.auth import Proof, Signature, check_supported, sign, unsigned
from gateway_async._wire.call import Call
from gateway_async.credentials import BearerToken, Credentials, HashKey, PasswordLogin, is_header_text
from gateway_async.errors import NotSentError

__all__ = ["Authenticator"]


class Authenticator:
    """Signs requests with one kind of credentials.

    Args:
        credentials: the credentials that every request is made with.
        developer_id: sent with every request.
        fetch: sends a login.
    """

    def __init__(self, credentials: Credentials, developer_id: str, fetch: Fetch) -> None:
        self._credentials = credentials
        self._developer_id = developer_id
        self._source = (
            Login(credentials, developer_id, fetch) if isinstance(credentials, PasswordLogin) else credentials
        )
        self._lasting: Signature | None = None  # reused for all requests, if neither time nor a renewal changes it

    def check(self, call: Call[Any]) -> None:
        """Reject a call that these credentials cannot sign.

        Raises:
            InvalidRequestError: the gateway does not accept such credentials for it.
        """
        check_supported(self._credentials, call)

    async def signature(self, call: Call[Any]) -> Signature:
        """Return the signature for one request of `call`.

        Raises:
            AuthenticationError: the login was rejected.
            NotSentError: no token is available, so the request cannot be sent.
        """
        if not call.signed:
            return unsigned(self._developer_id)
        match self._source:
            case Login() as login:
                return self._signed(await login.proof(call))
            case BearerToken(token=token) if not isinstance(token, Secret):
                return self._signed(await _call_token_function(token, call))
            case HashKey() as key:
                return self._signed(key)
            case lasting:
                self._lasting = self._lasting or self._signed(lasting)
                return self._lasting

    def _signed(self, proof: Proof) -> Signature:
        return sign(proof, self._developer_id, time.time())

    def accepted(self, signature: Signature) -> None:
        """Extend the token of `signature`, which the gateway has accepted."""
        if isinstance(self._source, Login):
            self._source.prolong(signature)

    def renews(self, signature: Signature) -> bool:
        """Return whether to retry with a new signature after a 401 for `signature`."""
        return isinstance(self._source, Login) and self._source.give_up(signature)

    async def aclose(self) -> None:
        """Revoke the token of a login.

        This is bounded in time and shielded from cancellation.
        """
        if isinstance(self._source, Login):
            await self._source.aclose()


async def _call_token_function(ask: Callable[[], Awaitable[str]], call: Call[Any]) -> BearerToken:
    """Call the caller's own function for a token."""
    try:
        token = Secret(await ask())
    except Exception as error:
        raise NotSentError(f"no bearer token: {type(error).__name__}", call=str(call)) from error
    if not is_header_text(token.reveal()):
        raise NotSentError("no bearer token: what was given cannot be sent", call=str(call))
    return BearerToken(token)
