"""The File Storage Service, which stores files for a location.

It is enabled from the start in the gateway's first location.
"""

from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.call import Call
from gateway_async.sandbox.request.records import show
from gateway_async.sandbox.request.references import check_references
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_FILE


async def create(call: Call) -> Response:
    """Handle POST /v2/productfiles: enable file storage for the location."""
    body = await call.read_record("productfile")
    problems = Problems()
    values = read_fields(PRODUCT_FILE, body, problems)
    check_references(call.gateway, call.user, PRODUCT_FILE, values, problems)
    problems.raise_if_any()
    row = call.gateway.new_row(PRODUCT_FILE, call.user, values)
    call.gateway.store.insert(PRODUCT_FILE, row)
    return json_response({"productfile": show(call, PRODUCT_FILE, row)}, 201)


def can_store_files(gateway: Gateway, location_id: str) -> bool:
    """Return whether a location can store files."""
    bought = gateway.store.find(PRODUCT_FILE, location_id=location_id)
    return bought is not None or location_id == gateway.info.location_id
