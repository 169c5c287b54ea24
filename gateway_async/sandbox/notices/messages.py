"""What the gateway tells customers, the contract's "Notifications to customers"; each notice goes to the outbox.

The law of this file: a notice goes only where it can arrive, to an address with an @ or a phone of ten
digits. Where there is neither, nothing goes, and that is no error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from gateway_async.sandbox.instance.store import ALIVE
from gateway_async.sandbox.notices import outbox
from gateway_async.sandbox.notices.outbox import Message
from gateway_async.sandbox.states.paylinks import State
from gateway_async.sandbox.tables import QUICK_INVOICE_FILE
from gateway_async.sandbox.tables.kinds import show_money

if TYPE_CHECKING:
    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.tables.fields import Row

    Occasion = Literal["created", "resend", "before due", "due", "after due", "paid"]

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_PHONE = re.compile(r"[0-9]{10}")

_SENTENCES: dict[Occasion, str] = {
    "created": "{title}: please pay {amount}.",
    "resend": "{title}: please pay {amount}.",
    "before due": "{title}: {amount} will be due on {due_date}.",
    "due": "{title}: {amount} is due today.",
    "after due": "{title}: {amount} was due on {due_date}.",
    "paid": "{title}: thank you for your payment.",
}
_NOTHING_LEFT = "{title}: there is nothing left to pay."
BY_EMAIL, BY_SMS = frozenset({1, 3}), frozenset({2, 3})
"""The values of a paylink's `delivery_method` that mean each channel."""


def tell_of_invoice(
    gateway: Gateway, invoice: Row, occasion: Occasion, *, email: bool = True, sms: bool = True
) -> None:
    """Tell the customer of an invoice, where there is an address to tell.

    Args:
        gateway: Who tells.
        invoice: The invoice, as stored.
        occasion: Why now. Thanks for a payment go by e-mail only.
        email: Whether an e-mail may go.
        sms: Whether a text message may go, if the invoice has `send_text_to_pay`.
    """
    sentence = _sentence(occasion, invoice["title"], invoice["remaining_balance"], invoice["due_date"])
    text = _lines(sentence, invoice["note"], invoice_url(gateway, invoice))
    message = Message("quick_invoice_id", invoice, occasion, invoice["title"], text, _attachments(gateway, invoice))
    by_sms = sms and invoice["send_text_to_pay"] and occasion != "paid"
    _send(gateway, message, email=email, sms=by_sms)


def tell_of_paylink(gateway: Gateway, paylink: Row, occasion: Occasion) -> None:
    """Tell the customer of a paylink, by its `delivery_method` and where there is an address to tell."""
    title, way = paylink["description"] or "Payment", paylink["delivery_method"]
    due = 0 if paylink["status_id"] == State.PAID else paylink["amount_due"]
    text = _lines(_sentence(occasion, title, due), paylink_url(gateway, paylink))
    message = Message("paylink_id", paylink, occasion, title, text)
    _send(gateway, message, email=way in BY_EMAIL, sms=way in BY_SMS)


def invoice_url(gateway: Gateway, invoice: Row) -> str:
    """The link that a notice of an invoice carries."""
    return f"{gateway.base_url}/quickinvoice/?id={invoice['id']}"


def paylink_url(gateway: Gateway, paylink: Row) -> str:
    """The link that a notice of a paylink carries."""
    return f"{gateway.base_url}?paylink_id={paylink['id']}"


def _send(gateway: Gateway, message: Message, *, email: bool, sms: bool) -> None:
    address, phone = message.record["email"] or "", message.record["cell_phone"] or ""
    if email and _EMAIL.fullmatch(address):
        outbox.send(gateway, message, "email", address)
    if sms and _PHONE.fullmatch(phone):
        outbox.send(gateway, message, "sms", phone)


def _sentence(occasion: Occasion, title: str, cents: int, due_date: str | None = None) -> str:
    sentence = _SENTENCES[occasion] if cents or occasion == "paid" else _NOTHING_LEFT
    return sentence.format(title=title, amount=show_money(cents), due_date=due_date)


def _lines(*parts: str | None) -> str:
    return "\n".join(filter(None, parts))


def _attachments(gateway: Gateway, invoice: Row) -> list[str]:
    if not invoice["attach_files_to_email"]:
        return []
    files = gateway.store.select(QUICK_INVOICE_FILE, f"quick_invoice_id = ? AND {ALIVE} ORDER BY id", (invoice["id"],))
    return [file["name"] for file in files]
