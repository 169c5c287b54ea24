"""`gateway.tags` (contract, *Tags*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.record import ApiId
from gateway_async.models.tags import Tag, TagCreate, TagUpdate
from gateway_async.resources._resource import DeletableResource, WritableResource

__all__ = ["TAG", "Tags"]

TAG: Final = ResourceSpec(name="tag", plural="tags", record=Tag, creates=(TagCreate,), updates=(TagUpdate,))


class Tags(DeletableResource[Tag], WritableResource[Tag]):
    """Labels for transactions and invoices. `expand` accepts created_user."""

    spec = TAG

    async def create(self, new: TagCreate) -> Tag:
        """Create a tag.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: it may have been created: list the tags with this title.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(TAG.create(new, self._defaults))

    async def update(self, id: str | ApiId, changes: TagUpdate) -> Tag:
        """Change a tag. If the response is lost, the client reads the tag.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects a value; `.fields` says which.
        """
        changes = seal(changes)  # as above
        return await self._executor.execute(TAG.update(id, changes, self._defaults))
