"""Show an invoice or a paylink to its customer, take the payment, and show the result.

A form that is submitted twice, by a double click or a reload, charges once: each rendered form has an id of its own. A
second tab is told that the bill is paid.
"""

from urllib.parse import quote

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.invoice_files import read_file
from gateway_async.sandbox.handlers.payment_pages import BillState, NotPayableError
from gateway_async.sandbox.handlers.payments import amount_charged
from gateway_async.sandbox.http.errors import RefusedError, ValidationError
from gateway_async.sandbox.pages.payment.bills import INVOICES, PAYLINKS, Bill, BillType
from gateway_async.sandbox.pages.payment.forms import Entry, charge, read_query, show_form
from gateway_async.sandbox.pages.visit import Page, Visit
from gateway_async.sandbox.schema import QUICK_INVOICE_FILE, TRANSACTION
from gateway_async.sandbox.state_machines.transactions import State

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

    async def show(self, visit: Visit) -> Response:
        """Handle GET of the address with the id in its path."""
        return self._show(visit, self.type.find_in_path(visit))

    async def show_by_id(self, visit: Visit) -> Response:
        """Handle GET of the address with the id in its query."""
        return self._show(visit, self.type.find_in_query(visit))

    async def pay(self, visit: Visit) -> Response:
        """Handle the form: charge the account, and go on to the result."""
        bill, form_id = self.type.find_in_path(visit), visit.form.get("form_id")
        if not form_id:
            raise RefusedError(400, "The form is incomplete. Load the page again.")
        if bill is None:
            return self._show(visit, bill)
        try:
            payment_id = await visit.gateway.submitted_forms.handle_once(
                f"{bill.id} {form_id}", lambda: charge(visit, bill)
            )
        except ValidationError as error:
            return self._show_again(visit, error.problems)
        except NotPayableError as error:
            return self._show_again(visit, {"amount": [f"This {self.type.name} {error.reason}"]})
        except ValueError as error:
            return self._show_again(visit, {"amount": [str(error).removeprefix("amount: ").capitalize()]})
        return visit.redirect(f"{bill.path}/payments/{payment_id}")

    async def show_payment(self, visit: Visit) -> Response:
        """Handle GET of the result of a payment."""
        bill = self.type.find_in_path(visit)
        payment = visit.gateway.store.find(TRANSACTION, id=visit.parameter("payment_id"))
        if bill is None or payment is None or payment[self.type.id_field] != bill.id:
            return self._show(visit, None)
        return visit.render(
            "payment/result.html",
            bill=bill,
            merchant=bill.find_merchant(visit.gateway),
            payment=payment,
            charged=amount_charged(payment),
            approved=payment["status_id"] != State.DECLINED,
            is_hold=payment["status_id"] == State.AUTHORIZED,
            is_void=payment["status_id"] == State.VOIDED,
        )

    def _show(self, visit: Visit, bill: Bill | None) -> Response:
        if bill is None:
            return _show_unavailable(visit, 404, self.type)
        if bill.state is not BillState.OPEN:
            return _show_unavailable(visit, _STATUSES[bill.state], self.type, bill)
        return show_form(visit, bill, read_query(visit))

    def _show_again(self, visit: Visit, problems: dict[str, list[str]]) -> Response:
        """Show the form with its problems, unless another tab has paid meanwhile."""
        bill = self.type.find_in_path(visit)
        if bill is None or bill.state is not BillState.OPEN:
            return _show_unavailable(visit, 409, self.type, bill)
        return show_form(visit, bill, Entry.from_form(visit.form, problems))


INVOICE_VIEWS = PaymentViews(INVOICES)
PAYLINK_VIEWS = PaymentViews(PAYLINKS)


def with_paylinks(page: Page) -> Page:
    """Wrap the page of `/`, which is also the address of paylinks."""

    async def show(visit: Visit) -> Response:
        return await (PAYLINK_VIEWS.show_by_id if visit.query(PAYLINKS.parameter) else page)(visit)

    return show


async def download_file(visit: Visit) -> Response:
    """Handle GET of a file of an invoice; a browser saves it, and never opens it as a page."""
    bill = INVOICES.find_in_path(visit)
    file = visit.gateway.store.find(QUICK_INVOICE_FILE, id=visit.parameter("file_id"))
    if bill is None or bill.state is BillState.DELETED or file is None or file["quick_invoice_id"] != bill.id:
        return _show_unavailable(visit, 404, INVOICES)
    content, _ = read_file(visit.gateway, file["id"])
    name = quote(file["name"], safe="")
    return Response(content, headers=_FILE_HEADERS | {"content-disposition": f"attachment; filename*=UTF-8''{name}"})


def _show_unavailable(visit: Visit, status: int, bill_type: BillType, bill: Bill | None = None) -> Response:
    merchant = bill.find_merchant(visit.gateway) if bill else ""
    return visit.render("payment/unavailable.html", status, type=bill_type, bill=bill, merchant=merchant)
