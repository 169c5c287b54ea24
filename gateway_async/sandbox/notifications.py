"""The messages to customers (contract, "Notifications to customers"), and the reminders of due invoices.

No message is really sent: each goes to the outbox. A message is created only for a usable recipient: an address with an
@, or a phone number of ten digits. Without one, no message is created, which is not an error.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Literal

import msgspec

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import MESSAGE, QUICK_INVOICE, QUICK_INVOICE_FILE
from gateway_async.sandbox.schema.codes import DeliveryMethod
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import DEFAULT_CURRENCY, show_money
from gateway_async.sandbox.state_machines.paylinks import PaylinkState
from gateway_async.sandbox.state_machines.quick_invoices import InvoiceState, invoice_state_of

MessageOccasion = Literal["created", "resend", "before due", "due", "after due", "paid"]
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_PHONE = re.compile(r"[0-9]{10}")

_SENTENCES: dict[MessageOccasion, str] = {
    "created": "{title}: please pay {amount}.",
    "resend": "{title}: please pay {amount}.",
    "before due": "{title}: {amount} will be due on {due_date}.",
    "due": "{title}: {amount} is due today.",
    "after due": "{title}: {amount} was due on {due_date}.",
    "paid": "{title}: thank you for your payment.",
}

_NOTHING_DUE = "{title}: there is nothing left to pay."
_BY_EMAIL = frozenset({DeliveryMethod.EMAIL, DeliveryMethod.EMAIL_AND_SMS})
BY_SMS = frozenset({DeliveryMethod.SMS, DeliveryMethod.EMAIL_AND_SMS})
"""The values of a paylink's `delivery_method` that include each channel."""

_REMINDED_STATES = frozenset({InvoiceState.OPEN_UNPAID, InvoiceState.OPEN_IN_PART})


def read_newest(gateway: Gateway, most: int) -> list[Row]:
    """Read the newest messages, newest first."""
    return [describe_message(row) for row in gateway.store.select(MESSAGE, "1 ORDER BY id DESC LIMIT ?", (most,))]


def describe_message(row: Row) -> Row:
    """Describe a message as control calls and pages show it."""
    shown = {"to" if name == "recipient" else name: row[name] for name in MESSAGE.shown}
    return shown | {"attachments": msgspec.json.decode(row["attachments"])}


def notify_about_invoice(
    gateway: Gateway, invoice: Row, event: MessageOccasion, *, email: bool = True, sms: bool = True
) -> None:
    """Send the customer a message about an invoice, on each available channel.

    A text message needs `send_text_to_pay`. Thanks for a payment go by e-mail only.
    """
    sentence = _sentence(gateway, event, invoice["title"], invoice["remaining_balance"], invoice["due_date"])
    text = _lines(sentence, invoice["note"], f"{gateway.base_url}/quickinvoice/?id={invoice['id']}")
    values = {"quick_invoice_id": invoice["id"], "event": event, "text": text}
    mail = {"subject": invoice["title"], "attachments": _attachments(gateway, invoice)}
    by_sms = sms and invoice["send_text_to_pay"] and event != "paid"
    _send(gateway, invoice, values, mail if email else None, sms=by_sms)


def notify_about_paylink(gateway: Gateway, paylink: Row, event: MessageOccasion) -> None:
    """Send the customer a message about a paylink, by its `delivery_method`."""
    title, delivery_method = paylink["description"] or "Payment", paylink["delivery_method"]
    due = 0 if paylink["status_id"] == PaylinkState.PAID else paylink["amount_due"]
    text = _lines(_sentence(gateway, event, title, due), paylink_url(gateway, paylink))
    values = {"paylink_id": paylink["id"], "event": event, "text": text}
    mail = {"subject": title} if delivery_method in _BY_EMAIL else None
    _send(gateway, paylink, values, mail, sms=delivery_method in BY_SMS)


def invoice_url(gateway: Gateway, invoice: Row) -> str:
    """The address of the payment page of an invoice. The link in a message has another form."""
    return f"{gateway.base_url}/#/quickinvoicepay/{invoice['id']}"


def paylink_url(gateway: Gateway, paylink: Row) -> str:
    """The address of a paylink's payment page, as messages show it."""
    return f"{gateway.base_url}?paylink_id={paylink['id']}"


def _send(gateway: Gateway, bill: Row, values: Row, mail: Row | None, *, sms: bool) -> None:
    """Store a message for each wanted channel with a usable recipient; `mail` has what only an e-mail has."""
    address, phone = bill["email"] or "", bill["cell_phone"] or ""
    if mail and _EMAIL.fullmatch(address):
        gateway.create(MESSAGE, bill, values | mail | {"channel": "email", "recipient": address})
    if sms and _PHONE.fullmatch(phone):
        gateway.create(MESSAGE, bill, values | {"channel": "sms", "recipient": phone})


def _sentence(gateway: Gateway, event: MessageOccasion, title: str, cents: int, due_date: str | None = None) -> str:
    sentence = _SENTENCES[event] if cents or event == "paid" else _NOTHING_DUE
    currency = "" if gateway.currency == DEFAULT_CURRENCY else f"{gateway.currency} "
    amount = f"{currency}{show_money(cents)}"
    return sentence.format(title=title, amount=amount, due_date=due_date)


def _lines(*parts: str | None) -> str:
    return "\n".join(filter(None, parts))


def _attachments(gateway: Gateway, invoice: Row) -> str:
    """The names of the files that go with an e-mail, as JSON."""
    if not invoice["attach_files_to_email"]:
        return "[]"
    files = gateway.store.filter(QUICK_INVOICE_FILE, quick_invoice_id=invoice["id"])
    return msgspec.json.encode([file["name"] for file in files]).decode()


def plan_reminders(gateway: Gateway, after: date, until: date) -> dict[date, list[tuple[Row, MessageOccasion]]]:
    """The reminders due after one day and up to another: invoice and event.

    They are grouped by the day whose midnight sends them.
    """
    sent = {(row["quick_invoice_id"], row["event"]) for row in gateway.store.select(MESSAGE)}
    planned: defaultdict[date, list[tuple[Row, MessageOccasion]]] = defaultdict(list)
    for invoice in gateway.store.select(QUICK_INVOICE, ALIVE):
        if invoice_state_of(invoice) not in _REMINDED_STATES:
            continue
        last = min(until, date.fromisoformat(invoice["expire_date"] or date.max.isoformat())).toordinal()
        for event, day in _events(invoice):
            if after.toordinal() < day <= last and (invoice["id"], event) not in sent:
                planned[date.fromordinal(day)].append((invoice, event))
    return planned


def _events(invoice: Row) -> Iterator[tuple[MessageOccasion, int]]:
    """Yield each event with its day, as an ordinal.

    An ordinal can represent a day after the year 9999, and a date cannot.
    """
    due = date.fromisoformat(invoice["due_date"]).toordinal()
    if (days := invoice["notification_days_before_due_date"]) is not None:
        yield "before due", due - days
    if invoice["notification_on_due_date"]:
        yield "due", due
    if (days := invoice["notification_days_after_due_date"]) is not None:
        yield "after due", due + days
