"""`gateway.quick_invoices` (contract, *Quick invoices*)."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs

from gateway_async._http.upload import measure_files
from gateway_async._secrets import mask_text, seal
from gateway_async._wire.call import (
    Call,
    FilePart,
    Form,
    HttpRequest,
    Lookup,
    LookupResult,
    LookupStatus,
    RepeatEffect,
    Resolver,
    lookup_by_success,
)
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import (
    EXISTS,
    FIELDS_MATCH_OR_CLOSED,
    IS_OFF_INVOICE,
    IS_ON_INVOICE,
    IS_REOPENED,
    LISTS_NO_TRANSACTION,
    LISTS_TRANSACTION,
)
from gateway_async._wire.multipart import file_problems
from gateway_async._wire.query import segment, segment_and_params
from gateway_async._wire.record_reader import read_undocumented
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import InvalidRequestError
from gateway_async.models.files import Attachment, QuickInvoiceFile
from gateway_async.models.quick_invoices import QuickInvoice, QuickInvoiceCreate, QuickInvoiceUpdate
from gateway_async.models.record import ApiId
from gateway_async.resources._resource import CreatableResource, DeletableResource
from gateway_async.resources.transactions import TRANSACTION

QUICK_INVOICE: Final = ResourceSpec(
    name="quickinvoice",
    plural="quickinvoices",
    record=QuickInvoice,
    creates=(QuickInvoiceCreate,),
    updates=(QuickInvoiceUpdate,),
    api_id="quick_invoice_api_id",
)
_MOVE_EVIDENCE: Final = {
    "addTransaction": (LISTS_TRANSACTION, IS_ON_INVOICE),
    "removeTransaction": (LISTS_NO_TRANSACTION, IS_OFF_INVOICE),
}
"""Action → the evidence in the invoice and in the transaction that the transaction was added or removed."""


class QuickInvoices(DeletableResource[QuickInvoice], CreatableResource[QuickInvoice, QuickInvoiceCreate]):
    """Itemized invoices that customers pay online.

    `expand` accepts contact, email_blacklist, files, location, tags, created_user, quick_invoice_settings,
    quick_invoice_views and payment_url.
    """

    spec = QUICK_INVOICE

    async def create(self, new: QuickInvoiceCreate, files: Sequence[Attachment] = ()) -> QuickInvoice:
        """Create an invoice, with up to four files.

        A file has at most 5,242,880 bytes. Files are streamed while they are read, and the client's `timeout` includes
        the upload. `quick_invoice_api_id` is generated when omitted: it finds the invoice if the response is lost.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct, including the files.
            ValidationError: the gateway rejects it, for example without file storage for the location; `.fields` says
                why.
            OutcomeUnknownError: it may have been created; `resolve(error)` looks it up again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        call = QUICK_INVOICE.create(new, self._defaults, files=files)
        return await self._executor.execute(await measure_files(call, limits=self._defaults.check_limits))

    async def create_once(self, new: QuickInvoiceCreate, files: Sequence[Attachment] = ()) -> QuickInvoice:
        """Create an invoice, or return the existing one with its `quick_invoice_api_id`.

        `new` needs an id of your own. The files of an existing invoice are not compared.

        Raises:
            MismatchedWriteError: the invoice with this id differs: it is in `.record`.
            DuplicateError: the id is taken, but its invoice cannot be found.
            InvalidRequestError: nothing was sent: the id is missing, or another problem in `.problems`.
            GatewayError: as for `create`.
        """
        new = seal(new)  # as above
        return await self._once.create(new, files)

    async def update(self, id: str | ApiId, changes: QuickInvoiceUpdate) -> QuickInvoice:
        """Change an invoice that is not closed.

        If the response is lost or the gateway refuses, the client reads the invoice. If it already shows the changes,
        it is the result.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway refuses, for example because it is closed; `.fields` says why.
        """
        changes = seal(changes)  # as above
        return await self._executor.execute(
            QUICK_INVOICE.update(id, changes, self._defaults, evidence=FIELDS_MATCH_OR_CLOSED)
        )

    async def reopen(self, id: str | ApiId) -> QuickInvoice:
        """Reopen a closed invoice that has not expired and is not paid. An open one is returned as it is.

        Raises:
            ValidationError: it is closed and cannot be reopened; `.fields` says why.
        """
        return await self._executor.execute(QUICK_INVOICE.action(id, "reopen", self._defaults, evidence=IS_REOPENED))

    async def add_transaction(self, id: str | ApiId, transaction_id: str) -> QuickInvoice:
        """Count a payment that was taken elsewhere towards an open invoice.

        If the response is lost or the gateway refuses, the client reads the transaction, which contains the id of its
        invoice. If it is this one, the result is the invoice as it is read afterwards, without `.transactions`.

        Raises:
            ValidationError: the gateway refuses, for example because the invoice is closed; `.fields` says why.
            OutcomeUnknownError: it may have been added; `resolve(error)` looks it up again.
        """
        return await self._executor.execute(_move_transaction(id, "addTransaction", transaction_id, self._defaults))

    async def remove_transaction(self, id: str | ApiId, transaction_id: str) -> QuickInvoice:
        """Remove a payment from an invoice. A lost response and a refusal are handled as in `add_transaction`.

        Raises:
            ValidationError: the gateway refuses; `.fields` says why.
            OutcomeUnknownError: it may have been removed; `resolve(error)` looks it up again.
        """
        return await self._executor.execute(_move_transaction(id, "removeTransaction", transaction_id, self._defaults))

    async def resend(self, id: str | ApiId, *, email: bool = True, sms: bool = True) -> None:
        """Send the notification again by email and SMS.

        A channel is used if the invoice has an address for it.

        Raises:
            InvalidRequestError: `email` and `sms` are both False.
            NotFoundError: the invoice does not exist.
            OutcomeUnknownError: it may have been sent; a lookup is not possible.
        """
        if not (email or sms):
            raise InvalidRequestError("email, sms: at least one of them must be True")
        only = (*((("email", "0"),) if not email else ()), *((("sms", "0"),) if not sms else ()))
        await self._executor.execute(QUICK_INVOICE.notify(id, "resend", self._defaults, only))

    async def attach_file(self, id: str | ApiId, attachment: Attachment) -> QuickInvoiceFile | None:
        """Attach a file. An invoice can have at most four files.

        Returns:
            The file as the gateway returns it, or None when the response has no body.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what is wrong with the file.
            ValidationError: the gateway refuses, for example a fifth file; `.fields` says why.
            OutcomeUnknownError: it may have been attached: read the invoice with `expand=("files",)`.
        """
        call = _attach(id, attachment, self._defaults)
        return await self._executor.execute(await measure_files(call, limits=self._defaults.check_limits))

    async def remove_file(self, id: str | ApiId, file_id: str) -> None:
        """Remove a file. If the response is lost, the client reads the invoice.

        Raises:
            NotFoundError: the file or the invoice does not exist.
        """
        part, is_deleted = f"/files/{segment(file_id, 'file_id')}", partial(_is_detached, file_id)
        call = QUICK_INVOICE.delete(id, self._defaults, part, expand=("files",), is_deleted=is_deleted)
        await self._executor.execute(call)

    def payment_url(self, id: str | ApiId) -> str:
        """The URL of the page where the customer pays. Nothing is sent.

        Raises:
            InvalidRequestError: the id cannot be part of a URL, or an `ApiId` has no location.
        """
        id_segment, params = segment_and_params(id, self._defaults.location_id)
        query = urlencode(params, quote_via=quote)
        return f"{self._defaults.base_url}/#/quickinvoicepay/{id_segment}" + (f"?{query}" if query else "")


def _move_transaction(
    ref: str | ApiId, verb: str, transaction_id: str, defaults: RequestDefaults
) -> Call[QuickInvoice]:
    """Build the call that adds or removes a transaction.

    A transaction's record contains the gateway's id of its invoice. If only the invoice's integrator id is known, the
    lookup first reads the invoice.
    """
    segment(transaction_id, "transaction_id")
    in_invoice, in_transaction = _MOVE_EVIDENCE[verb]
    call = QUICK_INVOICE.action(
        ref, verb, defaults, method="PUT", content={"transaction_id": transaction_id}, evidence=in_invoice
    )

    def transaction_lookup(invoice_id: str) -> Lookup[Any]:
        sent = {"quick_invoice_id": invoice_id}
        lookup = TRANSACTION.lookup(
            TRANSACTION.outcome_query(transaction_id, defaults, {"id": transaction_id}, in_transaction, sent)
        )
        return attrs.evolve(lookup, follow_up=lambda _: lookup_by_success(QUICK_INVOICE.get(ref, defaults)))

    def invoice_lookup() -> Lookup[Any]:
        lookup = QUICK_INVOICE.lookup(QUICK_INVOICE.outcome_query(ref, defaults, {}, EXISTS, {}))
        return attrs.evolve(lookup, follow_up=lambda found: transaction_lookup(found.id))

    lookup = invoice_lookup if isinstance(ref, ApiId) else partial(transaction_lookup, ref)
    return attrs.evolve(call, resolver=Resolver(lookup=lookup))


def _attach(ref: str | ApiId, attachment: Attachment, defaults: RequestDefaults) -> Call[QuickInvoiceFile | None]:
    """Build the call that attaches a file.

    A repeat would attach a second file, and the record does not show which call attached a file.

    Raises:
        InvalidRequestError: the id or the attachment cannot be sent.
    """
    problems = [f"attachment: {problem}" for problem in file_problems(attachment)]
    if problems:
        raise InvalidRequestError(problems)
    path, params = QUICK_INVOICE.path_and_params(ref, defaults)
    form = Form((), (FilePart("file[file]", "attachment", attachment),))
    return Call(
        request=HttpRequest(method="POST", path=f"{path}/files", params=params, form=form),
        repeat_effect=RepeatEffect.UNNAMED,
        read=partial(read_undocumented, QuickInvoiceFile, ("file", "quickinvoicefile")),
        sent={"filename": mask_text(attachment.filename)},
    )


def _is_detached(file_id: str, content: Any) -> LookupResult[bool]:
    """Whether the record no longer lists the file.

    Without a list of files, the outcome is unknown and a `FieldError` is raised.
    """
    record = QUICK_INVOICE.unwrap(content)
    try:
        ids = [str(file["id"]) for file in record["files"] or ()]
    except (KeyError, TypeError):
        raise FieldError(f".{QUICK_INVOICE.name}.files", "missing, or not a list of files") from None
    is_listed = file_id in ids
    return LookupResult(LookupStatus.NOT_EXECUTED) if is_listed else LookupResult(LookupStatus.EXECUTED, True)
