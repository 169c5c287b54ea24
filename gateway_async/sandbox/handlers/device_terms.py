"""Device terms (contract, "Device terms"): terms that a terminal shows until the customer answers.

A caller that disconnects does not stop the terminal. Declined terms are stored too, and their integrator id can be used
again. Terms without an answer in time are not stored.
"""

import json

from starlette.responses import Response

from gateway_async.sandbox.handlers.router import read_sender
from gateway_async.sandbox.http.errors import Problems, RefusedFieldsError
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import make_get, make_list, show_record
from gateway_async.sandbox.request.validation import check_references, read_fields
from gateway_async.sandbox.schema import DEVICE_TERM, SIGNATURE, TERMINAL
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.terminals import Prompt

__all__ = ["create", "get", "get_list"]


_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
"""The signature of every customer: a picture of one pixel."""


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/deviceterms."""
    gateway, user = context.gateway, context.user
    values, declined, problems = await _read(context)
    terminal = gateway.store.find(TERMINAL, id=values.get("terminal_id"))
    if terminal and values.get("require_signature") and not terminal["sig_capture_enable"]:
        problems.add("terminal_id", "Device is not signature capable")
    terminal = problems.require(terminal)
    with gateway.reserve(DEVICE_TERM, user, values):
        sender = read_sender(context, values.get("device_terms_api_id"))
        script = await gateway.terminals.process(terminal["id"], "deviceterm", None, sender, prompt=_prompt(terminal))
        if script.text and script.reason_code != ReasonCode.DENIED:
            raise RefusedFieldsError({"terminal_id": [script.text]})
        values["reason_code_id"] = script.reason_code if script.text else ReasonCode.APPROVED
        row = _store(context, declined, values)
    return json_response({"deviceterm": show_record(context, DEVICE_TERM, row)}, 201)


async def _read(context: RequestContext) -> tuple[Row, Row | None, Problems]:
    """Return the fields, declined terms with their integrator id, and the problems."""
    gateway, problems = context.gateway, Problems()
    body = await context.read_record(DEVICE_TERM.singular)
    values = read_fields(DEVICE_TERM, body, problems, strict=gateway.strict)
    declined = _find_declined(context, values.get("device_terms_api_id"))
    check_references(gateway, context.user, DEVICE_TERM, values, problems, current=declined)
    return values, declined, problems


def _find_declined(context: RequestContext, api_id: str | None) -> Row | None:
    if not api_id:
        return None
    where = {"location_id": context.user["location_id"], "reason_code_id": ReasonCode.DENIED}
    return context.gateway.store.find(DEVICE_TERM, device_terms_api_id=api_id, **where)


def _prompt(terminal: Row) -> Prompt:
    seconds = json.loads(terminal["terminal_timeouts"])["device_terms_prompt_timeout"]
    return Prompt(seconds, "Timeout waiting for Customer")


def _store(context: RequestContext, declined: Row | None, values: Row) -> Row:
    """Store terms in place of declined ones, with their signature."""
    store = context.gateway.store
    with store.transaction():
        if declined is None:
            row = context.gateway.create(DEVICE_TERM, context.user, values)
        else:
            row = declined | {name: value for name, value in values.items() if name in declined}
            store.update(DEVICE_TERM, row["id"], row)
        if row["require_signature"] and row["reason_code_id"] == ReasonCode.APPROVED:
            signed = {"resource": "DeviceTerm", "resource_id": row["id"], "signature": _PICTURE}
            context.gateway.create(SIGNATURE, context.user, signed)
    return row


get = make_get(DEVICE_TERM)
get_list = make_list(DEVICE_TERM)
