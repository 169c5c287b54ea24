"""`gateway.tokens`: logging in and out by hand; `PasswordLogin` does both by itself."""

import attrs

from gateway_async._net.sender import Sender
from gateway_async._secrets import Secret
from gateway_async._wire.login import log_in, revoke
from gateway_async.models.tokens import Token

__all__ = ["Tokens"]


@attrs.frozen
class Tokens:
    """Tokens of users (contract, *Token*)."""

    _sender: Sender

    async def create(self, username: str, password: str | Secret, domain: str) -> Token:
        """Log in; only the developer id goes with the request.

        Returns:
            The token, for `AccessToken(token.token)`; it ends after `token.expire` minutes without use.

        Raises:
            InvalidRequestError: an argument is no text, or empty.
            AuthenticationError: the gateway refuses the login; `.message` says why.
        """
        return await self._sender.send(log_in(username, password, domain))

    async def delete(self, token: Token | Secret | str) -> None:
        """Revoke a token at once.

        Raises:
            NotFoundError: there is no such token; also when it has expired.
        """
        await self._sender.send(revoke(Secret(token.token if isinstance(token, Token) else token)))
