"""Show an invoice or a paylink to its customer, take the payment, and show the result.

A form that is submitted twice, by a double click or a reload, charges once: each rendered form has an id of its own. A
second tab is told that the bill is paid.
"""

from urllib.parse import quote

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.payment_pages import BillState, NotPayableError
from gateway_async.sandbox.handlers.payments.rules import amount_charged
from gateway_async.sandbox.handlers.quick_invoices import read_file
from gateway_async.sandbox.http.responses import RefusedError, RefusedFieldsError
from gateway_async.sandbox.pages.page_request import PageRequest, PageView
from gateway_async.sandbox.pages.payment.bills import INVOICES, PAYLINKS, Bill, BillType
from gateway_async.sandbox.pages.payment.forms import Entry, charge_bill, read_entry, show_form
from gateway_async.sandbox.schema import QUICK_INVOICE_FILE, TRANSACTION
from gateway_async.sandbox.state_machines.transactions import TransactionState

__all__ = ["INVOICE_VIEWS", "PAYLINK_VIEWS", "PaymentViews", "download_file", "with_paylinks"]


_STATUSES = {BillState.PAID: 200, BillState.CLOSED: 410, BillState.EXPIRED: 410, BillState.DELETED: 410}
"""The HTTP status of the page of a bill that cannot be paid."""

_FILE_HEADERS = {
    "content-type": "application/octet-stream",
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


@attrs.frozen
class PaymentViews:
    """The pages of invoices, or those of paylinks."""

    type: BillType

    async def show(self, request: PageRequest) -> Response:
        """Handle GET of the address with the id in its path."""
        return self._show(request, self.type.find_in_path(request))

    async def show_by_id(self, request: PageRequest) -> Response:
        """Handle GET of the address with the id in its query."""
        return self._show(request, self.type.find_in_query(request))

    async def pay(self, request: PageRequest) -> Response:
        """Handle the form: charge the account, and go on to the result."""
        bill, form_id = self.type.find_in_path(request), request.form.get("form_id")
        if not form_id:
            raise RefusedError(400, "The form is incomplete. Load the page again.")
        if bill is None:
            return self._show(request, bill)
        try:
            payment_id = await request.gateway.submitted_forms.handle_once(
                f"{bill.id} {form_id}", lambda: charge_bill(request, bill)
            )
        except RefusedFieldsError as error:
            return self._show_again(request, error.problems)
        except NotPayableError as error:
            return self._show_again(request, {"amount": [f"This {self.type.name} {error.reason}"]})
        except ValueError as error:
            return self._show_again(request, {"amount": [str(error).removeprefix("amount: ").capitalize()]})
        return request.redirect(f"{bill.path}/payments/{payment_id}")

    async def show_payment(self, request: PageRequest) -> Response:
        """Handle GET of the result of a payment."""
        bill = self.type.find_in_path(request)
        payment = request.gateway.store.find(TRANSACTION, id=request.parameter("payment_id"))
        if bill is None or payment is None or payment[self.type.id_field] != bill.id:
            return self._show(request, None)
        return request.render(
            "payment/result.html",
            bill=bill,
            merchant=bill.find_merchant(request.gateway),
            payment=payment,
            charged=amount_charged(payment),
            approved=payment["status_id"] != TransactionState.DECLINED,
            is_hold=payment["status_id"] == TransactionState.AUTHORIZED,
            is_void=payment["status_id"] == TransactionState.VOIDED,
        )

    def _show(self, request: PageRequest, bill: Bill | None) -> Response:
        if bill is None:
            return _show_unavailable(request, 404, self.type)
        if bill.state is not BillState.OPEN:
            return _show_unavailable(request, _STATUSES[bill.state], self.type, bill)
        return show_form(request, bill, read_entry(request))

    def _show_again(self, request: PageRequest, problems: dict[str, list[str]]) -> Response:
        """Show the form with its problems, unless another tab has paid meanwhile."""
        bill = self.type.find_in_path(request)
        if bill is None or bill.state is not BillState.OPEN:
            return _show_unavailable(request, 409, self.type, bill)
        return show_form(request, bill, Entry.from_form(request.form, problems))


INVOICE_VIEWS = PaymentViews(INVOICES)
PAYLINK_VIEWS = PaymentViews(PAYLINKS)


def with_paylinks(page: PageView) -> PageView:
    """Wrap the page of `/`, which is also the address of paylinks."""

    async def show(request: PageRequest) -> Response:
        return await (PAYLINK_VIEWS.show_by_id if request.query(PAYLINKS.parameter) else page)(request)

    return show


async def download_file(request: PageRequest) -> Response:
    """Handle GET of a file of an invoice; a browser saves it, and never opens it as a page."""
    bill = INVOICES.find_in_path(request)
    file = request.gateway.store.find(QUICK_INVOICE_FILE, id=request.parameter("file_id"))
    if bill is None or bill.state is BillState.DELETED or file is None or file["quick_invoice_id"] != bill.id:
        return _show_unavailable(request, 404, INVOICES)
    content, _ = read_file(request.gateway, file["id"])
    name = quote(file["name"], safe="")
    return Response(content, headers=_FILE_HEADERS | {"content-disposition": f"attachment; filename*=UTF-8''{name}"})


def _show_unavailable(request: PageRequest, status: int, bill_type: BillType, bill: Bill | None = None) -> Response:
    merchant = bill.find_merchant(request.gateway) if bill else ""
    return request.render("payment/unavailable.html", status, type=bill_type, bill=bill, merchant=merchant)
