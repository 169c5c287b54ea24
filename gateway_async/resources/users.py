"""`gateway.users` (contract, *Users*)."""

from typing import Final

from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.users import User
from gateway_async.resources._resource import ListableResource

USER: Final = ResourceSpec(name="user", plural="users", record=User)


class Users(ListableResource[User]):
    """User accounts of the gateway.

    Users have no integrator ids and no expands.
    """

    spec = USER

    async def me(self) -> User:
        """Read the user account that the client's credentials belong to.

        It is the cheapest check of credentials. `.primary_location_id` is the default location for payments.

        Raises:
            AuthenticationError: the gateway rejects the credentials.
        """
        return await self._executor.execute(USER.get_by_word("me"))
