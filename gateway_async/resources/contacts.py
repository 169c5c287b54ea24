"""`gateway.contacts` (contract, *Endpoints appearing only as usage*)."""

from collections.abc import Sequence
from typing import Final

import attrs

from gateway_async._wire.call import Kind
from gateway_async._wire.noun import Noun
from gateway_async._wire.recovery import BEARS_THE_NAME, SAYS
from gateway_async.models.contacts import Contact, ContactCreate, ContactUpdate
from gateway_async.models.identifiers import ApiId
from gateway_async.resources.listed import Listed

__all__ = ["CONTACT", "Contacts"]

CONTACT: Final = Noun(
    name="contact",
    plural="contacts",
    record=Contact,
    creates=(ContactCreate,),
    updates=(ContactUpdate,),
    api_id="contact_api_id",
)


@attrs.frozen
class Contacts(Listed[Contact]):
    """The customers of a location."""

    noun = CONTACT

    async def create(self, new: ContactCreate) -> Contact:
        """Make a contact. `contact_api_id` is made up when left out, so that a lost answer can be looked up.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses it: a `contact_api_id` that exists, say; `.fields` says why.
            OutcomeUnknownError: it may have been made; `await error.resolve()` asks again.
        """
        if getattr(new, "update_if_exists", False):  # doing it twice is doing it once
            return await self._sender.send(CONTACT.create(new, self._scope, kind=Kind.IDEMPOTENT, mark=SAYS))
        return await self._sender.send(CONTACT.create(new, self._scope, mark=BEARS_THE_NAME))

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> Contact:  # noqa: A002
        """Read a contact.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it was deleted.
        """
        return await self._sender.send(CONTACT.get(id, self._scope, expand))

    async def update(self, id: str | ApiId, changes: ContactUpdate) -> Contact:  # noqa: A002
        """Change a contact; a lost answer is settled by reading the contact.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses a value; `.fields` says which.
        """
        return await self._sender.send(CONTACT.update(id, changes, self._scope))

    async def delete(self, id: str | ApiId) -> None:  # noqa: A002
        """Delete a contact.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it is gone already or must stay.
        """
        await self._sender.send(CONTACT.delete(id, self._scope))
