"""The control calls under `/_sandbox/`, for people and tests.

They need no credentials. Errors have these statuses:

- 400: the body is not JSON or has unknown fields
- 404: the terminal or record is unknown
- 409: no call waits at the terminal
- 422: the values are invalid
"""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from inspect import Parameter, isawaitable, signature
from typing import Any, cast

import attrs
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway_async.sandbox.admin import actions
from gateway_async.sandbox.admin.product_settings import change_product
from gateway_async.sandbox.handlers.invoice_files import read_file
from gateway_async.sandbox.http.errors import RefusedError, UnknownRecordError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.notifications import outbox
from gateway_async.sandbox.postbacks import delivery_log
from gateway_async.sandbox.request.context import read_body
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import PostbackFormat
from gateway_async.sandbox.schema import PAYLINK, QUICK_INVOICE
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators.cards import TEST_CARDS, EntryMode
from gateway_async.sandbox.simulators.faults import PlannedFault
from gateway_async.sandbox.simulators.terminals import NothingWaitsError, TerminalSimulator

__all__ = ["CONTROL_CALLS", "CONTROL_ROUTES", "ControlCall", "body_types"]


@attrs.frozen
class ControlCall:
    """One control call.

    Attributes:
        description: A sentence that says what the call does.
        run: Takes the gateway, the id in the path, if any, and as further parameters the fields of the body, or of
            the query of a GET. Returns the JSON body of the response, None for a 204, or a whole response; may be
            async.
        status_code: The status of a response with a JSON body.
        key: The name of the result in the JSON body; None if the result is the body.
    """

    description: str
    run: Callable[..., Any]
    status_code: int = 200
    key: str | None = None


def body_types(path: str, call: ControlCall) -> tuple[Any, ...]:
    """Return the types of a control call's body or query."""
    accepted = _fields_type(call.run, 1 + path.count("{"))
    return (_PLAN_FIELDS, _SCENARIO_FIELDS) if accepted == dict[str, Any] else (accepted,)


def _fields_type(function: Callable[..., Any], skipped: int) -> Any:
    """Return the type of an object with a function's parameters."""
    parameters = [*signature(function).parameters.values()][skipped:]
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return dict[str, Any]
    required = [(each.name, each.annotation) for each in parameters if each.default is each.empty]
    optional = [(each.name, each.annotation, each.default) for each in parameters if each.default is not each.empty]
    return msgspec.defstruct("Fields", [*required, *optional], forbid_unknown_fields=True)


def _convert(content: Row, fields_type: Any) -> Row:
    try:
        return msgspec.structs.asdict(msgspec.convert(content, fields_type))
    except msgspec.ValidationError as problem:
        raise RefusedError(400, str(problem)) from None


def _show_format(gateway: Gateway) -> PostbackFormat:
    return gateway.postback_delivery.postback_format


def _show_clock(gateway: Gateway) -> float:
    return gateway.clock.now()


def _move_clock(gateway: Gateway, advance: float | None = None, now: float | None = None) -> float:
    if advance is not None and now is None:
        gateway.clock.advance(advance)
    elif now is not None and advance is None:
        gateway.clock.set(now)
    else:
        raise RefusedError(400, "The body must have exactly one of advance and now, in seconds.")
    return gateway.clock.now()


async def _add_fault(gateway: Gateway, /, **fields: Any) -> Row:
    if "scenario" in fields:
        return {"faults": await actions.add_scenario(gateway, **_convert(fields, _SCENARIO_FIELDS))}
    plan = PlannedFault(**_convert(fields, _PLAN_FIELDS))
    await actions.add_fault(gateway, plan)
    return plan.describe()


def _operate(act: Callable[[TerminalSimulator, str], None]) -> Callable[[Gateway, str], Row]:
    def run(gateway: Gateway, terminal_id: str) -> Row:
        return actions.operate_terminal(gateway, terminal_id, act)

    return run


def _use_card(act: Callable[[TerminalSimulator, str, str, EntryMode], None]) -> Callable[..., Row]:
    def run(gateway: Gateway, terminal_id: str, card: str = TEST_CARDS["visa"], entry_mode: EntryMode = "C") -> Row:
        return actions.use_card(gateway, terminal_id, act, card, entry_mode)

    return run


def _pay(table: Table) -> Callable[..., Awaitable[Row]]:
    def run(
        gateway: Gateway, bill_id: str, amount: Decimal | None = None, card: str = TEST_CARDS["visa"]
    ) -> Awaitable[Row]:
        return actions.pay(gateway, table, bill_id, card, amount)

    return run


_FILE_HEADERS = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
"""Let a browser save a file, and never open it as a page of the sandbox."""


def _show_file(gateway: Gateway, file_id: str) -> Response:
    content, content_type = read_file(gateway, file_id)
    return Response(content, headers={"content-type": content_type} | _FILE_HEADERS)


def _show_index(_gateway: Gateway) -> Row:
    return {
        f"{method} {path}": call.description for path, calls in CONTROL_CALLS.items() for method, call in calls.items()
    }


CONTROL_CALLS: dict[str, dict[str, ControlCall]] = {
    "/_sandbox": {"GET": ControlCall("Shows the control calls.", _show_index, key="calls")},
    "/_sandbox/clock": {
        "GET": ControlCall("Shows the clock, in Unix seconds.", _show_clock, key="now"),
        "POST": ControlCall(
            'Moves the clock: {"advance": seconds}, or sets it: {"now": seconds}.', _move_clock, key="now"
        ),
    },
    "/_sandbox/faults": {
        "GET": ControlCall("Shows the planned faults.", actions.faults, key="faults"),
        "POST": ControlCall(
            'Plans a fault: {"operation": "POST /v2/transactions", "fault": "close_after_commit"}, or those of a '
            'scenario: {"scenario": "response lost after approval"}.',
            _add_fault,
            201,
        ),
        "DELETE": ControlCall("Removes every planned fault.", actions.clear_faults),
    },
    "/_sandbox/terminals": {
        "GET": ControlCall("Shows the terminals and the calls that wait at them.", actions.terminals, key="terminals"),
        "POST": ControlCall(
            'Adds a terminal: {"title": "Bar", "sig_capture_enable": true}.', actions.add_terminal, 201
        ),
    },
    "/_sandbox/terminals/{id}": {
        "GET": ControlCall("Shows one terminal and the calls that wait at it.", actions.terminal)
    },
    "/_sandbox/terminals/{id}/present": {
        "POST": ControlCall(
            'Presents a card: {"card": "4111111111111111", "entry_mode": "C"}.', _use_card(TerminalSimulator.present)
        )
    },
    "/_sandbox/terminals/{id}/decline": {
        "POST": ControlCall(
            'Declines the card, or the terms: {"card": "4111111111111111", "entry_mode": "C"}.',
            _use_card(TerminalSimulator.decline),
        )
    },
    "/_sandbox/terminals/{id}/reject_pin": {
        "POST": ControlCall(
            'Lets the issuer reject the PIN: {"card": "4111111111111111", "entry_mode": "C"}.',
            _use_card(TerminalSimulator.reject_pin),
        )
    },
    "/_sandbox/terminals/{id}/accept": {
        "POST": ControlCall("Lets the customer accept the terms that are shown.", _operate(TerminalSimulator.accept))
    },
    "/_sandbox/terminals/{id}/cancel": {
        "POST": ControlCall("Presses the cancel key.", _operate(TerminalSimulator.cancel))
    },
    "/_sandbox/terminals/{id}/silence": {
        "POST": ControlCall(
            "Stops the automatic actions of the terminal until the next manual action.",
            _operate(TerminalSimulator.silence),
        )
    },
    "/_sandbox/tickets": {
        "POST": ControlCall(
            'Creates a ticket: {"card": "4111111111111111", "exp_date": "1230"}.', actions.add_ticket, 201, "ticket"
        )
    },
    "/_sandbox/quickinvoices/{id}/pay": {
        "POST": ControlCall(
            'Pays an invoice on its page: {"amount": "10.00", "card": "4111111111111111"}.', _pay(QUICK_INVOICE)
        )
    },
    "/_sandbox/files/{id}": {
        "GET": ControlCall("Shows the content of a file, as the page of its invoice does.", _show_file)
    },
    "/_sandbox/paylinks/{id}/pay": {
        "POST": ControlCall(
            'Pays a paylink on its page: {"amount": "21.00", "card": "4111111111111111"}.', _pay(PAYLINK)
        )
    },
    "/_sandbox/transactionbatches/{id}": {
        "POST": ControlCall(
            'Changes the status of a batch as its processor does: {"processing_status_id": 5}.', actions.process_batch
        )
    },
    "/_sandbox/transactions/{id}/batch": {
        "POST": ControlCall(
            'Moves a payment out of its open batch, to one of its own: {"settle": true} settles that one too.',
            actions.isolate_payment,
        )
    },
    "/_sandbox/transactions/{id}/return": {
        "POST": ControlCall('Lets the bank return a bank payment: {"code": "R01"}.', actions.return_payment)
    },
    "/_sandbox/accountvaults/{id}/update_card": {
        "POST": ControlCall(
            'Lets the card updater change a stored card: {"card": "4111111111111111", "exp_date": "1232"}.',
            actions.update_card,
        )
    },
    "/_sandbox/producttransactions/{id}": {
        "POST": ControlCall('Changes settings of a merchant account: {"auto_decline_cvv": true}.', change_product)
    },
    "/_sandbox/outbox": {
        "GET": ControlCall(
            "Shows the messages to customers; also ?quick_invoice_id=… or ?paylink_id=….", outbox.read, key="outbox"
        )
    },
    "/_sandbox/postbacks": {
        "GET": ControlCall(
            "Shows the postbacks and their delivery attempts; also ?config_id=… or ?record_id=….",
            delivery_log.read,
            key="postbacks",
        )
    },
    "/_sandbox/postbacks/format": {
        "GET": ControlCall("Shows how the bodies of postbacks are written.", _show_format, key="format"),
        "POST": ControlCall(
            'Writes the bodies of later postbacks as JSON or as a form: {"format": "form"}.',
            actions.set_postback_format,
            key="format",
        ),
    },
    "/_sandbox/postbacks/{id}/replay": {"POST": ControlCall("Sends a postback again.", delivery_log.replay)},
    "/_sandbox/ledger": {
        "GET": ControlCall(
            "Shows how often each integrator id was charged, refunded or stored, and the records.", actions.ledger
        )
    },
    "/_sandbox/reset": {
        "POST": ControlCall("Cancels waiting calls, deletes records and faults, and resets the clock.", actions.reset)
    },
}
"""Every control call, by path and method."""


_PLAN_FIELDS = _fields_type(PlannedFault, 0)
_SCENARIO_FIELDS = _fields_type(actions.add_scenario, 1)


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


def _endpoint(path: str, calls: dict[str, ControlCall]) -> Any:
    fields_types = {method: _fields_type(call.run, 1 + path.count("{")) for method, call in calls.items()}

    async def run(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        call, gateway = calls[method], cast("Gateway", request.app.state.gateway)
        try:
            arguments = await _read(request, fields_types[method])
            result = call.run(gateway, *request.path_params.values(), **arguments)
            result = await result if isawaitable(result) else result
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


CONTROL_ROUTES = [Route(path, _endpoint(path, calls), methods=[*calls]) for path, calls in CONTROL_CALLS.items()]
