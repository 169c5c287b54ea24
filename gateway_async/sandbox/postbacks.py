"""Creates the postbacks of each change (contract, "Events"); `runtime/postback_delivery.py` sends them.

Every config that asks for the change gets one. A postback is stored in the transaction that makes the change, with the
record as it is then. Therefore no postback is lost, and none reports a change that was rolled back.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.request.expands import read_expands
from gateway_async.sandbox.request.records import show_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE, WAITING, Change
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    CONTACT,
    POSTBACK,
    POSTBACK_CONFIG,
    TRANSACTION,
    TRANSACTION_BATCH,
)
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import is_set
from gateway_async.sandbox.state_machines.tokens_and_postbacks import DELIVERY_MACHINE, DeliveryState, DeliveryTrigger

_WATCHED = (CONTACT, ACCOUNT_VAULT, TRANSACTION, TRANSACTION_BATCH)
_HAS_MERCHANT_ACCOUNT = (TRANSACTION, TRANSACTION_BATCH)
_FLAGS: Mapping[Change, str] = {"CREATE": "on_create", "UPDATE": "on_update", "DELETE": "on_delete"}


def watch(gateway: Gateway) -> None:
    """Start to store postbacks for the changes that configs ask for."""
    for table in _WATCHED:
        gateway.store.watch(table, partial(_store_postbacks, gateway, table))
    gateway.store.watch(POSTBACK_CONFIG, partial(_cancel_if_inactive, gateway))


def is_in_effect(config: Row) -> bool:
    """Return whether a config delivers: it is active and not deleted."""
    return config["deleted_ts"] is None and is_set(config["is_active"])


def _store_postbacks(gateway: Gateway, table: Table, change: Change, rows: Sequence[Row]) -> None:
    for config in gateway.store.select(POSTBACK_CONFIG, f"resource = ? AND {ALIVE} ORDER BY id", (table.singular,)):
        if is_in_effect(config) and is_set(config[_FLAGS[change]]):
            matching = [row for row in rows if _matches(table, config, row)]
            gateway.store.insert(POSTBACK, *_postbacks(gateway, table, config, change, matching))
            gateway.postback_delivery.schedule_check()


def _matches(table: Table, config: Row, row: Row) -> bool:
    if row["location_id"] != config["location_id"]:
        return False
    return table not in _HAS_MERCHANT_ACCOUNT or row["product_transaction_id"] == config["product_transaction_id"]


def _postbacks(gateway: Gateway, table: Table, config: Row, change: Change, rows: Sequence[Row]) -> Iterator[Row]:
    common: Row = {"config_id": config["id"], "resource": table.singular, "type": change}
    for row in rows:
        data = encode_json(_make_data(gateway, table, row, config["expands"] or "")).decode()
        yield gateway.new_row(POSTBACK, row, common | {"record_id": row["id"], "data": data})


def _make_data(gateway: Gateway, table: Table, row: Row, expands: str) -> Row:
    """Return the record in the form of postbacks."""
    record = show_fields(gateway, table, row)
    for name in table.not_in_postbacks:
        del record[name]
    return record | {name: find(gateway, row) for name, find in read_expands(table.plural, expands).items()}


def _cancel_if_inactive(gateway: Gateway, _change: Change, configs: Sequence[Row]) -> None:
    """Cancel the waiting postbacks of configs that no longer deliver."""
    cancelled = DELIVERY_MACHINE.next_state(DeliveryState.WAITING, DeliveryTrigger.CANCEL)
    for config in configs:
        if is_in_effect(config):
            continue
        for row in gateway.store.select(POSTBACK, f"config_id = ? AND {WAITING}", (config["id"],)):
            gateway.store.update(POSTBACK, row["id"], {"state": cancelled})
