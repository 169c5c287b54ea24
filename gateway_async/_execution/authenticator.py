"""`Authenticator`: sign each request with the client's credentials."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from gateway_async._execution.token_provider import Fetch, TokenProvider
from gateway_async._secrets import Secret
from gateway_async._wire.auth import Signature, SigningCredentials, check_supported, sign, sign_without_credentials
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
        self._credentials_source = (
            TokenProvider(credentials, developer_id, fetch) if isinstance(credentials, PasswordLogin) else credentials
        )
        self._reusable: Signature | None = None  # reused for all requests, if neither time nor a renewal changes it

    def check(self, call: Call[Any]) -> None:
        """Reject a call that these credentials cannot sign.

        Raises:
            InvalidRequestError: the gateway does not accept such credentials for it.
        """
        check_supported(self._credentials, call)

    def ready_signature(self, call: Call[Any]) -> Signature | None:
        """Return the signature, or None if a token has to be fetched."""
        if not call.request.signed:
            return sign_without_credentials(self._developer_id)
        match self._credentials_source:
            case HashKey() as key:
                return self._sign(key)
            case TokenProvider():
                return None
            case BearerToken(token=token) if not isinstance(token, Secret):
                return None
            case credentials:
                self._reusable = self._reusable or self._sign(credentials)
                return self._reusable

    async def fetch_signature(self, call: Call[Any]) -> Signature:
        """Return the signature for one request of `call` with a token.

        Raises:
            AuthenticationError: the login was rejected.
            NotSentError: no token is available, so the request cannot be sent.
        """
        match self._credentials_source:
            case TokenProvider() as provider:
                return self._sign(await provider.token(call))
            case BearerToken(token=token) if not isinstance(token, Secret):
                return self._sign(await _call_token_function(token, call))
            case credentials:
                return self._sign(credentials)

    def _sign(self, credentials: SigningCredentials) -> Signature:
        return sign(credentials, self._developer_id, time.time())

    def extend_token(self, signature: Signature) -> None:
        """Extend the token of `signature` after the gateway has accepted it."""
        if isinstance(self._credentials_source, TokenProvider):
            self._credentials_source.extend(signature)

    def discard_token(self, signature: Signature) -> bool:
        """Discard the token of a rejected `signature`; return whether another one can be fetched."""
        return isinstance(self._credentials_source, TokenProvider) and self._credentials_source.discard(signature)

    async def aclose(self) -> None:
        """Revoke the token of a login.

        This is bounded in time and shielded from cancellation.
        """
        if isinstance(self._credentials_source, TokenProvider):
            await self._credentials_source.aclose()


async def _call_token_function(fetch_token: Callable[[], Awaitable[str]], call: Call[Any]) -> BearerToken:
    """Call the caller's own function for a token."""
    try:
        token = Secret(await fetch_token())
    except Exception as error:
        raise NotSentError(f"no bearer token: {type(error).__name__}", call=str(call)) from error
    if not is_header_text(token.reveal()):
        raise NotSentError("no bearer token: what was given cannot be sent", call=str(call))
    return BearerToken(token)
