"""Locations and location infos.

A caller sees its own location and those directly below it. A location info shows in one record what a client must know
about a location.
"""

from collections.abc import Mapping

import attrs
from starlette.responses import Response

from gateway_async.sandbox.http.errors import RefusedError, ValidationError
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.call import Call
from gateway_async.sandbox.request.listing import Condition, read_listing
from gateway_async.sandbox.request.records import id_column, show
from gateway_async.sandbox.request.transaction_expands import show_surcharge
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import LOCATION, LOCATION_INFO, PRODUCT_FILE, PRODUCT_TRANSACTION, TERMINAL
from gateway_async.sandbox.schema.fields import Row

__all__ = ["get", "get_infos", "get_list"]


_SCOPES: dict[str, str] = {"direct": "id = :id", "child": "parent_id = :id", "all": "(id = :id OR parent_id = :id)"}
_OWN_FILTERS = ("relationship", "product_transaction_active")
_FLAGS = {"1": 1, "true": 1, "0": 0, "false": 0}
_INFOS = attrs.evolve(LOCATION, sort="-created_ts")
_TERMINAL_FIELDS = ("id", "title", "local_ip_address", "port")
_RECURRING_SETTINGS = {"send_declined_notifications": False, "require_full_payment": False}


async def get(call: Call) -> Response:
    """Handle GET /v2/locations/{id}."""
    row = call.gateway.store.find(LOCATION, **{id_column(call, LOCATION): call.path_id()})
    if row is None or call.user["location_id"] not in {row["id"], row["parent_id"]}:
        raise RefusedError(404, "The record cannot be found.")
    return json_response({"location": show(call, LOCATION, row)})


async def get_list(call: Call) -> Response:
    """Handle GET /v2/locations."""
    gateway = call.gateway
    listing = read_listing(LOCATION, call.user, call.query, gateway.clock.date(), visible=_visible(call, "all"))
    rows, total = listing.fetch(gateway.store)
    records = [show(call, LOCATION, row) for row in rows]
    return json_response({"locations": records, "meta": listing.meta(f"{gateway.base_url}/v2/locations", total)})


async def get_infos(call: Call) -> Response:
    """Handle GET /v2/locationinfos, with its filters `relationship` and `product_transaction_active`."""
    gateway = call.gateway
    active = _read_active(call.query)
    visible = _visible(call, call.query.get("relationship", "direct"))
    own = {name: call.query[name] for name in _OWN_FILTERS if name in call.query}
    columns = {name: text for name, text in call.query.items() if name not in own}
    listing = read_listing(_INFOS, call.user, columns, gateway.clock.date(), visible=visible)
    listing = attrs.evolve(listing, parameters=own | dict(listing.parameters))
    rows, total = listing.fetch(gateway.store)
    meta = listing.meta(f"{gateway.base_url}/v2/locationinfos", total)
    return json_response({"locationinfos": [_show_info(call, row, active) for row in rows], "meta": meta})


def _visible(call: Call, scope: str) -> Condition:
    if scope not in _SCOPES:
        raise ValidationError({"relationship": [f"Relationship must be one of {', '.join(_SCOPES)}."]})
    sql = _SCOPES[scope]
    return sql.replace(":id", "?"), (call.user["location_id"],) * sql.count(":id")


def _read_active(query: Mapping[str, str]) -> int | None:
    text = query.get("product_transaction_active")
    if text is None:
        return None
    if text.lower() not in _FLAGS:
        raise ValidationError({"product_transaction_active": ["Product Transaction Active must be 0 or 1."]})
    return _FLAGS[text.lower()]


def _show_info(call: Call, location: Row, active: int | None) -> Row:
    gateway = call.gateway
    own = {name: location.get(name) for name in LOCATION_INFO.by_name} | {"zip": location["zip_code"]}
    expanded = {name: find(gateway, location) for name, find in call.expands.items()}
    record = LOCATION_INFO.show(own) | _related(gateway, location["id"], active) | expanded
    return record | {"_links": _links(gateway, location)}


def _related(gateway: Gateway, location_id: str, active: int | None) -> Row:
    files = gateway.store.filter(PRODUCT_FILE, location_id=location_id)
    return {
        "product_transactions": [
            PRODUCT_TRANSACTION.show(row) | {"surcharge": show_surcharge(row)}
            for row in gateway.store.filter(PRODUCT_TRANSACTION, location_id=location_id, active=active)
        ],
        "product_file": PRODUCT_FILE.show(files[0]) if files else None,
        "product_recurring": _RECURRING_SETTINGS,
        "terminals": [
            {name: row[name] for name in _TERMINAL_FIELDS}
            for row in gateway.store.filter(TERMINAL, location_id=location_id)
        ],
        "tags": [],
    }


def _links(gateway: Gateway, location: Row) -> Row:
    return {
        "self": {"href": f"{gateway.base_url}/v2/locationinfos/{location['id']}"},
        "location": {"href": f"{gateway.base_url}/v2/locations/{location['id']}"},
    }
