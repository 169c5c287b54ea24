"""The messages to customers (contract, "Notifications to customers").

Each message goes to the outbox. A message is created only for a usable recipient: an address with an @, or a phone
number of ten digits. Without one, no message is created, which is not an error.
"""

import re
from typing import Literal

from gateway_async.sandbox.notifications import outbox
from gateway_async.sandbox.notifications.outbox import Message
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import QUICK_INVOICE_FILE
from gateway_async.sandbox.schema.codes import DeliveryMethod
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.state_machines.paylinks import PaylinkState

__all__ = [
    "BY_EMAIL",
    "BY_SMS",
    "MessageOccasion",
    "invoice_url",
    "notify_about_invoice",
    "notify_about_paylink",
    "paylink_url",
]


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
BY_EMAIL = frozenset({DeliveryMethod.EMAIL, DeliveryMethod.EMAIL_AND_SMS})
BY_SMS = frozenset({DeliveryMethod.SMS, DeliveryMethod.EMAIL_AND_SMS})
"""The values of a paylink's `delivery_method` that include each channel."""


def notify_about_invoice(
    gateway: Gateway, invoice: Row, event: MessageOccasion, *, email: bool = True, sms: bool = True
) -> None:
    """Send the customer a message about an invoice, on each available channel.

    A text message needs `send_text_to_pay`. Thanks for a payment go by e-mail only.
    """
    sentence = _sentence(event, invoice["title"], invoice["remaining_balance"], invoice["due_date"])
    text = _lines(sentence, invoice["note"], f"{gateway.base_url}/quickinvoice/?id={invoice['id']}")
    message = Message("quick_invoice_id", invoice, event, invoice["title"], text, _attachments(gateway, invoice))
    by_sms = sms and invoice["send_text_to_pay"] and event != "paid"
    _send(gateway, message, email=email, sms=by_sms)


def notify_about_paylink(gateway: Gateway, paylink: Row, event: MessageOccasion) -> None:
    """Send the customer a message about a paylink, by its `delivery_method`."""
    title, delivery_method = paylink["description"] or "Payment", paylink["delivery_method"]
    due = 0 if paylink["status_id"] == PaylinkState.PAID else paylink["amount_due"]
    text = _lines(_sentence(event, title, due), paylink_url(gateway, paylink))
    message = Message("paylink_id", paylink, event, title, text)
    _send(gateway, message, email=delivery_method in BY_EMAIL, sms=delivery_method in BY_SMS)


def invoice_url(gateway: Gateway, invoice: Row) -> str:
    """Return the address of the payment page of an invoice. The link in a message has another form."""
    return f"{gateway.base_url}/#/quickinvoicepay/{invoice['id']}"


def paylink_url(gateway: Gateway, paylink: Row) -> str:
    """Return the address of a paylink's payment page, which messages have too."""
    return f"{gateway.base_url}?paylink_id={paylink['id']}"


def _send(gateway: Gateway, message: Message, *, email: bool, sms: bool) -> None:
    address, phone = message.record["email"] or "", message.record["cell_phone"] or ""
    if email and _EMAIL.fullmatch(address):
        outbox.send(gateway, message, "email", address)
    if sms and _PHONE.fullmatch(phone):
        outbox.send(gateway, message, "sms", phone)


def _sentence(event: MessageOccasion, title: str, cents: int, due_date: str | None = None) -> str:
    sentence = _SENTENCES[event] if cents or event == "paid" else _NOTHING_DUE
    return sentence.format(title=title, amount=show_money(cents), due_date=due_date)


def _lines(*parts: str | None) -> str:
    return "\n".join(filter(None, parts))


def _attachments(gateway: Gateway, invoice: Row) -> list[str]:
    if not invoice["attach_files_to_email"]:
        return []
    files = gateway.store.select(QUICK_INVOICE_FILE, f"quick_invoice_id = ? AND {ALIVE} ORDER BY id", (invoice["id"],))
    return [file["name"] for file in files]
