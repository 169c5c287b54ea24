"""`gateway.paylinks` (contract, *Paylinks*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.query import segment
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import InvalidRequestError
from gateway_async.models.paylinks import Paylink, PaylinkCreate, PaylinkUpdate
from gateway_async.models.record import ApiId
from gateway_async.resources._resource import CreatableResource, DeletableResource, UpdatableResource

PAYLINK: Final = ResourceSpec(
    name="paylink",
    plural="paylinks",
    record=Paylink,
    creates=(PaylinkCreate,),
    updates=(PaylinkUpdate,),
    api_id="paylink_api_id",
)


class Paylinks(
    DeletableResource[Paylink], UpdatableResource[Paylink, PaylinkUpdate], CreatableResource[Paylink, PaylinkCreate]
):
    """Payment links for one amount.

    `expand` accepts contact, email_blacklist, sms_blacklist, location, tags, created_user and payment_url.
    """

    spec = PAYLINK

    async def create(self, new: PaylinkCreate) -> Paylink:
        """Create a paylink.

        `paylink_api_id` is generated when omitted: it finds the paylink if the response is lost.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: it may have been created; `resolve(error)` looks it up again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(PAYLINK.create(new, self._defaults))

    async def resend(self, id: str | ApiId) -> None:
        """Send the notification again, by the paylink's `delivery_method`.

        Raises:
            NotFoundError: the paylink does not exist.
            OutcomeUnknownError: it may have been sent; a lookup is not possible.
        """
        await self._executor.execute(PAYLINK.notify(id, "resend", self._defaults))

    def payment_url(self, id: str | ApiId) -> str:
        """The URL of the page where the customer pays. Nothing is sent.

        Raises:
            InvalidRequestError: the id cannot be part of a URL, or is an `ApiId`, which the page does not accept.
        """
        if isinstance(id, ApiId):
            raise InvalidRequestError("id: the payment page of a paylink cannot be found by an ApiId")
        return f"{self._defaults.base_url}?paylink_id={segment(id)}"
