"""The outbox of e-mails and text messages to customers.

It stores the messages that a real gateway would send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from gateway_async.sandbox.schema import NOTICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway_async.sandbox.runtime.gateway import Gateway
    from gateway_async.sandbox.schema.fields import Row

    Channel = Literal["email", "sms"]


class Message(NamedTuple):
    """A message to a customer, for any channel.

    Attributes:
        about: The field that names its subject: `quick_invoice_id` or `paylink_id`.
        record: The record that it is about.
        occasion: The reason for the message.
        subject: The subject of the e-mail.
        text: The text, with the payment link.
        attachments: The names of the files that the e-mail carries.
    """

    about: str
    record: Row
    occasion: str
    subject: str
    text: str
    attachments: Sequence[str] = ()


def send(gateway: Gateway, message: Message, channel: Channel, recipient: str) -> None:
    """Store a message to one recipient in the outbox."""
    values: Row = {"channel": channel, "recipient": recipient, message.about: message.record["id"]}
    values |= {"occasion": message.occasion, "text": message.text}
    if channel == "email":
        names = msgspec.json.encode(message.attachments).decode()
        values |= {"subject": message.subject, "attachments": names}
    gateway.store.insert(NOTICE, gateway.new_row(NOTICE, message.record, values))


def read(gateway: Gateway, **about: str | None) -> list[Row]:
    """Return the messages, newest last.

    The list has all messages, or those about one invoice or paylink.
    """
    wanted = {field: record_id for field, record_id in about.items() if record_id is not None}
    where = " AND ".join(["1", *(f"{field} = ?" for field in wanted)])
    return [_show(row) for row in gateway.store.select(NOTICE, f"{where} ORDER BY id", tuple(wanted.values()))]


def _show(row: Row) -> Row:
    shown = {"to" if name == "recipient" else name: row[name] for name in NOTICE.shown}
    return shown | {"attachments": msgspec.json.decode(row["attachments"])}
