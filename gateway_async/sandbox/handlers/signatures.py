"""Signatures (contract, "Signatures"): pictures of what a customer signed a record with."""

from starlette.responses import Response

from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import make_get, make_list, read_new, show_record
from gateway_async.sandbox.schema import ACCOUNT_VAULT, RECURRING, SIGNATURE, TRANSACTION
from gateway_async.sandbox.schema.fields import Row

__all__ = ["create", "get", "get_list"]


_SIGNED = {"AccountVault": ACCOUNT_VAULT, "Transaction": TRANSACTION, "Recurring": RECURRING}
"""The records that requests sign, by `resource`. Terminals also sign device terms."""


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/signatures."""
    values, problems = await read_new(context, SIGNATURE)
    _check_resource(context, values, problems)
    problems.raise_if_any()
    row = context.gateway.create(SIGNATURE, context.user, values)
    return json_response({"signature": show_record(context, SIGNATURE, row)}, 201)


def _check_resource(context: RequestContext, values: Row, problems: Problems) -> None:
    if "resource" in problems or "resource_id" in problems:
        return
    if (table := _SIGNED.get(values["resource"])) is None:
        problems.add("resource", f"Resource must be one of {', '.join(_SIGNED)}.")
        return
    found = context.gateway.store.find(table, id=values["resource_id"], location_id=context.user["location_id"])
    if found is None or found["deleted_ts"] is not None:
        problems.add("resource_id", "resource_id provided is not valid")


get = make_get(SIGNATURE)
get_list = make_list(SIGNATURE)
