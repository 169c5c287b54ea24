"""The File Storage Service, which stores files for a location.

It is enabled from the start in the gateway's first location.
"""

from gateway_async.sandbox.request.records import make_create
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import PRODUCT_FILE

__all__ = ["can_store_files", "create"]


create = make_create(PRODUCT_FILE)
"""Handles POST /v2/productfiles, which enables file storage for the location."""


def can_store_files(gateway: Gateway, location_id: str) -> bool:
    """Return whether a location can store files."""
    product_file = gateway.store.find(PRODUCT_FILE, location_id=location_id)
    return product_file is not None or location_id == gateway.info.location_id
