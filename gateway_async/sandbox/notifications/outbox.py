"""The outbox of e-mails and text messages to customers.

It stores the messages that a real gateway would send.
"""

from collections.abc import Sequence
from typing import Literal

import attrs
import msgspec

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import MESSAGE
from gateway_async.sandbox.schema.fields import Row

__all__ = ["Channel", "Message", "describe_message", "read_newest", "send"]


Channel = Literal["email", "sms"]


@attrs.frozen
class Message:
    """A message to a customer, for any channel.

    Attributes:
        about: The field that names its subject: `quick_invoice_id` or `paylink_id`.
        record: The record that it is about.
        event: The reason for the message.
        subject: The subject of the e-mail.
        text: The text, with the payment link.
        attachments: The names of the files that the e-mail carries.
    """

    about: str
    record: Row
    event: str
    subject: str
    text: str
    attachments: Sequence[str] = ()


def send(gateway: Gateway, message: Message, channel: Channel, recipient: str) -> None:
    """Store a message to one recipient in the outbox."""
    values: Row = {"channel": channel, "recipient": recipient, message.about: message.record["id"]}
    values |= {"event": message.event, "text": message.text}
    if channel == "email":
        names = msgspec.json.encode(message.attachments).decode()
        values |= {"subject": message.subject, "attachments": names}
    gateway.store.insert(MESSAGE, gateway.new_row(MESSAGE, message.record, values))


def read_newest(gateway: Gateway, most: int) -> list[Row]:
    """Return the newest messages, newest first."""
    return [describe_message(row) for row in gateway.store.select(MESSAGE, "1 ORDER BY id DESC LIMIT ?", (most,))]


def describe_message(row: Row) -> Row:
    """Return a message as control calls and pages show it."""
    shown = {"to" if name == "recipient" else name: row[name] for name in MESSAGE.shown}
    return shown | {"attachments": msgspec.json.decode(row["attachments"])}
