"""What the gateway would have sent: e-mails and text messages are kept here and go nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from gateway_async.sandbox.tables import NOTICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.tables.fields import Row

    Channel = Literal["email", "sms"]


class Message(NamedTuple):
    """What a customer is told, by whichever channel.

    Attributes:
        about: The field that names what it tells of: `quick_invoice_id` or `paylink_id`.
        record: What it tells of.
        occasion: Why now.
        subject: Of an e-mail.
        text: With the link to pay.
        attachments: Names of the files that an e-mail carries.
    """

    about: str
    record: Row
    occasion: str
    subject: str
    text: str
    attachments: Sequence[str] = ()


def send(gateway: Gateway, message: Message, channel: Channel, recipient: str) -> None:
    """Put a message to one recipient into the outbox."""
    values: Row = {"channel": channel, "recipient": recipient, message.about: message.record["id"]}
    values |= {"occasion": message.occasion, "text": message.text}
    if channel == "email":
        names = msgspec.json.encode(message.attachments).decode()
        values |= {"subject": message.subject, "attachments": names}
    gateway.store.insert(NOTICE, gateway.new_row(NOTICE, message.record, values))


def read(gateway: Gateway, **about: str | None) -> list[Row]:
    """The messages, the newest last: all of them, or those about one `quick_invoice_id` or `paylink_id`."""
    wanted = {field: record_id for field, record_id in about.items() if record_id is not None}
    where = " AND ".join(["1", *(f"{field} = ?" for field in wanted)])
    return [_show(row) for row in gateway.store.select(NOTICE, f"{where} ORDER BY id", tuple(wanted.values()))]


def _show(row: Row) -> Row:
    shown = {"to" if name == "recipient" else name: row[name] for name in NOTICE.shown}
    return shown | {"attachments": msgspec.json.decode(row["attachments"])}
