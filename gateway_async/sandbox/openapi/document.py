"""The whole OpenAPI document."""

from functools import cache
from typing import Any

from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.openapi.controls import CONTROL_FAMILY, describe_control_paths
from gateway_async.sandbox.openapi.names import schema_name, segment_of
from gateway_async.sandbox.openapi.operations import describe_paths
from gateway_async.sandbox.openapi.records import describe_body, describe_record, describe_variants, refer
from gateway_async.sandbox.openapi.responses import ERROR_SCHEMAS, ERRORS, as_json
from gateway_async.sandbox.openapi.security import SECURITY_SCHEMES
from gateway_async.sandbox.openapi.values import Schema
from gateway_async.sandbox.routes import ROUTES
from gateway_async.sandbox.schema import BY_PLURAL, QUICK_INVOICE_FILE

__all__ = ["encode_document", "make_document"]


_INFO = {
    "title": "Gateway sandbox",
    "version": "2",
    "description": (
        "The payment gateway's API as its sandbox implements it. "
        "Unknown fields and parameters of a request are ignored, or a 422 in a strict sandbox."
    ),
}
_UNPROCESSABLE = 422
_CHANGING = ("POST", "PUT")


@cache
def encode_document() -> bytes:
    """Return the document as JSON."""
    return encode_json(make_document())


@cache
def make_document() -> dict[str, Any]:
    """Make the document. It is the same for every sandbox, and not to be changed."""
    paths = describe_paths() | describe_control_paths()
    tags = {operation["tags"][0] for item in paths.values() for operation in item.values()} - {CONTROL_FAMILY}
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in (*sorted(tags), CONTROL_FAMILY)],
        "paths": paths,
        "components": {
            "schemas": _describe_schemas(),
            "responses": {str(status): _describe_error(status) for status in ERRORS},
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _describe_schemas() -> dict[str, Schema]:
    schemas = dict(ERROR_SCHEMAS)
    for path, handlers in ROUTES.items():
        table = BY_PLURAL.get(segment_of(path))
        if table is None:
            continue
        name = schema_name(table.plural)
        schemas[name] = describe_record(table)
        for method in handlers:
            standard = path.count("/") == (2 if method == "POST" else 3)
            if method in _CHANGING and standard:
                schemas[f"{name}{'Create' if method == 'POST' else 'Update'}"] = describe_body(table, method)
    return schemas | {"File": describe_record(QUICK_INVOICE_FILE)} | describe_variants()


def _describe_error(status: int) -> Schema:
    refusal, problems = refer("Refusal"), refer("Problems")
    return as_json({"anyOf": [problems, refusal]} if status == _UNPROCESSABLE else refusal, ERRORS[status])
