"""The record types without models: their specs, and a valid request for each."""

from collections.abc import Callable
from typing import Any

from gateway_async._wire.untyped import UntypedSpec

from .raw_client import RawClient

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
"""A picture of one pixel, in base64."""

LINE = {
    "description": "Cool drink",
    "product_code": "fanta123456",
    "quantity": "12",
    "unit_code": "gll",
    "unit_cost": "10.1234",
    "tax_amount": "4.00",
    "tax_rate": "4",
}
"""A line of level 3 data of a mc card."""

VISA_LINE = LINE | {"commodity_code": "cc123456"}
"""A line of level 3 data of a visa card."""


def signature(raw_client: RawClient) -> dict[str, Any]:
    return {"resource": "Transaction", "resource_id": raw_client.sale()["id"], "signature": PNG}


def device_terms(raw_client: RawClient) -> dict[str, Any]:
    info = raw_client.info
    terms = {"location_id": info.location_id, "terminal_id": info.terminal_id, "require_signature": 1}
    return terms | {"terms_conditions": "Tea is served at five.", "device_terms_api_id": raw_client.own_id(36)}


def level3(raw_client: RawClient) -> dict[str, Any]:
    """Return the fields of level 3 data, after its merchant account allows it."""
    product = f"/_sandbox/producttransactions/{raw_client.info.cc_product_transaction_id}"
    assert raw_client.anonymous.post(product, json={"level3_allow": True}).is_success
    data = {"tax_rate": "4", "line_items": [VISA_LINE]}
    return {"transaction_id": raw_client.sale()["id"], "level3_data": data}


UNTYPED: dict[str, tuple[str, Callable[[RawClient], dict[str, Any]]]] = {
    "/v2/signatures": ("signature", signature),
    "/v2/deviceterms": ("deviceterm", device_terms),
    "/v2/transactionlevel3s": ("transactionlevel3", level3),
}
"""Path → the wrapper of a record, and how to make the fields of a new one."""

SPECS = {path: UntypedSpec(name=name, plural=path.rpartition("/")[2]) for path, (name, _) in UNTYPED.items()}
"""The specs by path."""


def make(raw_client: RawClient, path: str) -> str:
    name, fields = UNTYPED[path]
    response = raw_client.post(path, name, fields(raw_client))
    assert response.is_success, response.text
    return str(response.json()[name]["id"])
