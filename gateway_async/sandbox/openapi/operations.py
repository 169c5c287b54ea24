"""The operations of the contract, from the routes."""

from functools import cache

import attrs

from gateway_async.sandbox.handlers.locations import INFOS
from gateway_async.sandbox.handlers.quick_invoices import LARGEST_FILE, MOST_FILES
from gateway_async.sandbox.openapi.components import (
    as_json,
    describe_errors,
    describe_expand,
    describe_list,
    describe_page,
    describe_path_id,
    describe_record_query,
    describe_security,
    empty,
    in_query,
)
from gateway_async.sandbox.openapi.schemas import (
    FILE,
    FLAG_SCHEMA,
    Schema,
    close,
    describe_body,
    describe_fields,
    describe_form,
    make_form,
    operation_id,
    plural_name,
    refer,
    schema_name,
    segment_of,
    with_article,
    wrap,
)
from gateway_async.sandbox.routes import FORMS, POSTED_UPDATES, ROUTES
from gateway_async.sandbox.schema import (
    ACH_UPDATE,
    BY_PLURAL,
    INVOICED_TRANSACTION,
    LOGIN,
    QUICK_INVOICE,
    RECURRING,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    STORED,
    TABLES,
    TRANSACTION,
    USER,
)
from gateway_async.sandbox.schema.fields import Table

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": 999}

_HTML: Schema = {"description": "The form.", "content": {"text/html": {"schema": _TEXT}}}
_SENT = [in_query(name, FLAG_SCHEMA, "0 leaves it out.") for name in ("email", "sms")]

_OF_INFOS = [
    in_query("relationship", {"enum": ["direct", "child", "all"]}, "The own location, those below it, or all."),
    in_query("product_transaction_active", FLAG_SCHEMA, "Whether to show active or other merchant accounts."),
]

_AS_FILE: Schema = {"schema": {"type": "string"}}
_FAMILIES = {
    "accountform": "hosted forms",
    "payform": "hosted forms",
    "hostedpaymentpage": "hosted payment pages",
    "custom": "transactions",
}
"""The families of what is not a record type."""


@attrs.frozen
class ActionDescription:
    """One operation: a method of a path.

    Attributes:
        summary: A few words in the imperative.
        responses: The responses by status, without the errors.
        query: The parameters of the query, besides `expand` and an integrator id's.
        body: The body by content type; empty without one.
        description: What else there is to know.
        errors: The statuses of errors, besides those of every operation.
    """

    summary: str
    responses: dict[str, Schema]
    query: list[Schema] = attrs.field(factory=list)
    body: dict[str, Schema] = attrs.field(factory=dict)
    description: str = ""
    errors: tuple[int, ...] = ()


def _one(name: str, schema: str, status: int = 200) -> dict[str, Schema]:
    return {str(status): as_json(wrap(name, refer(schema)), "The record.")}


def _record(table: Table, status: int = 200) -> dict[str, Schema]:
    return _one(table.singular, schema_name(table.plural), status)


def _bin_info(summary: str) -> ActionDescription:
    schema = wrap("bininfo", describe_fields(TABLES["bin_infos"]))
    return ActionDescription(summary, {"200": as_json(schema, "The data of the issuer.")})


def _invoiced(summary: str) -> ActionDescription:
    body = _as_body(wrap("quickinvoice", describe_body(INVOICED_TRANSACTION, "POST")))
    return ActionDescription(summary, _one("quickinvoice", "QuickInvoiceWithTransactions"), [], body)


def _at_terminal(summary: str, table: Table, response: str) -> ActionDescription:
    body = _as_body(wrap(table.singular, refer(f"{schema_name(table.plural)}Create")))
    responses = _one(response, schema_name(table.plural), 201)
    return ActionDescription(summary, responses, [], body, "The request stays open until the terminal has finished.")


def _hosted_form(summary: str) -> ActionDescription:
    data = in_query("data", _TEXT, "The fields, as hex of JSON.", required=True)
    return ActionDescription(summary, {"200": _HTML}, [data])


def _as_body(schema: Schema) -> dict[str, Schema]:
    return {"application/json": {"schema": schema}}


ACTIONS: dict[str, ActionDescription] = {
    f"POST /v2/{table.plural}/{{id}}/{name}": ActionDescription(summary, _record(table))
    for table in STORED
    for name, summary in table.actions.items()
}
"""The operations by method and path. The data files have those without a body; the others follow."""

ACTIONS |= {
    "GET /v2/accountvaults/{id}/bininfo": _bin_info("Get the BIN info of an account vault"),
    "GET /v2/transactions/{id}/bininfo": _bin_info("Get the BIN info of a transaction"),
    "POST /v2/transactions/{id}/achupdate": ActionDescription(
        "Correct a bank payment",
        _record(TRANSACTION),
        body=_as_body(wrap("transaction", describe_body(ACH_UPDATE, "POST"))),
    ),
    "GET /custom/tsvtransactions": ActionDescription(
        "Get a file of all transactions",
        {"200": {"description": "The file.", "content": {"text/tab-separated-values": {"schema": _TEXT}}}},
        [
            in_query("location_id", _TEXT, required=True),
            in_query("from_date", _TEXT, "A time such as `2025-12-31 23:59:59`, in UTC.", required=True),
        ],
    ),
    "POST /v2/users/{id}/generateuserapikey": ActionDescription(
        "Generate the API key of a user",
        {"200": as_json(wrap("user", close({"user_api_key": _TEXT})), "The new key.")},
    ),
    "GET /hostedpaymentpage": ActionDescription(
        "Show a hosted payment page",
        {"200": _HTML},
        [in_query("id", _TEXT, required=True), in_query("data", _TEXT, "The settings, as base64 of encrypted JSON.")],
        errors=(404,),
    ),
    "POST /v2/token": ActionDescription(
        "Create a token",
        {"201": as_json(wrap("token", describe_fields(TABLES["tokens.response"])), "The token.")},
        body=_as_body(describe_body(LOGIN, "POST")),
        description="`expire` is the number of minutes without a request after which the token expires.",
    ),
    "DELETE /v2/token/{token}": ActionDescription("Delete a token", {"204": empty()}),
    "POST /v2/quickinvoices/{id}/resend": ActionDescription("Resend a quick invoice", {"204": empty()}, _SENT),
    "PUT /v2/quickinvoices/{id}/addTransaction": _invoiced("Add a transaction to a quick invoice"),
    "PUT /v2/quickinvoices/{id}/removeTransaction": _invoiced("Remove a transaction from a quick invoice"),
    "POST /v2/quickinvoices/{id}/files": ActionDescription(
        "Attach a file to a quick invoice",
        _one("file", "File", 201),
        body=make_form({"file[file]": FILE}, "file[file]"),
        description=f"An invoice has at most {MOST_FILES} files, of at most {LARGEST_FILE} bytes.",
    ),
    "DELETE /v2/quickinvoices/{id}/files/{file_id}": ActionDescription(
        "Delete a file of a quick invoice", {"204": empty()}
    ),
    "POST /v2/paylinks/{id}/resend": ActionDescription("Resend a paylink", {"204": empty()}),
    "POST /v2/recurrings/{id}/skipPayment": ActionDescription(
        "Skip payments of a recurring", _record(RECURRING), [in_query("skip_count", _COUNT, required=True)]
    ),
    "POST /v2/recurrings/{id}/deferPayment": ActionDescription(
        "Defer payments of a recurring", _record(RECURRING), [in_query("defer_count", _COUNT, required=True)]
    ),
    "GET /v2/locationinfos": ActionDescription(
        "List location infos",
        {"200": as_json(describe_page("locationinfos", "LocationInfo"), "A page of the list.")},
        [*describe_list(INFOS, as_file=False), *_OF_INFOS],
    ),
    "GET /v2/users/me": ActionDescription("Get the caller", _record(USER)),
    "POST /v2/routertransactions": _at_terminal("Create a router transaction", ROUTER_TRANSACTION, "routertransaction"),
    "POST /v2/routeraccountvaults": _at_terminal("Create a router account vault", ROUTER_ACCOUNT_VAULT, "accountvault"),
    "GET /v2/payform": _hosted_form("Show the payment form"),
    "GET /v2/accountform": _hosted_form("Show the account form"),
}


def describe_paths() -> dict[str, Schema]:
    """Describe the path items of the gateway's own endpoints."""
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
    names = describe_record_query(BY_PLURAL[segment]) if "/{id}" in path else []
    described = {
        "tags": [family(path)],
        "operationId": operation_id(operation.summary),
        "summary": operation.summary,
        "parameters": [*describe_path_id(path), *describe_expand(segment), *operation.query, *names],
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
    """The names of an operation's query parameters, without credentials."""
    return frozenset(each["name"] for each in _describe(method, path)["parameters"] if each["in"] == "query")


def family(path: str) -> str:
    """The name under which an operation is listed."""
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
    responses = {"200": as_json(describe_page(table.plural, schema_name(table.plural)), "A page of the list.")}
    responses["200"]["content"] |= dict.fromkeys(("text/csv", "text/tab-separated-values"), _AS_FILE)
    return ActionDescription(f"List {plural_name(table.plural)}", responses, describe_list(table))


def _create(table: Table) -> ActionDescription:
    body = _as_body(wrap(table.singular, refer(f"{schema_name(table.plural)}Create")))
    if table is QUICK_INVOICE:
        body |= describe_form(table)
    responses = _record(table, 201)
    if "update_if_exists" in table.by_name:
        responses |= _record(table)
    return ActionDescription(f"Create {with_article(table.plural)}", responses, [], body)


def _get(table: Table) -> ActionDescription:
    return ActionDescription(f"Get {with_article(table.plural)}", _record(table))


def _update(table: Table) -> ActionDescription:
    body = _as_body(wrap(table.singular, refer(f"{schema_name(table.plural)}Update")))
    return ActionDescription(f"Update {with_article(table.plural)}", _record(table), body=body)


def _delete(table: Table) -> ActionDescription:
    return ActionDescription(f"Delete {with_article(table.plural)}", {"204": empty()})


_STANDARD = {("GET", 0): _list, ("POST", 0): _create, ("GET", 1): _get, ("PUT", 1): _update, ("DELETE", 1): _delete}
"""The operations on records, by method and number of ids in the path."""
