"""`gateway.quick_invoices` (contract, *Quick invoices*)."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs

from gateway_async._net.upload import measured
from gateway_async._wire.attaching import attach, detach
from gateway_async._wire.call import Call
from gateway_async._wire.noun import Noun, Scope
from gateway_async._wire.query import located, segment
from gateway_async._wire.recovery import EXISTS, IS_OFF_INVOICE, IS_ON_INVOICE, IS_REOPENED, SAYS_OR_IS_CLOSED, agrees
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment, QuickInvoiceFile
from gateway_async.models.identifiers import ApiId
from gateway_async.models.quick_invoices import QuickInvoice, QuickInvoiceCreate, QuickInvoiceUpdate
from gateway_async.resources.listed import Listed
from gateway_async.resources.transactions import TRANSACTION

__all__ = ["QUICK_INVOICE", "QuickInvoices"]

QUICK_INVOICE: Final = Noun(
    name="quickinvoice",
    plural="quickinvoices",
    record=QuickInvoice,
    creates=(QuickInvoiceCreate,),
    updates=(QuickInvoiceUpdate,),
    api_id="quick_invoice_api_id",
)
_MOVES: Final = {"addTransaction": IS_ON_INVOICE, "removeTransaction": IS_OFF_INVOICE}
"""How a transaction shows that it was put on an invoice, or taken off."""


@attrs.frozen
class QuickInvoices(Listed[QuickInvoice]):
    """Itemised invoices that customers pay online.

    `expand` knows contact, email_blacklist, files, location, tags, created_user, quick_invoice_settings,
    quick_invoice_views and payment_url.
    """

    noun = QUICK_INVOICE

    async def create(self, new: QuickInvoiceCreate, files: Sequence[Attachment] = ()) -> QuickInvoice:
        """Make an invoice, with up to four files of at most 5,242,880 bytes each, which are sent as they are read.

        `quick_invoice_api_id` is made up when left out, so that a lost answer can be looked up. The client's `timeout`
        is the time for the files too.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend, in the files too.
            ValidationError: the gateway refuses it: no file storage for the location, say; `.fields` says why.
            OutcomeUnknownError: it may have been made; `await error.resolve()` asks again.
        """
        call = QUICK_INVOICE.create(new, self._scope, mark=agrees("title", "item_list"), files=files)
        return await self._sender.send(await measured(call, limits=self._scope.check_limits))

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> QuickInvoice:  # noqa: A002
        """Read an invoice.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it was deleted.
        """
        return await self._sender.send(QUICK_INVOICE.get(id, self._scope, expand))

    async def update(self, id: str | ApiId, changes: QuickInvoiceUpdate) -> QuickInvoice:  # noqa: A002
        """Change an invoice that is not closed; a lost answer is settled by reading it.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses: it is closed, say; `.fields` says why.
        """
        return await self._sender.send(QUICK_INVOICE.update(id, changes, self._scope, mark=SAYS_OR_IS_CLOSED))

    async def delete(self, id: str | ApiId) -> None:  # noqa: A002
        """Delete an invoice.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it is gone already or must stay.
        """
        await self._sender.send(QUICK_INVOICE.delete(id, self._scope))

    async def reopen(self, id: str | ApiId) -> QuickInvoice:  # noqa: A002
        """Open a closed invoice again, if it has not expired and is not paid.

        Raises:
            ValidationError: it cannot be reopened; `.fields` says why.
        """
        return await self._sender.send(QUICK_INVOICE.verb(id, "reopen", self._scope, mark=IS_REOPENED))

    async def add_transaction(self, id: str | ApiId, transaction_id: str) -> QuickInvoice:  # noqa: A002
        """Count a payment that was taken elsewhere towards an open invoice.

        A lost answer is settled by reading the transaction, which says whose it is; the result is then the invoice as
        it is read afterwards, without `.transactions`.

        Raises:
            ValidationError: the gateway refuses: the invoice is closed, say; `.fields` says why.
            OutcomeUnknownError: it may have been added; `await error.resolve()` asks again.
        """
        return await self._sender.send(_moved(id, "addTransaction", transaction_id, self._scope))

    async def remove_transaction(self, id: str | ApiId, transaction_id: str) -> QuickInvoice:  # noqa: A002
        """Take a payment off an invoice; a lost answer is settled as `add_transaction` does.

        Raises:
            ValidationError: the gateway refuses: it is none of the invoice's, say; `.fields` says why.
            OutcomeUnknownError: it may have been removed; `await error.resolve()` asks again.
        """
        return await self._sender.send(_moved(id, "removeTransaction", transaction_id, self._scope))

    async def resend(self, id: str | ApiId, email: bool = True, sms: bool = True) -> None:  # noqa: A002
        """Send the notification again, by email and by SMS as far as the invoice has addresses for them.

        Raises:
            InvalidRequestError: neither was wanted.
            NotFoundError: there is no such invoice.
            OutcomeUnknownError: it may have been sent; nothing can tell.
        """
        if not (email or sms):
            raise InvalidRequestError("email, sms: at least one of them must be True")
        only = (*((("email", "0"),) if not email else ()), *((("sms", "0"),) if not sms else ()))
        await self._sender.send(QUICK_INVOICE.notify(id, "resend", self._scope, only))

    async def attach_file(self, id: str | ApiId, attachment: Attachment) -> QuickInvoiceFile | None:  # noqa: A002
        """Attach a file; an invoice holds four at most.

        Returns:
            The file as the gateway shows it, or None when it answers without a body.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what is wrong with the file.
            ValidationError: the gateway refuses: a fifth file, say; `.fields` says why.
            OutcomeUnknownError: it may have been attached: read the invoice with `expand=("files",)`.
        """
        call = attach(QUICK_INVOICE, id, attachment, self._scope)
        return await self._sender.send(await measured(call, limits=self._scope.check_limits))

    async def remove_file(self, id: str | ApiId, file_id: str) -> None:  # noqa: A002
        """Remove a file; a lost answer is settled by reading the invoice.

        Raises:
            NotFoundError: there is no such file, or no such invoice.
        """
        await self._sender.send(detach(QUICK_INVOICE, id, file_id, self._scope))

    def payment_url(self, id: str | ApiId) -> str:  # noqa: A002
        """The address of the page where the customer pays; nothing is sent.

        Raises:
            InvalidRequestError: the id cannot stand in an address, or an `ApiId` has no location.
        """
        place, params = located(id, self._scope.location_id)
        query = urlencode(params, quote_via=quote)
        return f"{self._scope.base_url}/#/quickinvoicepay/{place}" + (f"?{query}" if query else "")


def _moved(ref: str | ApiId, verb: str, transaction_id: str, scope: Scope) -> Call[QuickInvoice]:
    """A transaction put on an invoice, or taken off.

    Its record says whose it is by the gateway's id of the invoice, so where only the integrator's is known, the lookup
    begins with the invoice.
    """
    segment(transaction_id, "transaction_id")
    call = QUICK_INVOICE.verb(ref, verb, scope, method="PUT", content={"transaction_id": transaction_id}, mark=EXISTS)
    invoice: Any = call.lookup

    def settled(invoice_id: str) -> Call[Any]:
        mark, sent = _MOVES[verb], {"quick_invoice_id": invoice_id}
        whose: Any = TRANSACTION.lookup(TRANSACTION.inquiry(transaction_id, scope, {"id": transaction_id}, mark, sent))
        return attrs.evolve(whose, then=lambda _: QUICK_INVOICE.get(ref, scope))

    if isinstance(ref, ApiId):
        return attrs.evolve(call, lookup=attrs.evolve(invoice, then=lambda found: settled(found.id)))
    return attrs.evolve(call, lookup=settled(ref))
