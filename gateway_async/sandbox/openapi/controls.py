"""The control calls as operations, from the signatures of their functions."""

import re
from inspect import signature
from typing import Any

import msgspec
from starlette.responses import Response

from gateway_async.sandbox.controls.calls import CONTROL_CALLS, ControlCall
from gateway_async.sandbox.openapi.parameters import describe_path_id, in_query
from gateway_async.sandbox.openapi.records import wrap
from gateway_async.sandbox.openapi.responses import as_json, describe_errors, empty
from gateway_async.sandbox.openapi.values import Schema

__all__ = ["CONTROL_FAMILY", "describe_control_paths"]


CONTROL_FAMILY = "Control calls"
_DECIMAL: Schema = {"type": "string", "format": "decimal"}
_ERRORS = (400, 403, 413, 421, 422)
_ERRORS_OF_RECORDS = (404, 409)


def describe_control_paths() -> dict[str, Schema]:
    """Return the path items of the control calls."""
    return {
        path: {method.lower(): _describe(method, path, call) for method, call in calls.items()}
        for path, calls in CONTROL_CALLS.items()
    }


def _describe(method: str, path: str, call: ControlCall) -> Schema:
    described: Schema = {
        "tags": [CONTROL_FAMILY],
        "operationId": _operation_id(method, path),
        "summary": re.split(r": \{|;|\.$", call.description)[0],
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
        described["requestBody"] = {"required": required, "content": {"application/json": {"schema": schema}}}
    return described


def _operation_id(method: str, path: str) -> str:
    words = re.findall(r"[a-z]+", re.sub(r"\{\w+\}", "", path))
    return method.lower() + "".join(word.capitalize() for word in words) + ("ById" if path.endswith("}") else "")


def _inline(fields: Any) -> Schema:
    """Return the schema of a type without references to definitions."""
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
