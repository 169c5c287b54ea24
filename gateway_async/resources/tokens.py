"""`gateway.tokens`: logging in and out explicitly. `PasswordLogin` does both automatically."""

from gateway_async._secrets import Secret
from gateway_async._wire.auth import log_in, revoke
from gateway_async.models.tokens import Token
from gateway_async.resources._resource import Resource


class Tokens(Resource):
    """Tokens of users (contract, *Token*)."""

    async def create(self, username: str, password: str | Secret, domain: str) -> Token:
        """Log in. The request carries only the developer id, not the client's credentials.

        Returns:
            The token, for `AccessToken(token.token)`. It expires after `token.expire` minutes without use.

        Raises:
            InvalidRequestError: an argument is not text, or is empty.
            AuthenticationError: the gateway rejects the login; `.message` says why.
        """
        password = Secret(password)  # an error's traceback shows local variables
        return await self._executor.execute(log_in(username, password, domain))

    async def delete(self, token: Token | Secret | str) -> None:
        """Revoke a token immediately.

        Raises:
            NotFoundError: the token does not exist or has expired.
        """
        token = Secret(token.token if isinstance(token, Token) else token)  # as above
        await self._executor.execute(revoke(token))
