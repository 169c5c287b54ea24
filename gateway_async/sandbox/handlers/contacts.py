"""Contacts: customers and their addresses."""

from starlette.responses import Response

from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import respond, update_record
from gateway_async.sandbox.request.standard_handlers import make_update
from gateway_async.sandbox.request.validation import check_references, read_fields
from gateway_async.sandbox.schema import CONTACT
from gateway_async.sandbox.schema.fields import Row


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/contacts; with `update_if_exists` it may update a contact."""
    body = await context.read_record("contact")
    problems = Problems()
    values = read_fields(context, CONTACT, body, problems)
    _read_header_type(context, {}, values, problems)
    if values.get("update_if_exists") and not values.get("contact_api_id") and "contact_api_id" not in problems:
        problems.add("contact_api_id", "Contact Api Id cannot be blank when Update If Exists is 1.")
    known = _find_existing(context, values)
    check_references(context, CONTACT, values, problems, current=known)
    problems.raise_if_any()
    if known:
        return respond(context, CONTACT, update_record(context, CONTACT, known, values))
    return respond(context, CONTACT, context.gateway.create(CONTACT, context.user, values), 201)


def _read_header_type(_context: RequestContext, _row: Row, values: Row, problems: Problems) -> None:
    if "header_message_type" not in values:
        return
    spelled = values["header_message_type"]
    if values.setdefault("header_message_type_id", spelled) != spelled:
        problems.add("header_message_type", "Header Message Type and Header Message Type Id differ.")


def _find_existing(context: RequestContext, values: Row) -> Row | None:
    api_id = values.get("contact_api_id")
    if not values.get("update_if_exists") or api_id is None:
        return None
    return context.gateway.store.find_alive(CONTACT, location_id=context.user["location_id"], contact_api_id=api_id)


update = make_update(CONTACT, _read_header_type)
