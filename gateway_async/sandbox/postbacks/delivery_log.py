"""The delivery log of postbacks, and their replay.

`GET /_sandbox/postbacks` shows the log. The log shows the time, address and result of each attempt. It shows no
credentials of a receiver and no card number that is part of a record.
"""

from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.postbacks.changes import is_in_effect
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import body_fields, last_attempt_number, mask_url, read_attempts
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import mask_card_numbers
from gateway_async.sandbox.state_machines.postbacks import DELIVERY_MACHINE, DeliveryState, DeliveryTrigger

__all__ = ["read", "read_newest", "read_one", "replay"]


def read(gateway: Gateway, config_id: str | None = None, record_id: str | None = None) -> list[Row]:
    """Return the postbacks, or those of one `config_id` or `record_id`, newest last."""
    return _show_all(gateway, gateway.store.filter(POSTBACK, config_id=config_id, record_id=record_id))


def read_newest(gateway: Gateway, most: int) -> list[Row]:
    """Return the newest postbacks, newest first."""
    return _show_all(gateway, gateway.store.select(POSTBACK, "1 ORDER BY id DESC LIMIT ?", (most,)))


def read_one(gateway: Gateway, postback_id: str) -> Row:
    """Return one postback.

    Raises:
        UnknownRecordError: The postback is unknown.
    """
    return _show_all(gateway, [_find(gateway, postback_id)])[0]


def replay(gateway: Gateway, postback_id: str) -> Row:
    """Make one more attempt at once, in whatever state the postback is.

    The result is the postback before that attempt.

    Raises:
        UnknownRecordError: The postback is unknown.
        ValueError: The config was deleted, or is inactive.
    """
    row = _find(gateway, postback_id)
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


def _find(gateway: Gateway, postback_id: str) -> Row:
    row = gateway.store.find(POSTBACK, id=postback_id)
    if row is None:
        raise UnknownRecordError(POSTBACK.singular, postback_id)
    return row


def _show_all(gateway: Gateway, rows: list[Row]) -> list[Row]:
    configs = {config["id"]: config for config in gateway.store.select(POSTBACK_CONFIG)}
    return [_show(row, configs[row["config_id"]]) for row in rows]


def _show(row: Row, config: Row) -> Row:
    body = body_fields(row, max(1, last_attempt_number(row)))
    shown = POSTBACK.show(row) | {"attempts": read_attempts(row), "url": mask_url(config["url"])}
    due = shown.pop("due_ts")
    shown["next_attempt_ts"] = (due or row["created_ts"]) if row["state"] == DeliveryState.WAITING else None
    return shown | {"body": body | {"data": mask_card_numbers(body["data"])}}
