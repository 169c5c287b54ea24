"""The whole OpenAPI document: the operations of the contract, and the control calls."""

import re
from functools import cache
from inspect import signature
from typing import Any

import msgspec
from starlette.responses import Response

from gateway_async.sandbox.controls.calls import CONTROL_CALLS, ControlCall
from gateway_async.sandbox.http.responses import encode_json
from gateway_async.sandbox.openapi.components import (
    ERROR_SCHEMAS,
    ERRORS,
    SECURITY_SCHEMES,
    as_json,
    describe_errors,
    describe_path_id,
    empty,
    in_query,
)
from gateway_async.sandbox.openapi.operations import describe_paths
from gateway_async.sandbox.openapi.schemas import (
    Schema,
    describe_body,
    describe_record,
    describe_variants,
    refer,
    schema_name,
    segment_of,
    wrap,
)
from gateway_async.sandbox.routes import ROUTES
from gateway_async.sandbox.schema import BY_PLURAL, QUICK_INVOICE_FILE

_CONTROL_FAMILY = "Control calls"
_DECIMAL: Schema = {"type": "string", "format": "decimal"}
_ERRORS = (400, 403, 413, 421, 422)
_ERRORS_OF_RECORDS = (404, 409)

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


def _describe_control_paths() -> dict[str, Schema]:
    """Describe the path items of the control calls."""
    return {
        path: {method.lower(): _describe(method, path, call) for method, call in calls.items()}
        for path, calls in CONTROL_CALLS.items()
    }


def _describe(method: str, path: str, call: ControlCall) -> Schema:
    described: Schema = {
        "tags": [_CONTROL_FAMILY],
        "operationId": _operation_id(method, path),
        "summary": call.summary,
        "description": call.description,
        "parameters": describe_path_id(path),
        "responses": _describe_success(call) | describe_errors(*_ERRORS, *(_ERRORS_OF_RECORDS if "{" in path else ())),
        "security": [],
    }
    schemas = [_inline(each) for each in call.body_types]
    if method == "GET":
        properties = schemas[0]["properties"]
        described["parameters"] += [in_query(name, {"type": "string"}) for name in properties]
    elif schemas[0]["properties"]:
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        required = any(each["required"] for each in schemas)
        body = {"schema": schema, "example": call.examples[0]}
        described["requestBody"] = {"required": required, "content": {"application/json": body}}
    return described


def _operation_id(method: str, path: str) -> str:
    words = re.findall(r"[a-z]+", re.sub(r"\{\w+\}", "", path))
    return method.lower() + "".join(word.capitalize() for word in words) + ("ById" if path.endswith("}") else "")


def _inline(fields: Any) -> Schema:
    """The schema of a type without references to definitions."""
    (schema,), definitions = msgspec.json.schema_components([fields], ref_template="{name}")
    inlined: Schema = _replace_decimals(definitions[schema["$ref"]])
    del inlined["title"]  # the name of the Python type
    return inlined


def _replace_decimals(schema: Any) -> Any:
    """Allow numbers, too, for amounts that are texts."""
    if isinstance(schema, list):
        return [_replace_decimals(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema == _DECIMAL:
        return {"type": ["string", "number"]}
    return {name: _replace_decimals(value) for name, value in schema.items()}


def _describe_success(call: ControlCall) -> dict[str, Schema]:
    result = signature(call.shows or call.run).return_annotation
    if result is Response:
        return {"200": {"description": "The content.", "content": {"*/*": {}}}}
    if result is None:
        return {"204": empty()}
    schema = msgspec.json.schema(result)
    return {str(call.status_code): as_json(wrap(call.key, schema) if call.key else schema, "The result.")}


@cache
def encode_document() -> bytes:
    """Encode the document as JSON."""
    return encode_json(make_document())


@cache
def make_document() -> dict[str, Any]:
    """Make the document. It is the same for every sandbox, and not to be changed."""
    paths = describe_paths() | _describe_control_paths()
    tags = {operation["tags"][0] for item in paths.values() for operation in item.values()} - {_CONTROL_FAMILY}
    return {
        "openapi": "3.1.0",
        "info": _INFO,
        "servers": [{"url": "/"}],
        "tags": [{"name": name} for name in (*sorted(tags), _CONTROL_FAMILY)],
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
