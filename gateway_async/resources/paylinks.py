"""`gateway.paylinks` (contract, *Paylinks*)."""

from collections.abc import Sequence
from typing import Final

import attrs

from gateway_async._wire.noun import Noun
from gateway_async._wire.query import segment
from gateway_async._wire.recovery import agrees
from gateway_async.errors import InvalidRequestError
from gateway_async.models.identifiers import ApiId
from gateway_async.models.paylinks import Paylink, PaylinkCreate, PaylinkUpdate
from gateway_async.resources.listed import Listed

__all__ = ["PAYLINK", "Paylinks"]

PAYLINK: Final = Noun(
    name="paylink",
    plural="paylinks",
    record=Paylink,
    creates=(PaylinkCreate,),
    updates=(PaylinkUpdate,),
    api_id="paylink_api_id",
)


@attrs.frozen
class Paylinks(Listed[Paylink]):
    """Links by which a customer pays one amount.

    `expand` knows contact, email_blacklist, sms_blacklist, location, tags, created_user and payment_url.
    """

    noun = PAYLINK

    async def create(self, new: PaylinkCreate) -> Paylink:
        """Make a paylink. `paylink_api_id` is made up when left out, so that a lost answer can be looked up.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses it; `.fields` says why.
            OutcomeUnknownError: it may have been made; `await error.resolve()` asks again.
        """
        return await self._sender.send(PAYLINK.create(new, self._scope, mark=agrees("amount_due")))

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> Paylink:  # noqa: A002
        """Read a paylink.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it was deleted.
        """
        return await self._sender.send(PAYLINK.get(id, self._scope, expand))

    async def update(self, id: str | ApiId, changes: PaylinkUpdate) -> Paylink:  # noqa: A002
        """Change a paylink that is not closed; a lost answer is settled by reading it.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses: it is paid, say; `.fields` says why.
        """
        return await self._sender.send(PAYLINK.update(id, changes, self._scope))

    async def delete(self, id: str | ApiId) -> None:  # noqa: A002
        """Delete a paylink.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it is gone already or must stay.
        """
        await self._sender.send(PAYLINK.delete(id, self._scope))

    async def resend(self, id: str | ApiId) -> None:  # noqa: A002
        """Send the notification again, as its `delivery_method` says.

        Raises:
            NotFoundError: there is no such paylink.
            OutcomeUnknownError: it may have been sent; nothing can tell.
        """
        await self._sender.send(PAYLINK.notify(id, "resend", self._scope))

    def payment_url(self, id: str | ApiId) -> str:  # noqa: A002
        """The address of the page where the customer pays; nothing is sent.

        Raises:
            InvalidRequestError: the id cannot stand in an address, or is an `ApiId`, which the page does not know.
        """
        if isinstance(id, ApiId):
            raise InvalidRequestError("id: the payment page of a paylink is not found by an ApiId")
        return f"{self._scope.base_url}?paylink_id={segment(id)}"
