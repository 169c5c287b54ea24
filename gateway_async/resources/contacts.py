"""`gateway.contacts` (contract, *Endpoints appearing only as usage*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.call import RepeatEffect
from gateway_async._wire.evidence import FIELDS_MATCH
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.contacts import Contact, ContactCreate, ContactUpdate
from gateway_async.resources._resource import CreatableResource, DeletableResource, UpdatableResource

CONTACT: Final = ResourceSpec(
    name="contact",
    plural="contacts",
    record=Contact,
    creates=(ContactCreate,),
    updates=(ContactUpdate,),
    api_id="contact_api_id",
)


class Contacts(
    DeletableResource[Contact], UpdatableResource[Contact, ContactUpdate], CreatableResource[Contact, ContactCreate]
):
    """The customers of a location.

    `expand` accepts changelogs, created_user, location, notes, tags and user.
    """

    spec = CONTACT

    async def create(self, new: ContactCreate) -> Contact:
        """Create a contact.

        `contact_api_id` is generated when omitted: it finds the contact if the response is lost.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it, for example if the `contact_api_id` exists; `.fields` says why.
            OutcomeUnknownError: it may have been created; `resolve(error)` looks it up again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        if getattr(new, "update_if_exists", False):  # a repeat has no further effect
            return await self._executor.execute(
                CONTACT.create(new, self._defaults, repeat_effect=RepeatEffect.IDEMPOTENT, evidence=FIELDS_MATCH)
            )
        return await self._executor.execute(CONTACT.create(new, self._defaults))
