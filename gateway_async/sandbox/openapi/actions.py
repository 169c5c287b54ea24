"""The operations that are not plain creations, reads, changes, deletions or lists of records."""

import attrs

from gateway_async.sandbox.handlers.invoice_files import LARGEST_FILE, MOST_FILES
from gateway_async.sandbox.handlers.locations import INFOS
from gateway_async.sandbox.openapi.forms import FILE, make_form
from gateway_async.sandbox.openapi.names import schema_name
from gateway_async.sandbox.openapi.parameters import describe_list, describe_record_query, in_query
from gateway_async.sandbox.openapi.records import close, describe_body, refer, wrap
from gateway_async.sandbox.openapi.responses import as_json, describe_page, empty
from gateway_async.sandbox.openapi.values import FLAG_SCHEMA, Schema
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    ACH_UPDATE,
    INVOICED_TRANSACTION,
    PAYLINK,
    QUICK_INVOICE,
    RECURRING,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    STORED,
    TRANSACTION,
    USER,
)
from gateway_async.sandbox.schema.fields import Table

__all__ = ["ACTIONS", "ActionDescription", "as_body"]


@attrs.frozen
class ActionDescription:
    """One operation: a method of a path.

    Attributes:
        summary: A few words in the imperative.
        responses: The responses by status, without the errors.
        query: The parameters of the query, besides `expand`.
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


_TEXT: Schema = {"type": "string"}
_OPTIONAL_TEXT: Schema = {"type": ["string", "null"]}
_INTEGER: Schema = {"type": "integer"}
_BIN_INFO = wrap("bininfo", {"type": "object", "additionalProperties": _OPTIONAL_TEXT})
_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": 999}
_LOGIN: Schema = {
    "type": "object",
    "required": ["username", "password", "domain"],
    "properties": {name: {"type": "string", "minLength": 1} for name in ("username", "password", "domain")},
}
_TOKEN = close(
    {
        "id": _TEXT,
        "expire": _INTEGER | {"description": "Minutes without a request after which the token expires."},
        "first_name": _OPTIONAL_TEXT,
        "last_name": _OPTIONAL_TEXT,
        "password_expire_ts": _INTEGER,
        "time": _INTEGER,
        "token": _TEXT,
        "username": _TEXT,
        "primary_location_id": _TEXT,
        "timezone": _OPTIONAL_TEXT,
        "user_type_id": _INTEGER,
    }
)
_HTML: Schema = {"description": "The form.", "content": {"text/html": {"schema": _TEXT}}}


def _one(name: str, schema: str, status: int = 200) -> dict[str, Schema]:
    return {str(status): as_json(wrap(name, refer(schema)), "The record.")}


def _action(summary: str, table: Table, *query: Schema) -> ActionDescription:
    """Return a POST without a body that responds with the record."""
    responses = _one(table.singular, schema_name(table.plural))
    return ActionDescription(summary, responses, [*query, *describe_record_query(table)])


def _resend(summary: str, table: Table, *query: Schema) -> ActionDescription:
    return ActionDescription(summary, {"204": empty()}, [*query, *describe_record_query(table)])


def _bin_info(summary: str, table: Table) -> ActionDescription:
    return ActionDescription(
        summary, {"200": as_json(_BIN_INFO, "The data of the issuer.")}, describe_record_query(table)
    )


def _invoiced(summary: str) -> ActionDescription:
    body = as_body(wrap("quickinvoice", describe_body(INVOICED_TRANSACTION, "POST")))
    responses = _one("quickinvoice", "QuickInvoiceWithTransactions")
    return ActionDescription(summary, responses, describe_record_query(QUICK_INVOICE), body)


def _at_terminal(summary: str, table: Table, response: str) -> ActionDescription:
    body = as_body(wrap(table.singular, refer(f"{schema_name(table.plural)}Create")))
    responses = _one(response, schema_name(table.plural), 201)
    return ActionDescription(summary, responses, [], body, "The request stays open until the terminal has finished.")


def _hosted_form(summary: str) -> ActionDescription:
    data = in_query("data", _TEXT, "The fields, as hex of JSON.", required=True)
    return ActionDescription(summary, {"200": _HTML}, [data])


def as_body(schema: Schema) -> dict[str, Schema]:
    """Return a body in JSON."""
    return {"application/json": {"schema": schema}}


_SENT = tuple(in_query(name, FLAG_SCHEMA, "0 leaves it out.") for name in ("email", "sms"))
_OF_INFOS = [
    in_query("relationship", {"enum": ["direct", "child", "all"]}, "The own location, those below it, or all."),
    in_query("product_transaction_active", FLAG_SCHEMA, "Whether to show active or other merchant accounts."),
]

ACTIONS: dict[str, ActionDescription] = {
    f"POST /v2/{table.plural}/{{id}}/{name}": _action(summary, table)
    for table in STORED
    for name, summary in table.actions.items()
}
"""The operations by method and path. The data files have those without a body; the others follow."""

ACTIONS |= {
    "GET /v2/accountvaults/{id}/bininfo": _bin_info("Get the BIN info of an account vault", ACCOUNT_VAULT),
    "GET /v2/transactions/{id}/bininfo": _bin_info("Get the BIN info of a transaction", TRANSACTION),
    "POST /v2/transactions/{id}/achupdate": ActionDescription(
        "Correct a bank payment",
        _one("transaction", "Transaction"),
        describe_record_query(TRANSACTION),
        as_body(wrap("transaction", describe_body(ACH_UPDATE, "POST"))),
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
        describe_record_query(USER),
    ),
    "GET /hostedpaymentpage": ActionDescription(
        "Show a hosted payment page",
        {"200": _HTML},
        [in_query("id", _TEXT, required=True), in_query("data", _TEXT, "The settings, as base64 of encrypted JSON.")],
        errors=(404,),
    ),
    "POST /v2/token": ActionDescription(
        "Create a token", {"201": as_json(wrap("token", _TOKEN), "The token.")}, body=as_body(_LOGIN)
    ),
    "DELETE /v2/token/{token}": ActionDescription("Delete a token", {"204": empty()}),
    "POST /v2/quickinvoices/{id}/resend": _resend("Resend a quick invoice", QUICK_INVOICE, *_SENT),
    "PUT /v2/quickinvoices/{id}/addTransaction": _invoiced("Add a transaction to a quick invoice"),
    "PUT /v2/quickinvoices/{id}/removeTransaction": _invoiced("Remove a transaction from a quick invoice"),
    "POST /v2/quickinvoices/{id}/files": ActionDescription(
        "Attach a file to a quick invoice",
        _one("file", "File", 201),
        describe_record_query(QUICK_INVOICE),
        make_form({"file[file]": FILE}, "file[file]"),
        f"An invoice has at most {MOST_FILES} files, of at most {LARGEST_FILE} bytes.",
    ),
    "DELETE /v2/quickinvoices/{id}/files/{file_id}": ActionDescription(
        "Delete a file of a quick invoice", {"204": empty()}, describe_record_query(QUICK_INVOICE)
    ),
    "POST /v2/paylinks/{id}/resend": _resend("Resend a paylink", PAYLINK),
    "POST /v2/recurrings/{id}/skipPayment": _action(
        "Skip payments of a recurring", RECURRING, in_query("skip_count", _COUNT, required=True)
    ),
    "POST /v2/recurrings/{id}/deferPayment": _action(
        "Defer payments of a recurring", RECURRING, in_query("defer_count", _COUNT, required=True)
    ),
    "GET /v2/locationinfos": ActionDescription(
        "List location infos",
        {"200": as_json(describe_page("locationinfos", "LocationInfo"), "A page of the list.")},
        [*describe_list(INFOS, as_file=False), *_OF_INFOS],
    ),
    "GET /v2/users/me": ActionDescription("Get the caller", _one("user", "User")),
    "POST /v2/routertransactions": _at_terminal("Create a router transaction", ROUTER_TRANSACTION, "routertransaction"),
    "POST /v2/routeraccountvaults": _at_terminal("Create a router account vault", ROUTER_ACCOUNT_VAULT, "accountvault"),
    "GET /v2/payform": _hosted_form("Show the payment form"),
    "GET /v2/accountform": _hosted_form("Show the account form"),
}
