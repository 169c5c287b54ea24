"""Locations and location infos.

A caller sees its own location and those directly below it. A location info shows in one record what a client must know
about a location.
"""

from collections.abc import Mapping

import attrs
from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import add_products
from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, empty_response, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.listing import read_listing
from gateway_async.sandbox.request.records import Condition, delete_record, find_record, read_new, respond
from gateway_async.sandbox.request.standard_handlers import make_update
from gateway_async.sandbox.request.transaction_relations import show_surcharge
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import LOCATION, LOCATION_INFO, PRODUCT_FILE, PRODUCT_TRANSACTION, TAG, TERMINAL, USER
from gateway_async.sandbox.schema.fields import Field, Row
from gateway_async.sandbox.schema.kinds import BIT, TEXT

_SCOPES: dict[str, str] = {"direct": "id = :id", "child": "parent_id = :id", "all": "(id = :id OR parent_id = :id)"}
INFOS = attrs.evolve(
    LOCATION,
    fields=(*LOCATION.fields, Field("zip", TEXT, stored=False, column="zip_code")),
    sort="-created_ts",
)
"""The table of a list of location infos."""
_TERMINAL_FIELDS = ("id", "title", "local_ip_address", "port")
_DEFAULT_ACCOUNTS = {"default_cc": "cc", "default_ach": "ach"}
_RECURRING_SETTINGS = {"send_declined_notifications": False, "require_full_payment": False}


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/locations. The location is below the caller's, and has merchant accounts for cards and banks."""
    gateway = context.gateway
    values, problems = await read_new(context, LOCATION)
    _check_accounts(context, {}, values, problems)
    problems.raise_if_any()
    with gateway.store.transaction():
        row = gateway.new_row(LOCATION, context.user, values)
        products = add_products(gateway, row["id"])
        row |= {name: products[method] for name, method in _DEFAULT_ACCOUNTS.items()}
        gateway.store.insert(LOCATION, row)
    return respond(context, LOCATION, row, 201)


async def delete(context: RequestContext) -> Response:
    """Handle DELETE /v2/locations/{id}. Its users are deleted with it; the caller's own location cannot be deleted."""
    store, row = context.gateway.store, find_record(context, LOCATION)
    if row["id"] == context.user["location_id"]:
        raise RefusedFieldsError({"id": ["The location of the caller cannot be deleted."]})
    with store.transaction():
        delete_record(context, LOCATION, row)
        for user in store.filter(USER, location_id=row["id"]):
            delete_record(context, USER, user)
    return empty_response()


def _check_accounts(context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    """Check that the default merchant accounts belong to the location.

    A new location has no id yet, and no merchant accounts that a request could name.
    """
    for name, method in _DEFAULT_ACCOUNTS.items():
        where = {"id": values.get(name), "location_id": row.get("id"), "payment_method": method}
        if values.get(name) is not None and context.gateway.store.find(PRODUCT_TRANSACTION, **where) is None:
            problems.add_invalid(name)


update = make_update(LOCATION, _check_accounts)


async def get_infos(context: RequestContext) -> Response:
    """Handle GET /v2/locationinfos, with its filters `relationship` and `product_transaction_active`."""
    gateway = context.gateway
    active = _read_active(context.query)
    scope = _read_scope(context, context.query.get("relationship", "direct"))
    listing = read_listing(context, INFOS, scope=scope)
    rows, total = listing.fetch(gateway.store)
    meta = listing.meta(f"{gateway.base_url}/v2/locationinfos", total)
    return json_response({"locationinfos": [_show_info(context, row, active) for row in rows], "meta": meta})


def _read_scope(context: RequestContext, name: str) -> Condition:
    if name not in _SCOPES:
        raise RefusedFieldsError({"relationship": [f"Relationship must be one of {', '.join(_SCOPES)}."]})
    sql = _SCOPES[name]
    return sql.replace(":id", "?"), (context.user["location_id"],) * sql.count(":id")


def _read_active(query: Mapping[str, str]) -> int | None:
    text = query.get("product_transaction_active")
    if text is None:
        return None
    try:
        return int(BIT.read(text))
    except ValueError:
        problem = "Product Transaction Active must be 0 or 1."
        raise RefusedFieldsError({"product_transaction_active": [problem]}) from None


def _show_info(context: RequestContext, location: Row, active: int | None) -> Row:
    gateway = context.gateway
    own = {name: location.get(name) for name in LOCATION_INFO.by_name} | {"zip": location["zip_code"]}
    expanded = {name: find(gateway, location) for name, find in context.expands.items()}
    record = LOCATION_INFO.show(own) | _show_related(gateway, location["id"], active) | expanded
    paths = {"self": f"/v2/locationinfos/{location['id']}", "location": f"/v2/locations/{location['id']}"}
    return record | {"_links": {name: {"href": f"{gateway.base_url}{path}"} for name, path in paths.items()}}


def _show_related(gateway: Gateway, location_id: str, active: int | None) -> Row:
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
            for row in gateway.store.select(TERMINAL, f"location_id = ? AND {ALIVE} ORDER BY id", (location_id,))
        ],
        "tags": [TAG.show(row) for row in gateway.store.filter(TAG, location_id=location_id)],
    }
