"""`gateway.tags` (contract, *Tags*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.tags import Tag, TagCreate, TagUpdate
from gateway_async.resources._resource import DeletableResource, UpdatableResource

TAG: Final = ResourceSpec(name="tag", plural="tags", record=Tag, creates=(TagCreate,), updates=(TagUpdate,))


class Tags(DeletableResource[Tag], UpdatableResource[Tag, TagUpdate]):
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
