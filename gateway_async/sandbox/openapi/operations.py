"""The operations of the contract, from the routes."""

from functools import cache

from gateway_async.sandbox.openapi.actions import ACTIONS, ActionDescription, as_body
from gateway_async.sandbox.openapi.forms import describe_form
from gateway_async.sandbox.openapi.names import operation_id, plural_name, schema_name, segment_of, with_article
from gateway_async.sandbox.openapi.parameters import (
    describe_expand,
    describe_list,
    describe_path_id,
    describe_record_query,
)
from gateway_async.sandbox.openapi.records import refer, wrap
from gateway_async.sandbox.openapi.responses import as_json, describe_errors, describe_page, empty
from gateway_async.sandbox.openapi.security import describe_security
from gateway_async.sandbox.openapi.values import Schema
from gateway_async.sandbox.routes import FORMS, POSTED_UPDATES, ROUTES
from gateway_async.sandbox.schema import BY_PLURAL, QUICK_INVOICE
from gateway_async.sandbox.schema.fields import Table

__all__ = ["describe_paths", "family", "query_names"]


_AS_FILE: Schema = {"schema": {"type": "string"}}
_FAMILIES = {"accountform": "hosted forms", "payform": "hosted forms", "hostedpaymentpage": "hosted payment pages"}
_FAMILIES |= {"custom": "transactions"}
"""The families of what is not a record type."""


def describe_paths() -> dict[str, Schema]:
    """Return the path items of the gateway's own endpoints."""
    paths: dict[str, Schema] = {}
    for path, handlers in (ROUTES | FORMS).items():
        item = {method.lower(): _describe(method, path) for method in handlers}
        if path in POSTED_UPDATES:
            summary = f"{item['put']['summary']} by POST"
            item["post"] = item["put"] | {"summary": summary, "operationId": operation_id(summary)}
        paths[path] = item
    return paths


def _describe(method: str, path: str) -> Schema:
    segment = segment_of(path)
    operation = ACTIONS.get(f"{method} {path}") or _STANDARD[method, path.count("{")](BY_PLURAL[segment])
    described = {
        "tags": [family(path)],
        "operationId": operation_id(operation.summary),
        "summary": operation.summary,
        "parameters": [*describe_path_id(path), *describe_expand(segment), *operation.query],
        "responses": operation.responses | describe_errors(*_error_statuses(method, path), *operation.errors),
        "security": describe_security(f"{method} {path}"),
    }
    if operation.description:
        described["description"] = operation.description
    if operation.body:
        described["requestBody"] = {"required": True, "content": operation.body}
    return described


@cache
def query_names(method: str, path: str) -> frozenset[str]:
    """Return the names of an operation's query parameters, without credentials."""
    return frozenset(each["name"] for each in _describe(method, path)["parameters"] if each["in"] == "query")


def family(path: str) -> str:
    """Return the name under which an operation is listed."""
    segment = segment_of(path)
    return (_FAMILIES.get(segment) or plural_name(segment)).capitalize()


def _error_statuses(method: str, path: str) -> list[int]:
    statuses = [400, 401, 403, 422]
    if "{" in path:
        statuses += [404, 409]
    if method in ("POST", "PUT"):
        statuses += [413]
    return statuses


def _list(table: Table) -> ActionDescription:
    responses = {"200": as_json(describe_page(table.plural, _schema(table)), "A page of the list.")}
    responses["200"]["content"] |= dict.fromkeys(("text/csv", "text/tab-separated-values"), _AS_FILE)
    return ActionDescription(f"List {plural_name(table.plural)}", responses, describe_list(table))


def _create(table: Table) -> ActionDescription:
    body = as_body(wrap(table.singular, refer(f"{_schema(table)}Create")))
    if table is QUICK_INVOICE:
        body |= describe_form(table)
    responses = _record(table, 201)
    if "update_if_exists" in table.by_name:
        responses |= _record(table)
    return ActionDescription(f"Create {with_article(table.plural)}", responses, [], body)


def _get(table: Table) -> ActionDescription:
    return ActionDescription(f"Get {with_article(table.plural)}", _record(table), describe_record_query(table))


def _update(table: Table) -> ActionDescription:
    body = as_body(wrap(table.singular, refer(f"{_schema(table)}Update")))
    return ActionDescription(f"Update {with_article(table.plural)}", _record(table), describe_record_query(table), body)


def _delete(table: Table) -> ActionDescription:
    return ActionDescription(f"Delete {with_article(table.plural)}", {"204": empty()}, describe_record_query(table))


_STANDARD = {("GET", 0): _list, ("POST", 0): _create, ("GET", 1): _get, ("PUT", 1): _update, ("DELETE", 1): _delete}
"""The operations on records, by method and number of ids in the path."""


def _record(table: Table, status: int = 200) -> dict[str, Schema]:
    return {str(status): as_json(wrap(table.singular, refer(_schema(table))), "The record.")}


def _schema(table: Table) -> str:
    return schema_name(table.plural)
