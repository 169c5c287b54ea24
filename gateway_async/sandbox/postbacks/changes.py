"""Which changes are told to whom (contract, "Events"): a postback for each config that asks for it.

The law of this file: a postback is noted in the transaction that makes the change, with the record as it is then.
So none is lost, and none tells of what was rolled back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway_async.sandbox.http.answers import encode
from gateway_async.sandbox.instance.store import ALIVE, WAITING
from gateway_async.sandbox.nouns import account_vaults
from gateway_async.sandbox.requests.expands import read_expands
from gateway_async.sandbox.requests.records import nothing_derived
from gateway_async.sandbox.states.postbacks import LIFE, State, Trigger
from gateway_async.sandbox.tables import (
    ACCOUNT_VAULT,
    CONTACT,
    POSTBACK,
    POSTBACK_CONFIG,
    TRANSACTION,
    TRANSACTION_BATCH,
)
from gateway_async.sandbox.tables.kinds import is_set

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.instance.store import Change
    from gateway_async.sandbox.requests.records import Derive
    from gateway_async.sandbox.tables.fields import Row, Table

_WATCHED = (CONTACT, ACCOUNT_VAULT, TRANSACTION, TRANSACTION_BATCH)
_OF_A_PRODUCT = (TRANSACTION, TRANSACTION_BATCH)
_DERIVED: Mapping[str, Derive] = {ACCOUNT_VAULT.plural: account_vaults.derive}
_SWITCHES: Mapping[Change, str] = {"CREATE": "on_create", "UPDATE": "on_update", "DELETE": "on_delete"}


def watch(gateway: Gateway) -> None:
    """Note a postback for every change that a config asks for, from now on."""
    for table in _WATCHED:
        gateway.store.watch(table, partial(_note, gateway, table))
    gateway.store.watch(POSTBACK_CONFIG, partial(_follow, gateway))


def is_in_effect(config: Row) -> bool:
    """Whether a config delivers: it is active, and was not deleted."""
    return config["deleted_ts"] is None and is_set(config["is_active"])


def _note(gateway: Gateway, table: Table, change: Change, rows: Sequence[Row]) -> None:
    for config in gateway.store.select(POSTBACK_CONFIG, f"resource = ? AND {ALIVE} ORDER BY id", (table.singular,)):
        if is_in_effect(config) and is_set(config[_SWITCHES[change]]):
            told = [row for row in rows if _concerns(table, config, row)]
            gateway.store.insert(POSTBACK, *_postbacks(gateway, table, config, change, told))
            gateway.deliveries.wake()


def _concerns(table: Table, config: Row, row: Row) -> bool:
    if row["location_id"] != config["location_id"]:
        return False
    return table not in _OF_A_PRODUCT or row["product_transaction_id"] == config["product_transaction_id"]


def _postbacks(gateway: Gateway, table: Table, config: Row, change: Change, rows: Sequence[Row]) -> Iterator[Row]:
    told: Row = {"config_id": config["id"], "resource": table.singular, "type": change}
    for row in rows:
        data = encode(_carried(gateway, table, row, config["expands"] or "")).decode()
        yield gateway.new_row(POSTBACK, row, told | {"record_id": row["id"], "data": data})


def _carried(gateway: Gateway, table: Table, row: Row, expands: str) -> Row:
    """The record as the contract's "Records carried in postbacks" has it."""
    record = table.show(row) | _DERIVED.get(table.plural, nothing_derived)(gateway, row)
    for name in table.uncarried:
        del record[name]
    return record | {name: find(gateway, row) for name, find in read_expands(table.plural, expands).items()}


def _follow(gateway: Gateway, _change: Change, configs: Sequence[Row]) -> None:
    """Cancel what waits for a config that is no longer in effect."""
    for config in configs:
        if not is_in_effect(config):
            _cancel(gateway, config["id"])


def _cancel(gateway: Gateway, config_id: str) -> None:
    cancelled = LIFE.after(State.WAITING, Trigger.CANCEL)
    for row in gateway.store.select(POSTBACK, f"config_id = ? AND {WAITING}", (config_id,)):
        gateway.store.update(POSTBACK, row["id"], {"state": cancelled})
