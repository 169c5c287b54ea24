"""Notes about contacts, and signatures: pictures of what a customer signed a record with."""

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.standard_handlers import make_create
from gateway_async.sandbox.schema import ACCOUNT_VAULT, NOTE, RECURRING, SIGNATURE, TRANSACTION
from gateway_async.sandbox.schema.fields import Row

_SIGNED = {"AccountVault": ACCOUNT_VAULT, "Transaction": TRANSACTION, "Recurring": RECURRING}
"""The records that requests sign, by `resource`. Terminals also sign device terms."""


def _check_note(_context: RequestContext, _row: Row, values: Row, problems: Problems) -> None:
    if values.get("resource") not in {None, "Contact"}:
        problems.add("resource", "Resource must be Contact.")


def _check_signature(context: RequestContext, _row: Row, values: Row, problems: Problems) -> None:
    if "resource" in problems or "resource_id" in problems:
        return
    if (table := _SIGNED.get(values["resource"])) is None:
        problems.add("resource", f"Resource must be one of {', '.join(_SIGNED)}.")
        return
    where = {"id": values["resource_id"], "location_id": context.user["location_id"]}
    if context.gateway.store.find_alive(table, **where) is None:
        problems.add_invalid("resource_id")


create_note = make_create(NOTE, _check_note)
create_signature = make_create(SIGNATURE, _check_signature)
