"""Postbacks (contract, "Postback configs" and "Events"): which changes are reported, and to which receiver.

Configs can be created, changed and deleted. The contract does not show how to read them, so reading is not allowed.

Every config that asks for a change gets a postback. It is stored in the transaction that makes the change, with the
record as it is then. Therefore no postback is lost, and none reports a change that was rolled back.
`runtime/postback_delivery.py` sends them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

from gateway_async.sandbox.http.responses import Problems, encode_json
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.expands import EXPANDS, read_expands
from gateway_async.sandbox.request.records import show_fields
from gateway_async.sandbox.request.standard_handlers import make_create, make_update
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
from gateway_async.sandbox.schema.fields import Row, Table, label
from gateway_async.sandbox.schema.kinds import is_set
from gateway_async.sandbox.state_machines.postbacks import DELIVERY_MACHINE, DeliveryState, DeliveryTrigger

_REPORTED = (CONTACT, TRANSACTION, TRANSACTION_BATCH, ACCOUNT_VAULT)
_PLURALS = {table.singular: table.plural for table in _REPORTED}
_HAS_MERCHANT_ACCOUNT = frozenset({TRANSACTION.singular, TRANSACTION_BATCH.singular})
_FLAGS: Mapping[Change, str] = {"CREATE": "on_create", "UPDATE": "on_update", "DELETE": "on_delete"}
_BOUNDS = {"number_of_attempts": (1, 100), "attempt_interval": (0, 86_400)}
"""The interval may be below the 300 seconds of production gateways, so a test need not wait."""


def _check(_context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    config = row | values
    resource, expands = config.get("resource", ""), config.get("expands") or ""
    problems.check(resource in _PLURALS, "resource", f"Resource must be one of {', '.join(_PLURALS)}.")
    if resource in _HAS_MERCHANT_ACCOUNT and config.get("product_transaction_id") is None:
        problems.add_blank("product_transaction_id")
    problems.check(_is_http(config.get("url") or ""), "url", "Url must be an http or https address.")
    unknown = {*filter(None, expands.split(","))} - EXPANDS.get(_PLURALS.get(resource, ""), {}).keys()
    problems.check(not unknown or resource not in _PLURALS, "expands", "Expands names an unknown relation.")
    has_colon = ":" in (config.get("basic_auth_username") or "")
    problems.check(not has_colon, "basic_auth_username", "Basic Auth Username must not contain a colon.")
    for name, (low, high) in _BOUNDS.items():
        is_within = low <= config.get(name, low) <= high
        problems.check(is_within, name, f"{label(name)} must be from {low} to {high}.")


def _is_http(url: str) -> bool:
    if not (url.isascii() and url.isprintable()) or " " in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


create = make_create(POSTBACK_CONFIG, _check)
update = make_update(POSTBACK_CONFIG, _check)


def watch(gateway: Gateway) -> None:
    """Start to store postbacks for the changes that configs ask for."""
    for table in _REPORTED:
        gateway.store.watch(table, partial(_store_postbacks, gateway, table))
    gateway.store.watch(POSTBACK_CONFIG, partial(_cancel_if_inactive, gateway))


def is_in_effect(config: Row) -> bool:
    """Whether a config delivers: it is active and not deleted."""
    return config["deleted_ts"] is None and is_set(config["is_active"])


def _store_postbacks(gateway: Gateway, table: Table, change: Change, rows: Sequence[Row]) -> None:
    for config in gateway.store.select(POSTBACK_CONFIG, f"resource = ? AND {ALIVE} ORDER BY id", (table.singular,)):
        if is_in_effect(config) and is_set(config[_FLAGS[change]]):
            matching = [row for row in rows if _matches(table, config, row)]
            gateway.store.insert(POSTBACK, *_postbacks(gateway, table, config, change, matching))
            gateway.postback_delivery.schedule_check()


def _matches(table: Table, config: Row, row: Row) -> bool:
    names = ("location_id", "product_transaction_id") if table.singular in _HAS_MERCHANT_ACCOUNT else ("location_id",)
    return all(row[name] == config[name] for name in names)


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
