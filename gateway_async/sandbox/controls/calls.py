"""The controls as calls over HTTP, under `/_sandbox`, for people and tests.

They need no credentials. Errors have these statuses:

- 400: the body is not JSON or has unknown fields
- 404: the terminal or record is unknown
- 409: no call waits at the terminal
- 422: the values are invalid
"""

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from inspect import Parameter, getdoc, isawaitable, signature
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

import attrs
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway_async.sandbox.controls import payments, simulators
from gateway_async.sandbox.handlers.payment_pages import AmountInput
from gateway_async.sandbox.handlers.quick_invoices import read_file
from gateway_async.sandbox.http.responses import RefusedError, UnknownRecordError, empty_response, json_response
from gateway_async.sandbox.request.context import read_body
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import PostbackFormat
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import TEST_CARDS
from gateway_async.sandbox.simulators.faults import PlannedFault, make_plans
from gateway_async.sandbox.simulators.terminals import NothingWaitsError


def _fields_type(function: Callable[..., Any], skipped: int) -> Any:
    """Return the type of an object with a function's parameters."""
    parameters = [*signature(function).parameters.values()][skipped:]
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return dict[str, Any]
    kinds = {each.name: _JSON_TYPES.get(each.annotation, each.annotation) for each in parameters}
    required = [(each.name, kinds[each.name]) for each in parameters if each.default is each.empty]
    optional = [(each.name, kinds[each.name], each.default) for each in parameters if each.default is not each.empty]
    return msgspec.defstruct("Fields", [*required, *optional], forbid_unknown_fields=True)


_JSON_TYPES: dict[Any, Any] = {AmountInput | None: Decimal | None}
"""Types of arguments, and of their values in JSON."""


@attrs.frozen
class ControlCall:
    """One control call: a method of a path.

    Attributes:
        run: Takes the gateway, the id in the path, if any, and as further parameters the fields of the body, or of
            the query of a GET. Returns the JSON body of the response, None for a 204, or a whole response; may be
            async.
        examples: Bodies that it accepts.
        shows: Takes the gateway and the id in the path, and returns the body of the response; None if `run` does.
        status_code: The status of a response with a JSON body.
        key: The name of the result in the JSON body; None if the result is the body.
        fields_type: The type of the body or query.
    """

    method: str
    path: str
    run: Callable[..., Any]
    examples: Sequence[Row] = ()
    shows: Callable[..., Any] | None = None
    status_code: int = 200
    key: str | None = None
    fields_type: Any = attrs.field(init=False)

    @fields_type.default
    def _read_signature(self) -> Any:
        return _fields_type(self.run, 1 + self.path.count("{"))

    @property
    def summary(self) -> str:
        """A sentence about the call, without its period."""
        return str(getdoc(self.run)).partition("\n")[0].removesuffix(".")

    @property
    def description(self) -> str:
        """A sentence about the call, with examples of its body or the names of its query."""
        if self.examples:
            return f"{self.summary}: {' or '.join(map(json.dumps, self.examples))}."
        names = self.fields_type.__struct_fields__ if self.method == "GET" else ()
        return f"{self.summary}; also {' or '.join(f'?{name}=…' for name in names)}." if names else f"{self.summary}."

    @property
    def body_types(self) -> tuple[Any, ...]:
        """The types of objects that the body or query can be."""
        return (_PLAN_FIELDS, _SCENARIO_FIELDS) if self.fields_type == dict[str, Any] else (self.fields_type,)


_PLAN_FIELDS = _fields_type(PlannedFault, 0)
_SCENARIO_FIELDS = msgspec.defstruct("Fields", [("scenario", str)], forbid_unknown_fields=True)


def _show_index(_gateway: Gateway) -> Row:
    """Return the control calls."""
    return {f"{call.method} {call.path}": call.description for call in _CALLS}


def _move_clock(gateway: Gateway, advance: float | None = None, now: float | None = None) -> None:
    """Move the clock, or set it."""
    if advance is not None and now is None:
        simulators.advance(gateway, advance)
    elif now is not None and advance is None:
        simulators.set_clock(gateway, now)
    else:
        raise RefusedError(400, "The body must have exactly one of advance and now, in seconds.")


async def _plan_faults(gateway: Gateway, /, **fields: Any) -> Row:
    """Plan a fault, or the faults of a scenario."""
    if "scenario" in fields:
        plans = make_plans(_convert(fields, _SCENARIO_FIELDS)["scenario"])
        await simulators.add_plans(gateway, plans)
        return {"faults": [plan.describe() for plan in plans]}
    plan = PlannedFault(**_convert(fields, _PLAN_FIELDS))
    await simulators.add_plans(gateway, [plan])
    return plan.describe()


def _convert(content: Row, fields_type: Any) -> Row:
    try:
        return msgspec.structs.asdict(msgspec.convert(content, fields_type))
    except msgspec.ValidationError as problem:
        raise RefusedError(400, str(problem)) from None


def _add_terminal(gateway: Gateway, title: str = "Terminal", sig_capture_enable: bool = True) -> Row:
    """Add a terminal."""
    return {"id": simulators.add_terminal(gateway, title, sig_capture_enable=sig_capture_enable), "title": title}


def _set_postback_format(gateway: Gateway, format: PostbackFormat) -> None:  # noqa: A002  # so in the call
    """Write the bodies of later postbacks as JSON or as a form."""
    simulators.set_postback_format(gateway, format)


_FILE_HEADERS = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
"""Let a browser save a file, and never open it as a page of the sandbox."""


def _send_file(gateway: Gateway, file_id: str) -> Response:
    """Return the content of a file, as the page of its invoice does."""
    content, content_type = read_file(gateway, file_id)
    return Response(content, headers={"content-type": content_type} | _FILE_HEADERS)


_VISA = TEST_CARDS["visa"]
_AT_TERMINAL = [{"card": _VISA, "entry_mode": "C"}]
_FAULTS = [
    {"operation": "POST /v2/transactions", "fault": "close_after_commit"},
    {"scenario": "response lost after approval"},
]

_CALLS = (
    ControlCall("GET", "/_sandbox", _show_index, key="calls"),
    ControlCall("GET", "/_sandbox/clock", simulators.now, key="now"),
    ControlCall(
        "POST", "/_sandbox/clock", _move_clock, [{"advance": 86400}, {"now": 1893456000}], simulators.now, key="now"
    ),
    ControlCall("GET", "/_sandbox/faults", simulators.faults, key="faults"),
    ControlCall("POST", "/_sandbox/faults", _plan_faults, _FAULTS, status_code=201),
    ControlCall("DELETE", "/_sandbox/faults", simulators.clear_faults),
    ControlCall("GET", "/_sandbox/terminals", simulators.terminals, key="terminals"),
    ControlCall(
        "POST", "/_sandbox/terminals", _add_terminal, [{"title": "Bar", "sig_capture_enable": True}], status_code=201
    ),
    ControlCall("GET", "/_sandbox/terminals/{id}", simulators.terminal),
    ControlCall("POST", "/_sandbox/terminals/{id}/present", simulators.present, _AT_TERMINAL, simulators.terminal),
    ControlCall("POST", "/_sandbox/terminals/{id}/decline", simulators.decline, _AT_TERMINAL, simulators.terminal),
    ControlCall(
        "POST", "/_sandbox/terminals/{id}/reject_pin", simulators.reject_pin, _AT_TERMINAL, simulators.terminal
    ),
    ControlCall("POST", "/_sandbox/terminals/{id}/accept", simulators.accept_terms, shows=simulators.terminal),
    ControlCall("POST", "/_sandbox/terminals/{id}/cancel", simulators.cancel, shows=simulators.terminal),
    ControlCall("POST", "/_sandbox/terminals/{id}/silence", simulators.silence, shows=simulators.terminal),
    ControlCall(
        "POST",
        "/_sandbox/tickets",
        payments.ticket,
        [{"card": _VISA, "exp_date": "1230"}],
        status_code=201,
        key="ticket",
    ),
    ControlCall(
        "POST", "/_sandbox/quickinvoices/{id}/pay", payments.pay_quick_invoice, [{"amount": "10.00", "card": _VISA}]
    ),
    ControlCall("GET", "/_sandbox/files/{id}", _send_file),
    ControlCall("POST", "/_sandbox/paylinks/{id}/pay", payments.pay_paylink, [{"amount": "21.00", "card": _VISA}]),
    ControlCall("POST", "/_sandbox/transactionbatches/{id}", payments.process_batch, [{"processing_status_id": 5}]),
    ControlCall("POST", "/_sandbox/transactions/{id}/batch", payments.isolate_payment, [{"settle": True}]),
    ControlCall("POST", "/_sandbox/transactions/{id}/return", payments.return_payment, [{"code": "R01"}]),
    ControlCall(
        "POST", "/_sandbox/accountvaults/{id}/update_card", payments.update_card, [{"card": _VISA, "exp_date": "1232"}]
    ),
    ControlCall("POST", "/_sandbox/producttransactions/{id}", payments.change_product, [{"auto_decline_cvv": True}]),
    ControlCall("GET", "/_sandbox/outbox", payments.outbox, key="outbox"),
    ControlCall("GET", "/_sandbox/postbacks", simulators.postbacks, key="postbacks"),
    ControlCall("GET", "/_sandbox/postbacks/format", simulators.postback_format, key="format"),
    ControlCall(
        "POST",
        "/_sandbox/postbacks/format",
        _set_postback_format,
        [{"format": "form"}],
        simulators.postback_format,
        key="format",
    ),
    ControlCall("POST", "/_sandbox/postbacks/{id}/replay", simulators.replay_postback),
    ControlCall("GET", "/_sandbox/ledger", payments.ledger),
    ControlCall("POST", "/_sandbox/reset", simulators.reset),
)

CONTROL_CALLS: dict[str, dict[str, ControlCall]] = {
    path: {each.method: each for each in calls} for path, calls in groupby(_CALLS, attrgetter("path"))
}
"""Every control call, by path and method."""


async def _read(request: Request, fields_type: Any) -> dict[str, Any]:
    """Read the arguments of a call from its body or query."""
    names = getattr(fields_type, "__struct_fields__", None)
    if names == ():
        return {}  # any body is ignored
    if names and request.method in {"GET", "HEAD"}:
        return {name: request.query_params[name] for name in names if name in request.query_params}
    try:
        content = msgspec.json.decode(await read_body(request) or b"{}", type=fields_type)
    except msgspec.DecodeError as problem:
        raise RefusedError(400, str(problem)) from None
    except RecursionError:
        raise RefusedError(400, "The body is nested too deeply.") from None
    return content if isinstance(content, dict) else msgspec.structs.asdict(content)


def _endpoint(calls: dict[str, ControlCall]) -> Any:
    async def run(request: Request) -> Response:
        call = calls["GET" if request.method == "HEAD" else request.method]
        gateway, ids = cast("Gateway", request.app.state.gateway), request.path_params.values()
        try:
            result = call.run(gateway, *ids, **await _read(request, call.fields_type))
            result = await result if isawaitable(result) else result
            if call.shows:
                result = call.shows(gateway, *ids)
        except UnknownRecordError as problem:
            raise RefusedError(404, str(problem)) from None
        except NothingWaitsError as problem:
            raise RefusedError(409, str(problem)) from None
        except ValueError as problem:
            raise RefusedError(422, str(problem)) from None
        if isinstance(result, Response):
            return result
        if call.key:
            result = {call.key: result}
        return empty_response() if result is None else json_response(result, call.status_code)

    return run


CONTROL_ROUTES = [Route(path, _endpoint(calls), methods=[*calls]) for path, calls in CONTROL_CALLS.items()]
