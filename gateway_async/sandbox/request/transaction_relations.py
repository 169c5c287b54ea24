"""Data that responses add to transactions and batches: tags, surcharges, level 3 data, refunds and change logs."""

import json
from typing import Any

import msgspec

from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    CHANGELOG,
    PRODUCT_TRANSACTION,
    SURCHARGE,
    TAG,
    TRANSACTION,
    TRANSACTION_LEVEL3,
    USER,
)
from gateway_async.sandbox.schema.codes import REFUNDING_TYPES, ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines import transactions as states

_NOT_GIVEN_BACK = (states.TransactionState.DECLINED, states.TransactionState.CHARGED_BACK)
_USER = ("id", "username", "first_name", "last_name")


def find_tags(gateway: Gateway, user: Row, values: Row) -> Row:
    """Find the stored form of `tags`: ids instead of titles, if given."""
    if values.get("tags") is None:
        return {}
    titles = dict.fromkeys(json.loads(values["tags"]))
    return {"tags": json.dumps([_find_or_create(gateway, user, title) for title in titles])}


def show_tags(gateway: Gateway, transaction: Row) -> list[Row]:
    """List the tags of a transaction, without deleted ones."""
    found = (gateway.store.find_alive(TAG, id=tag_id) for tag_id in json.loads(transaction["tags"]))
    return [{"id": tag["id"], "title": tag["title"]} for tag in found if tag]


def _find_or_create(gateway: Gateway, user: Row, title: str) -> str:
    tag = gateway.store.find_alive(TAG, location_id=user["location_id"], title=title)
    return str((tag or gateway.create(TAG, user, {"title": title}))["id"])


def find_surcharge(gateway: Gateway, row: Row) -> Row | None:
    """Find the surcharge of a transaction's merchant account, if it has one."""
    product = gateway.store.find(PRODUCT_TRANSACTION, id=row["product_transaction_id"])
    return show_surcharge(product) if product else None


def show_surcharge(product: Row) -> Row | None:
    """The surcharge of a merchant account, if it has one."""
    if not product["surcharge"]:
        return None
    times = dict.fromkeys(("created_ts", "modified_ts"), product["created_ts"])
    return SURCHARGE.show({field.name: field.default for field in SURCHARGE.fields} | {"id": product["id"]} | times)


def find_level3(gateway: Gateway, transaction_id: str) -> Row | None:
    """Find the stored level 3 data of a transaction."""
    return gateway.store.find_alive(TRANSACTION_LEVEL3, transaction_id=transaction_id)


def show_level3(gateway: Gateway, row: Row) -> Row | None:
    """The level 3 data of a transaction, if it has any."""
    found = find_level3(gateway, row["id"])
    return TRANSACTION_LEVEL3.show(found) if found else None


def amount_charged(row: Row) -> int:
    """The cents charged: of a partial approval, the approved part."""
    amount: int = row["transaction_amount"]
    partial = row["reason_code_id"] == ReasonCode.PARTIALLY_APPROVED
    return min(amount, row["auth_amount"]) if partial else amount


def refunded_amount(gateway: Gateway, transaction_id: str) -> int:
    """The cents that refunds of a transaction have given back."""
    return gateway.store.total(
        TRANSACTION,
        "coalesce(sum(transaction_amount), 0)",
        "previous_transaction_id = ? AND type_id IN (?, ?) AND status_id NOT IN (?, ?)",
        (transaction_id, *REFUNDING_TYPES, *_NOT_GIVEN_BACK),
    )


def amount_left(gateway: Gateway, row: Row) -> int:
    """The charged cents of a transaction that refunds have not given back."""
    return amount_charged(row) - refunded_amount(gateway, row["id"])


def is_voidable(gateway: Gateway, row: Row) -> bool:
    """Whether a transaction can be voided: it is not settled, and nothing of it was refunded."""
    return _is_allowed(states.TransactionTrigger.VOID, row) and not refunded_amount(gateway, row["id"])


def is_refundable(gateway: Gateway, row: Row) -> bool:
    """Whether something of a transaction can be refunded."""
    return _is_allowed(states.TransactionTrigger.REFUND, row) and amount_left(gateway, row) > 0


def is_reversible(gateway: Gateway, row: Row) -> bool:
    """Whether a part of a transaction can be reversed: at least a cent and what was refunded must remain."""
    least = max(1, refunded_amount(gateway, row["id"]))
    return _is_allowed(states.TransactionTrigger.REVERSE, row) and amount_charged(row) > least


def is_completable(_gateway: Gateway, row: Row) -> bool:
    """Whether a transaction is an authorization that can be completed."""
    return _is_allowed(states.TransactionTrigger.COMPLETE, row)


def _is_allowed(trigger: states.TransactionTrigger, row: Row) -> bool:
    return states.next_state(trigger, row) is not None


def log_change(gateway: Gateway, batch: Row, user: Row, changes: Row) -> None:
    """Log the changes of a batch with the earlier values; without changes, its creation.

    `batch` is the record before the change. `user` has no `id` if no user made the change.
    """
    known = {"action": "UPDATE" if changes else "CREATE", "model": "TransactionBatch", "model_id": batch["id"]}
    entry = gateway.new_row(CHANGELOG, batch, known)
    details = [
        {
            "id": gateway.ids.new(),
            "changelog_id": entry["id"],
            "field": name,
            "old_value": None if value is None else str(value),
        }
        for name, value in sorted((name, batch[name]) for name in changes if changes[name] != batch[name])
    ]
    entry |= {"user_id": user.get("id"), "changelog_details": msgspec.json.encode(details).decode()}
    gateway.store.insert(CHANGELOG, entry)


def read_changelogs(gateway: Gateway, row: Row) -> list[Row]:
    """Read the change log of a batch."""
    entries = gateway.store.select(CHANGELOG, "model_id = ? ORDER BY id DESC", (row["id"],))
    return [CHANGELOG.show(entry) | {"user": _show_user(gateway, entry["user_id"])} for entry in entries]


def _show_user(gateway: Gateway, user_id: str | None) -> dict[str, Any] | None:
    user = user_id and gateway.store.find(USER, id=user_id)
    return {name: user[name] for name in _USER} if user else None
