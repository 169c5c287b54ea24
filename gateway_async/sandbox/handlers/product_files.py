"""The File Storage Service, which stores files for a location.

It is enabled from the start in the gateway's first location.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.http.responses import answer
from gateway_async.sandbox.request.records import show
from gateway_async.sandbox.request.references import check_references
from gateway_async.sandbox.request.validation import read_fields
from gateway_async.sandbox.schema import PRODUCT_FILE

if TYPE_CHECKING:
    from starlette.responses import Response

    from gateway_async.sandbox.request.calls import Call
    from gateway_async.sandbox.runtime.gateway import Gateway


async def create(call: Call) -> Response:
    """Handle POST /v2/productfiles: enable file storage for the location."""
    body = await call.record("productfile")
    problems = Problems()
    values = read_fields(PRODUCT_FILE, body, problems)
    check_references(call.gateway, call.user, PRODUCT_FILE, values, problems)
    problems.done()
    row = call.gateway.new_row(PRODUCT_FILE, call.user, values)
    call.gateway.store.insert(PRODUCT_FILE, row)
    return answer({"productfile": show(call, PRODUCT_FILE, row)}, 201)


def stores_files(gateway: Gateway, location_id: str) -> bool:
    """Return whether a location can store files."""
    bought = gateway.store.find(PRODUCT_FILE, location_id=location_id)
    return bought is not None or location_id == gateway.facts.location_id
