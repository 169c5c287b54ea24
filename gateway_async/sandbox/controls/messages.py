"""Messages to customers, and postbacks with their delivery log.

The log shows the time, address and result of each attempt. It shows no credentials of a receiver and no card number
that is part of a record.
"""

from gateway_async.sandbox.notifications import describe_message
from gateway_async.sandbox.postbacks import is_in_effect
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import (
    PostbackFormat,
    body_fields,
    check_format,
    last_attempt_number,
    mask_url,
    read_attempts,
)
from gateway_async.sandbox.schema import MESSAGE, POSTBACK, POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import mask_card_numbers
from gateway_async.sandbox.state_machines.tokens_and_postbacks import DELIVERY_MACHINE, DeliveryState, DeliveryTrigger


def outbox(gateway: Gateway, quick_invoice_id: str | None = None, paylink_id: str | None = None) -> list[Row]:
    """Return the e-mails and text messages to customers, newest last.

    The sandbox stores these messages and does not send them.

    Args:
        quick_invoice_id: Return only messages about this invoice.
        paylink_id: Return only messages about this paylink.

    Returns:
        For each message its `channel` ("email" or "sms"), the recipient `to`, the `event` ("created", "resend",
        "before due", "due", "after due", "paid"), `created_ts` in Unix seconds, `subject`, `text` with the
        link, the names of the `attachments`, and `quick_invoice_id` or `paylink_id`.
    """
    found = gateway.store.filter(MESSAGE, quick_invoice_id=quick_invoice_id, paylink_id=paylink_id)
    return [describe_message(row) for row in found]


def postbacks(gateway: Gateway, config_id: str | None = None, record_id: str | None = None) -> list[Row]:
    """Return the postbacks of every config and their delivery attempts, newest last.

    The list has every waiting postback and the newest ten thousand that have ended.

    Args:
        config_id: Return only postbacks of this config.
        record_id: Return only postbacks about this record.

    Returns:
        For each postback its `id`, `config_id`, the config `url`, `resource`, `type`, `record_id`, `created_ts` in
        Unix seconds, the `state` ("waiting", "delivered", "failed", "cancelled"), `next_attempt_ts`, the
        `attempts` (each with its `number`, `when`, `url`, and the `status` of the response or an `error`), and
        the `body` of the last attempt. Card numbers in it are masked. Query strings of addresses are omitted.
    """
    return _show_all(gateway, gateway.store.filter(POSTBACK, config_id=config_id, record_id=record_id))


def newest_postbacks(gateway: Gateway, most: int) -> list[Row]:
    """Return the newest postbacks, newest first."""
    return _show_all(gateway, gateway.store.select(POSTBACK, "1 ORDER BY id DESC LIMIT ?", (most,)))


def postback(gateway: Gateway, postback_id: str) -> Row:
    """Return one postback."""
    return _show_all(gateway, [gateway.find_known(POSTBACK, postback_id)])[0]


def postback_format(gateway: Gateway) -> PostbackFormat:
    """Return how the bodies of postbacks are written."""
    return gateway.postback_delivery.postback_format


def set_postback_format(gateway: Gateway, postback_format: PostbackFormat) -> None:
    """Write the bodies of later postbacks as `json` or as a `form`; the receiver takes both.

    Raises:
        InvalidRequestError: The format is unknown.
    """
    gateway.postback_delivery.postback_format = check_format(postback_format)


def replay_postback(gateway: Gateway, postback_id: str) -> Row:
    """Send a postback again, in whatever state it is.

    The result is the postback before that attempt.

    Raises:
        InvalidRequestError: The postback is unknown, or its config was deleted or is inactive.
    """
    row = gateway.find_known(POSTBACK, postback_id)
    config = gateway.store.select(POSTBACK_CONFIG, "id = ?", (row["config_id"],))[0]
    if not is_in_effect(config):
        raise ValueError(f"postback {postback_id}: its config was deleted, or is not active.")
    changes: Row = {
        "state": DELIVERY_MACHINE.next_state(DeliveryState(row["state"]), DeliveryTrigger.REPLAY),
        "due_ts": 0,
    }
    gateway.store.update(POSTBACK, postback_id, changes)
    gateway.postback_delivery.schedule_check()
    return _show(row | changes, config)


def _show_all(gateway: Gateway, rows: list[Row]) -> list[Row]:
    configs = {config["id"]: config for config in gateway.store.select(POSTBACK_CONFIG)}
    return [_show(row, configs[row["config_id"]]) for row in rows]


def _show(row: Row, config: Row) -> Row:
    body = body_fields(row, max(1, last_attempt_number(row)))
    shown = POSTBACK.show(row) | {"attempts": read_attempts(row), "url": mask_url(config["url"])}
    due = shown.pop("due_ts")
    shown["next_attempt_ts"] = (due or row["created_ts"]) if row["state"] == DeliveryState.WAITING else None
    return shown | {"body": body | {"data": mask_card_numbers(body["data"])}}
