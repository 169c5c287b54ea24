"""`gateway.postback_configs` (contract, *Postback configs*)."""

from functools import partial
from typing import Final, TypeVar

import attrs

from gateway_async._secrets import seal
from gateway_async._wire.call import Call, Resolver, lookup_by_success
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.postback_configs import PostbackConfig, PostbackConfigCreate, PostbackConfigUpdate
from gateway_async.resources._resource import WritableResource

T = TypeVar("T")

POSTBACK_CONFIG: Final = ResourceSpec(
    name="postbackconfig",
    plural="postbackconfigs",
    record=PostbackConfig,
    creates=(PostbackConfigCreate,),
    updates=(PostbackConfigUpdate,),
)


class PostbackConfigs(WritableResource[PostbackConfig]):
    """Postback configs: the URLs to which the gateway sends postbacks.

    The gateway cannot list or read them, so keep the ids of those you create.
    """

    spec = POSTBACK_CONFIG

    async def create(self, new: PostbackConfigCreate) -> PostbackConfig:
        """Create a postback config.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: it may have been created; only arriving postbacks can show it.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(POSTBACK_CONFIG.create(new, self._defaults))

    async def update(self, id: str, changes: PostbackConfigUpdate) -> PostbackConfig:
        """Change a postback config. If the response is lost, the client sends the change once more.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            NotFoundError: it does not exist.
            ValidationError: the gateway rejects a value; `.fields` says which.
            OutcomeUnknownError: it may have been changed, and a lookup is not possible: send the change again.
        """
        changes = seal(changes)  # as above
        return await self._executor.execute(_repeatable(POSTBACK_CONFIG.update(id, changes, self._defaults)))

    async def delete(self, id: str) -> None:
        """Delete a postback config. If the response is lost, the client deletes it once more.

        Raises:
            NotFoundError: it does not exist; if it is already deleted, `RecordDeletedError`.
        """
        call = _repeatable(POSTBACK_CONFIG.delete(id, self._defaults))
        await self._executor.execute(call)


def _repeatable(call: Call[T]) -> Call[T]:
    """Make a write its own lookup.

    Its outcome cannot be read, but sending it twice has the same effect as sending it once.
    """
    is_delete = call.request.method == "DELETE"  # a success and a 404 both show that it is deleted
    lookup = partial(lookup_by_success, call, missing_is_success=is_delete, repeats_write=not is_delete)
    return attrs.evolve(call, resolver=Resolver(lookup=lookup))
