"""`gateway.notes` (contract, *Notes*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.notes import Note, NoteCreate, NoteUpdate
from gateway_async.resources._resource import DeletableResource, UpdatableResource

NOTE: Final = ResourceSpec(name="note", plural="notes", record=Note, creates=(NoteCreate,), updates=(NoteUpdate,))


class Notes(DeletableResource[Note], UpdatableResource[Note, NoteUpdate]):
    """Texts about a contact, for the merchant's own staff. `expand` accepts created_user and visibility_group."""

    spec = NOTE

    async def create(self, new: NoteCreate) -> Note:
        """Create a note about a contact.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it, for example an unknown `resource_id`; `.fields` says why.
            OutcomeUnknownError: it may have been created: list the notes with this `resource_id`.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(NOTE.create(new, self._defaults))
