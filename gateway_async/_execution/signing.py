"""`Authenticator`: sign each request with the client's credentials."""

import time
from typing import Any

from gateway_async._execution.tokens import SendTokenCall, TokenProvider, with_current_secret
from gateway_async._wire.auth import Signature, check_supported, sign, sign_without_credentials
from gateway_async._wire.call import Call
from gateway_async.credentials import Credentials, HashKey, PasswordLogin, has_secret_function


class Authenticator:
    """Signs requests with one kind of credentials.

    Args:
        credentials: the credentials that every request is made with.
        developer_id: sent with every request.
        fetch: sends a login.
    """

    def __init__(self, credentials: Credentials, developer_id: str, fetch: SendTokenCall) -> None:
        self._credentials = credentials
        self._developer_id = developer_id
        self._tokens = (
            TokenProvider(credentials, developer_id, fetch) if isinstance(credentials, PasswordLogin) else None
        )
        self._must_fetch = self._tokens is not None or has_secret_function(credentials)
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
        if self._must_fetch:
            return None
        if isinstance(self._credentials, HashKey):
            return self._sign(self._credentials)
        self._reusable = self._reusable or self._sign(self._credentials)
        return self._reusable

    async def fetch_signature(self, call: Call[Any]) -> Signature:
        """Return the signature for one request with a fetched token or secret.

        Raises:
            AuthenticationError: the login was rejected.
            NotSentError: no token or secret is available, so the request cannot be sent.
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
        """Revoke the token of a login.

        This is bounded in time and shielded from cancellation.
        """
        if self._tokens is not None:
            await self._tokens.aclose()
