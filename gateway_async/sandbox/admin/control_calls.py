"""The control calls under `/_sandbox/`, for people and tests.

They need no credentials. Errors have these statuses:

- 400: the body is not JSON or has unknown fields
- 404: the terminal or record is unknown
- 409: no call waits at the terminal
- 422: the values are invalid
"""

from collections.abc import Callable
from decimal import Decimal
from inspect import isawaitable
from typing import Any, TypeVar, cast

import attrs
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway_async.sandbox.admin import actions, seed
from gateway_async.sandbox.handlers.invoice_files import read_file
from gateway_async.sandbox.http.errors import RefusedError, UnknownRecordError
from gateway_async.sandbox.http.responses import empty_response, json_response
from gateway_async.sandbox.notifications import outbox
from gateway_async.sandbox.postbacks import delivery_log
from gateway_async.sandbox.request.call import read_body
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import EntryMode
from gateway_async.sandbox.simulators.faults import Plan
from gateway_async.sandbox.simulators.terminals import NothingWaitsError, Terminals

__all__ = ["CONTROL_CALLS", "ROUTES", "ControlCall"]

_Body = TypeVar("_Body")


@attrs.frozen
class ControlCall:
    """One control call.

    Attributes:
        description: A sentence that says what the call does.
        run: Returns the JSON body of the response, None for a 204, or a whole response; may be async.
        status: The status of a response with a JSON body.
    """

    description: str
    run: Callable[[Gateway, Request], Any]
    status: int = 200


class ClockMove(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/clock: one of the two, in seconds."""

    advance: float | None = None
    now: float | None = None


class NewFault(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/faults for a single fault."""

    operation: str
    fault: str
    nth: int = 1
    times: int | None = None
    probability: float | None = None
    seed: int | None = None
    seconds: float = 1.0
    retry_after: float | None = 1.0


class NewScenario(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/faults for a scenario."""

    scenario: str


class NewTerminal(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/terminals."""

    title: str = "Terminal"


class PresentedCard(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/terminals/{id}/present."""

    card: str = "4111111111111111"
    entry_mode: EntryMode = "C"


class NewTicket(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/tickets."""

    card: str
    exp_date: str


class NewPayment(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/quickinvoices/{id}/pay and of POST /_sandbox/paylinks/{id}/pay."""

    amount: Decimal | None = None
    card: str = "4111111111111111"


class BatchStep(msgspec.Struct, forbid_unknown_fields=True):
    """The body of POST /_sandbox/transactionbatches/{id}."""

    processing_status_id: int


async def _read(request: Request, body: type[_Body]) -> _Body:
    try:
        return msgspec.json.decode(await read_body(request) or b"{}", type=body)
    except msgspec.DecodeError as problem:
        raise RefusedError(400, str(problem)) from None


def _convert(content: Any, body: type[_Body]) -> _Body:
    try:
        return msgspec.convert(content, body)
    except msgspec.ValidationError as problem:
        raise RefusedError(400, str(problem)) from None


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _query(request: Request, *names: str) -> dict[str, str | None]:
    return {name: request.query_params.get(name) for name in names}


async def _move_clock(gateway: Gateway, request: Request) -> Row:
    move = await _read(request, ClockMove)
    if move.advance is not None and move.now is None:
        gateway.clock.advance(move.advance)
    elif move.now is not None and move.advance is None:
        gateway.clock.set(move.now)
    else:
        raise RefusedError(400, "The body must have exactly one of advance and now, in seconds.")
    return {"now": gateway.clock.now()}


async def _add_fault(gateway: Gateway, request: Request) -> Row:
    new = await _read(request, dict[str, Any])
    if "scenario" in new:
        return {"faults": await actions.add_scenario(gateway, _convert(new, NewScenario).scenario)}
    plan = Plan(**msgspec.structs.asdict(_convert(new, NewFault)))
    await actions.add_fault(gateway, plan)
    return plan.describe()


async def _add_terminal(gateway: Gateway, request: Request) -> Row:
    new = await _read(request, NewTerminal)
    return {"id": seed.add_terminal(gateway, gateway.first_location, new.title), "title": new.title}


async def _present(gateway: Gateway, request: Request) -> Row:
    new = await _read(request, PresentedCard)
    return actions.present(gateway, _id(request), new.card, new.entry_mode)


def _operate(act: Callable[[Terminals, str], None]) -> Callable[[Gateway, Request], Row]:
    return lambda gateway, request: actions.operate_terminal(gateway, _id(request), act)


async def _add_ticket(gateway: Gateway, request: Request) -> Row:
    new = await _read(request, NewTicket)
    card = actions.read_test_card(new.card, new.exp_date)
    return {"ticket": seed.add_ticket(gateway, gateway.first_location, card)}


async def _pay_quick_invoice(gateway: Gateway, request: Request) -> Row:
    new = await _read(request, NewPayment)
    return await actions.pay_quick_invoice(gateway, _id(request), new.card, new.amount)


async def _pay_paylink(gateway: Gateway, request: Request) -> Row:
    new = await _read(request, NewPayment)
    return await actions.pay_paylink(gateway, _id(request), new.card, new.amount)


def _show_file(gateway: Gateway, request: Request) -> Response:
    content, content_type = read_file(gateway, _id(request))
    return Response(content, headers={"content-type": content_type})


async def _process_batch(gateway: Gateway, request: Request) -> Row:
    step = await _read(request, BatchStep)
    return actions.process_batch(gateway, _id(request), step.processing_status_id)


def _show_index(_gateway: Gateway, _request: Request) -> Row:
    return {
        "calls": {
            f"{method} {path}": call.description
            for path, calls in CONTROL_CALLS.items()
            for method, call in calls.items()
        }
    }


CONTROL_CALLS: dict[str, dict[str, ControlCall]] = {
    "/_sandbox": {"GET": ControlCall("Shows the control calls.", _show_index)},
    "/_sandbox/clock": {
        "GET": ControlCall("Shows the clock, in Unix seconds.", lambda gateway, _: {"now": gateway.clock.now()}),
        "POST": ControlCall('Moves the clock: {"advance": seconds}, or sets it: {"now": seconds}.', _move_clock),
    },
    "/_sandbox/faults": {
        "GET": ControlCall("Shows the planned faults.", lambda gateway, _: {"faults": actions.faults(gateway)}),
        "POST": ControlCall(
            'Plans one: {"operation": "POST /v2/transactions", "fault": "close_after_commit"}, or those of a '
            'scenario: {"scenario": "response lost after approval"}.',
            _add_fault,
            201,
        ),
        "DELETE": ControlCall("Removes every planned fault.", lambda gateway, _: actions.clear_faults(gateway)),
    },
    "/_sandbox/terminals": {
        "GET": ControlCall(
            "Shows the terminals and the calls that wait at them.",
            lambda gateway, _: {"terminals": actions.terminals(gateway)},
        ),
        "POST": ControlCall('Adds a terminal: {"title": "Bar"}.', _add_terminal, 201),
    },
    "/_sandbox/terminals/{id}": {
        "GET": ControlCall(
            "Shows one terminal and the calls that wait at it.",
            lambda gateway, request: actions.terminal(gateway, _id(request)),
        )
    },
    "/_sandbox/terminals/{id}/present": {
        "POST": ControlCall('Presents a card: {"card": "4111111111111111", "entry_mode": "C"}.', _present)
    },
    "/_sandbox/terminals/{id}/decline": {
        "POST": ControlCall("Lets the issuer decline the card.", _operate(Terminals.decline))
    },
    "/_sandbox/terminals/{id}/cancel": {"POST": ControlCall("Presses the cancel key.", _operate(Terminals.cancel))},
    "/_sandbox/terminals/{id}/silence": {
        "POST": ControlCall(
            "Stops the automatic actions of the terminal until the next manual action.", _operate(Terminals.silence)
        )
    },
    "/_sandbox/tickets": {
        "POST": ControlCall('Creates a ticket: {"card": "4111111111111111", "exp_date": "1230"}.', _add_ticket, 201)
    },
    "/_sandbox/quickinvoices/{id}/pay": {
        "POST": ControlCall(
            'Pays an invoice on its page: {"amount": "10.00", "card": "4111111111111111"}.', _pay_quick_invoice
        )
    },
    "/_sandbox/files/{id}": {
        "GET": ControlCall("Shows the content of a file, as the page of its invoice does.", _show_file)
    },
    "/_sandbox/paylinks/{id}/pay": {
        "POST": ControlCall(
            'Pays a paylink on its page: {"amount": "21.00", "card": "4111111111111111"}.', _pay_paylink
        )
    },
    "/_sandbox/transactionbatches/{id}": {
        "POST": ControlCall(
            'Changes the status of a batch as its processor does: {"processing_status_id": 5}.', _process_batch
        )
    },
    "/_sandbox/outbox": {
        "GET": ControlCall(
            "Shows the messages to customers; also ?quick_invoice_id=… or ?paylink_id=….",
            lambda gateway, request: {
                "outbox": outbox.read(gateway, **_query(request, "quick_invoice_id", "paylink_id"))
            },
        )
    },
    "/_sandbox/postbacks": {
        "GET": ControlCall(
            "Shows the postbacks and their delivery attempts; also ?config_id=… or ?record_id=….",
            lambda gateway, request: {
                "postbacks": delivery_log.read(gateway, **_query(request, "config_id", "record_id"))
            },
        )
    },
    "/_sandbox/postbacks/{id}/replay": {
        "POST": ControlCall(
            "Sends a postback again.", lambda gateway, request: delivery_log.replay(gateway, _id(request))
        )
    },
    "/_sandbox/ledger": {
        "GET": ControlCall(
            "Shows how often each integrator id was charged, refunded or stored, and the records.",
            lambda gateway, _: actions.ledger(gateway),
        )
    },
    "/_sandbox/reset": {
        "POST": ControlCall(
            "Cancels waiting calls, deletes records and faults, and resets the clock.",
            lambda gateway, _: actions.reset(gateway),
        )
    },
}
"""Every control call, by path and method."""


def _endpoint(calls: dict[str, ControlCall]) -> Any:
    async def run(request: Request) -> Response:
        call = calls["GET" if request.method == "HEAD" else request.method]
        try:
            body = call.run(cast("Gateway", request.app.state.gateway), request)
            body = await body if isawaitable(body) else body
        except UnknownRecordError as problem:
            raise RefusedError(404, str(problem)) from None
        except NothingWaitsError as problem:
            raise RefusedError(409, str(problem)) from None
        except ValueError as problem:
            raise RefusedError(422, str(problem)) from None
        if isinstance(body, Response):
            return body
        return empty_response() if body is None else json_response(body, call.status)

    return run


ROUTES = [Route(path, _endpoint(calls), methods=[*calls]) for path, calls in CONTROL_CALLS.items()]
