"""Show the payment form, and read and charge what a customer entered.

Numbers are read in the forms in which people write them. A form that is shown again does not repeat the numbers of
accounts and the security code.
"""

import re
import secrets
from collections.abc import Mapping

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.payment_pages import pay_bill, read_account
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.payment.bills import Bill
from gateway_async.sandbox.pages.payment.labels import find_labels, reword
from gateway_async.sandbox.pages.payment.samples import SAMPLES
from gateway_async.sandbox.schema.kinds import show_money

__all__ = ["Entry", "charge_bill", "read_entry", "show_form"]


_NOT_SHOWN_AGAIN = frozenset({"account_number", "cvv"})
_EXPIRY = re.compile(r"([0-9]{1,2})[ /-]*(?:20)?([0-9]{2})")
_IN_AMOUNTS = re.compile(r"[$,\s]")
_IN_NUMBERS = re.compile(r"[\s-]")


@attrs.frozen
class Entry:
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
    def from_form(cls, form: Mapping[str, str], problems: Mapping[str, list[str]]) -> "Entry":
        """Create the entry of a form that is shown again."""
        fields = {name: text for name, text in form.items() if name not in _NOT_SHOWN_AGAIN}
        return cls(form.get("payment_method", ""), fields, problems)


def read_entry(request: PageRequest) -> Entry:
    """Return the entry that the query chooses: a sample, or a payment method alone."""
    sample = SAMPLES.get(request.query("use"))
    return Entry(sample.method, sample.fields, is_sample=True) if sample else Entry(request.query("method"))


def show_form(request: PageRequest, bill: Bill, entry: Entry) -> Response:
    """Show the page of a bill; the status is 422 if the entry has problems."""
    method = entry.method if entry.method in bill.methods else next(iter(bill.methods), "cc")
    smallest, largest = bill.limits
    problems = reword(entry.problems, method)
    return request.render(
        "payment/form.html",
        422 if problems else 200,
        bill=bill,
        merchant=bill.find_merchant(request.gateway),
        files=bill.find_files(request.gateway),
        form_id=secrets.token_urlsafe(16),
        method=method,
        entry=entry,
        labels=find_labels(method),
        problems=problems,
        fields={"amount": show_money(bill.due) if bill.due else ""} | dict(entry.fields),
        required=bill.find_required_fields(request.gateway) if method == "ach" else set(),
        is_fixed=smallest == largest,
        smallest=smallest,
        largest=largest,
        samples={name: sample for name, sample in SAMPLES.items() if sample.is_usable(bill)},
    )


async def charge_bill(request: PageRequest, bill: Bill) -> str:
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
