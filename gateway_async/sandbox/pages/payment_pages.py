"""The pages on which a customer pays an invoice or a paylink: the form, the payment and its result.

A form that is submitted twice, by a double click or a reload, charges once: each rendered form has an id of its own. A
second tab is told that the bill is paid. Numbers are read in the forms in which people write them. A form that is shown
again does not repeat the numbers of accounts and the security code.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.payment_pages import BillState, NotPayableError, pay_bill, read_account
from gateway_async.sandbox.handlers.quick_invoices import read_file
from gateway_async.sandbox.http.responses import RefusedError, RefusedFieldsError
from gateway_async.sandbox.pages.invoices_and_paylinks import INVOICES, PAYLINKS, Bill, BillType
from gateway_async.sandbox.pages.page_request import PageRequest, PageView
from gateway_async.sandbox.request.transaction_relations import amount_charged
from gateway_async.sandbox.schema import QUICK_INVOICE_FILE, TRANSACTION
from gateway_async.sandbox.schema.fields import label
from gateway_async.sandbox.schema.kinds import MONEY, show_money
from gateway_async.sandbox.simulators.cards import TEST_CARDS
from gateway_async.sandbox.state_machines.transactions import TransactionState

_STATUSES = {BillState.PAID: 200, BillState.CLOSED: 410, BillState.EXPIRED: 410, BillState.DELETED: 410}
"""The HTTP status of the page of a bill that cannot be paid."""

_FILE_HEADERS = {
    "content-type": "application/octet-stream",
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_NOT_SHOWN_AGAIN = frozenset({"account_number", "cvv"})
_EXPIRY = re.compile(r"([0-9]{1,2})[ /-]*(?:20)?([0-9]{2})")
_IN_AMOUNTS = re.compile(r"[$A-Z,\s]")
_IN_NUMBERS = re.compile(r"[\s-]")

_COMMON = {
    "billing_street": "Street",
    "billing_city": "City",
    "billing_state": "State",
    "billing_zip": "ZIP code",
    "billing_phone": "Phone",
    "dl_number": "Driver's license",
    "dl_state": "State of the license",
    "ssn4": "Last four digits of the SSN",
}
_LABELS = {
    "cc": {
        "amount": "Amount",
        "account_number": "Card number",
        "exp_date": "Expiration",
        "cvv": "Security code",
        "account_holder_name": "Name on the card",
        **_COMMON,
    },
    "ach": {
        "amount": "Amount",
        "account_holder_name": "Account holder",
        "routing": "Routing number",
        "account_number": "Account number",
        "account_type": "Account type",
        **_COMMON,
    },
}


@attrs.frozen
class _Sample:
    """Values for a payment form.

    Attributes:
        name: The name of the link that fills them in.
        method: `cc` or `ach`.
        fields: The values by field.
        needs_billing: Whether the billing address decides about the payment.
    """

    name: str
    method: str
    fields: Mapping[str, str]
    needs_billing: bool = False

    def is_usable(self, bill: Bill) -> bool:
        """Whether a bill takes the method, the fields and the amount."""
        if self.method not in bill.methods or (self.needs_billing and not bill.shows_billing):
            return False
        smallest, largest = bill.limits
        return "amount" not in self.fields or smallest <= int(MONEY.read(self.fields["amount"])) <= largest


_MATCHING_ADDRESS = {"billing_street": "5800 NW 39th AVE", "billing_zip": "32606"}
_DENIED_ADDRESS = {"billing_street": "2831 NW 41st St STE J", "billing_zip": "32615"}


def _make_card(brand: str, **fields: str) -> dict[str, str]:
    known = {
        "account_number": TEST_CARDS[brand],
        "exp_date": "12/30",
        "cvv": "1234" if brand == "amex" else "999",
        "account_holder_name": "Test Customer",
    }
    return known | _MATCHING_ADDRESS | fields


_SAMPLES = {
    "visa": _Sample("Visa ending in 1111", "cc", _make_card("visa")),
    "mc": _Sample("Mastercard ending in 5454", "cc", _make_card("mc")),
    "amex": _Sample("Amex ending in 8431", "cc", _make_card("amex")),
    "disc": _Sample("Discover ending in 0000", "cc", _make_card("disc")),
    "denied": _Sample("Declined for its address", "cc", _make_card("visa", **_DENIED_ADDRESS), needs_billing=True),
    "funds": _Sample("6.16: insufficient funds", "cc", _make_card("visa", amount="6.16")),
    "partial": _Sample("2.01: approved in part", "cc", _make_card("visa", amount="2.01")),
    "checking": _Sample(
        "Checking account",
        "ach",
        {
            "account_holder_name": "Test Customer",
            "routing": "072000326",
            "account_number": "1234567890",
            "account_type": "checking",
        }
        | _MATCHING_ADDRESS,
    ),
}
"""The values by the name in the query of a form."""


@attrs.frozen
class _Entry:
    """The values that a form shows in its fields.

    Attributes:
        method: `cc` or `ach`; empty for the first one that the bill allows.
        fields: The values by field.
        problems: The problems by field.
        is_sample: Whether a tester chose the values.
    """

    method: str = ""
    fields: Mapping[str, str] = attrs.field(factory=dict)
    problems: Mapping[str, list[str]] = attrs.field(factory=dict)
    is_sample: bool = False

    @classmethod
    def from_form(cls, form: Mapping[str, str], problems: Mapping[str, list[str]]) -> "_Entry":
        """Create the entry of a form that is shown again."""
        fields = {name: text for name, text in form.items() if name not in _NOT_SHOWN_AGAIN}
        return cls(form.get("payment_method", ""), fields, problems)


@attrs.frozen
class PaymentViews:
    """The pages of invoices or paylinks."""

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
                f"{bill.id} {form_id}", lambda: _charge_bill(request, bill)
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
        return _show_form(request, bill, _read_entry(request))

    def _show_again(self, request: PageRequest, problems: dict[str, list[str]]) -> Response:
        """Show the form with its problems, unless another tab has paid meanwhile."""
        bill = self.type.find_in_path(request)
        if bill is None or bill.state is not BillState.OPEN:
            return _show_unavailable(request, 409, self.type, bill)
        return _show_form(request, bill, _Entry.from_form(request.form, problems))


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


def _read_entry(request: PageRequest) -> _Entry:
    """Read the entry that the query chooses: a sample, or a payment method alone."""
    sample = _SAMPLES.get(request.query("use"))
    return _Entry(sample.method, sample.fields, is_sample=True) if sample else _Entry(request.query("method"))


def _show_form(request: PageRequest, bill: Bill, entry: _Entry) -> Response:
    """Show the page of a bill; the status is 422 if the entry has problems."""
    method = entry.method if entry.method in bill.methods else next(iter(bill.methods), "cc")
    smallest, largest = bill.limits
    problems = _reword(entry.problems, method)
    return request.render(
        "payment/form.html",
        422 if problems else 200,
        bill=bill,
        merchant=bill.find_merchant(request.gateway),
        files=bill.find_files(request.gateway),
        form_id=secrets.token_urlsafe(16),
        method=method,
        entry=entry,
        labels=_LABELS[method],
        problems=problems,
        fields={"amount": show_money(bill.due) if bill.due else ""} | dict(entry.fields),
        required=bill.find_required_fields(request.gateway) if method == "ach" else set(),
        is_fixed=smallest == largest,
        smallest=smallest,
        largest=largest,
        samples={name: sample for name, sample in _SAMPLES.items() if sample.is_usable(bill)},
    )


async def _charge_bill(request: PageRequest, bill: Bill) -> str:
    """Charge the entered account, and return the id of the payment."""
    form = request.form
    method = "ach" if form.get("payment_method") == "ach" else "cc"
    account, values = read_account(request.gateway, bill.row, method, _normalize(form))
    amount = _IN_AMOUNTS.sub("", form["amount"]) if "amount" in form else None
    payment, _ = await pay_bill(request.gateway, bill.type.page, bill.id, amount, account, values)
    return str(payment["id"])


def _normalize(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields without needless blanks, and the expiry as MMYY."""
    fields = {name: text.strip() for name, text in form.items()}
    for name in ("account_number", "routing"):
        fields[name] = _IN_NUMBERS.sub("", fields.get(name, ""))
    if expiry := _EXPIRY.fullmatch(fields.get("exp_date", "")):
        fields["exp_date"] = expiry[1].zfill(2) + expiry[2]
    return fields


def _reword(problems: Mapping[str, Sequence[str]], method: str) -> dict[str, str]:
    """The problems of a request in the form's words and order."""
    labels = {**_LABELS[method], **{name: label(name) for name in problems if name not in _LABELS[method]}}
    return {
        name: " ".join(problems[name]).replace(label(name), text).replace("MMYY", "MM/YY")
        for name, text in labels.items()
        if name in problems
    }
