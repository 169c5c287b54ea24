"""The control calls under `/_sandbox/`, for people and tests.

They need no credentials. Errors have these statuses:

- 400: the body is not JSON or has unknown fields
- 404: the terminal or record is unknown
- 409: no call waits at the terminal
- 422: the values are invalid
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from gateway_async.sandbox.admin import actions as steering
from gateway_async.sandbox.admin import seed
from gateway_async.sandbox.handlers.invoice_files import content_of
from gateway_async.sandbox.http.errors import RefusedError, UnknownRecordError
from gateway_async.sandbox.http.responses import answer, no_body
from gateway_async.sandbox.request.calls import read_body
from gateway_async.sandbox.simulators.cards import EntryMode
from gateway_async.sandbox.simulators.faults import Plan
from gateway_async.sandbox.simulators.terminals import NothingWaitsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from gateway_async.sandbox.runtime.gateway import Gateway

_Body = TypeVar("_Body")


class Control(NamedTuple):
    """One control call: a sentence that describes it, and its handler."""

    does: str
    run: Callable[[Gateway, Request], Awaitable[Response]]


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


class Presented(msgspec.Struct, forbid_unknown_fields=True):
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


class Processed(msgspec.Struct, forbid_unknown_fields=True):
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


async def _show_index(_gateway: Gateway, _request: Request) -> Response:
    calls = {f"{method} {path}": call.does for path, calls in CONTROLS.items() for method, call in calls.items()}
    return answer({"calls": calls})


async def _show_clock(gateway: Gateway, _request: Request) -> Response:
    return answer({"now": gateway.clock.now()})


async def _move_clock(gateway: Gateway, request: Request) -> Response:
    move = await _read(request, ClockMove)
    if move.advance is not None and move.now is None:
        gateway.clock.advance(move.advance)
    elif move.now is not None and move.advance is None:
        gateway.clock.set(move.now)
    else:
        raise RefusedError(400, "The body must have exactly one of advance and now, in seconds.")
    return answer({"now": gateway.clock.now()})


async def _show_faults(gateway: Gateway, _request: Request) -> Response:
    return answer({"faults": steering.faults(gateway)})


async def _add_fault(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, dict[str, Any])
    if "scenario" in new:
        return answer({"faults": await steering.add_scenario(gateway, _convert(new, NewScenario).scenario)}, 201)
    plan = Plan(**msgspec.structs.asdict(_convert(new, NewFault)))
    await steering.add_fault(gateway, plan)
    return answer(plan.describe(), 201)


async def _clear_faults(gateway: Gateway, _request: Request) -> Response:
    await steering.clear_faults(gateway)
    return no_body()


async def _show_terminals(gateway: Gateway, _request: Request) -> Response:
    return answer({"terminals": steering.terminals(gateway)})


async def _add_terminal(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewTerminal)
    place = {"location_id": gateway.facts.location_id}
    return answer({"id": seed.add_terminal(gateway, place, new.title), "title": new.title}, 201)


async def _show_terminal(gateway: Gateway, request: Request) -> Response:
    return answer(steering.terminal(gateway, request.path_params["id"]))


async def _present(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, Presented)
    return answer(steering.present(gateway, request.path_params["id"], new.card, new.entry_mode))


async def _decline(gateway: Gateway, request: Request) -> Response:
    return answer(steering.decline(gateway, request.path_params["id"]))


async def _cancel(gateway: Gateway, request: Request) -> Response:
    return answer(steering.cancel(gateway, request.path_params["id"]))


async def _silence(gateway: Gateway, request: Request) -> Response:
    return answer(steering.silence(gateway, request.path_params["id"]))


async def _add_ticket(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewTicket)
    card = steering.read_test_card(new.card, new.exp_date)
    return answer({"ticket": seed.add_ticket(gateway, {"location_id": gateway.facts.location_id}, card)}, 201)


async def _pay_quick_invoice(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewPayment)
    return answer(await steering.pay_quick_invoice(gateway, request.path_params["id"], new.card, new.amount))


async def _show_file(gateway: Gateway, request: Request) -> Response:
    content, content_type = content_of(gateway, request.path_params["id"])
    return Response(content, headers={"content-type": content_type})


async def _pay_paylink(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewPayment)
    return answer(await steering.pay_paylink(gateway, request.path_params["id"], new.card, new.amount))


async def _process_batch(gateway: Gateway, request: Request) -> Response:
    step = await _read(request, Processed)
    return answer(steering.process_batch(gateway, request.path_params["id"], step.processing_status_id))


async def _show_outbox(gateway: Gateway, request: Request) -> Response:
    about = {name: request.query_params.get(name) for name in ("quick_invoice_id", "paylink_id")}
    return answer({"outbox": steering.notices(gateway, **about)})


async def _show_postbacks(gateway: Gateway, request: Request) -> Response:
    about = {name: request.query_params.get(name) for name in ("config_id", "record_id")}
    return answer({"postbacks": steering.postbacks(gateway, **about)})


async def _replay_postback(gateway: Gateway, request: Request) -> Response:
    return answer(steering.replay_postback(gateway, request.path_params["id"]))


async def _show_ledger(gateway: Gateway, _request: Request) -> Response:
    return answer(steering.ledger(gateway))


async def _reset(gateway: Gateway, _request: Request) -> Response:
    await steering.reset(gateway)
    return no_body()


CONTROLS: dict[str, dict[str, Control]] = {
    "/_sandbox": {"GET": Control("Shows the control calls.", _show_index)},
    "/_sandbox/clock": {
        "GET": Control("Shows the clock, in Unix seconds.", _show_clock),
        "POST": Control('Moves the clock: {"advance": seconds}, or sets it: {"now": seconds}.', _move_clock),
    },
    "/_sandbox/faults": {
        "GET": Control("Shows the planned faults.", _show_faults),
        "POST": Control(
            'Plans one: {"operation": "POST /v2/transactions", "fault": "close_after_commit"}, or those of a '
            'scenario: {"scenario": "answer lost after approval"}.',
            _add_fault,
        ),
        "DELETE": Control("Gives up every planned fault.", _clear_faults),
    },
    "/_sandbox/terminals": {
        "GET": Control("Shows the terminals and the calls that wait at them.", _show_terminals),
        "POST": Control('Makes one more terminal: {"title": "Bar"}.', _add_terminal),
    },
    "/_sandbox/terminals/{id}": {"GET": Control("Shows one terminal and the calls that wait at it.", _show_terminal)},
    "/_sandbox/terminals/{id}/present": {
        "POST": Control('Brings a card: {"card": "4111111111111111", "entry_mode": "C"}.', _present)
    },
    "/_sandbox/terminals/{id}/decline": {"POST": Control("Lets the issuer decline the card.", _decline)},
    "/_sandbox/terminals/{id}/cancel": {"POST": Control("Presses the red key.", _cancel)},
    "/_sandbox/terminals/{id}/silence": {
        "POST": Control("Lets the terminal do nothing more by itself until somebody acts on it.", _silence)
    },
    "/_sandbox/tickets": {
        "POST": Control('Makes a ticket: {"card": "4111111111111111", "exp_date": "1230"}.', _add_ticket)
    },
    "/_sandbox/quickinvoices/{id}/pay": {
        "POST": Control(
            'Pays an invoice on its page: {"amount": "10.00", "card": "4111111111111111"}.', _pay_quick_invoice
        )
    },
    "/_sandbox/files/{id}": {"GET": Control("Shows what a file holds, as the page of its invoice does.", _show_file)},
    "/_sandbox/paylinks/{id}/pay": {
        "POST": Control('Pays a paylink on its page: {"amount": "21.00", "card": "4111111111111111"}.', _pay_paylink)
    },
    "/_sandbox/transactionbatches/{id}": {
        "POST": Control('Does what a processor does with a batch: {"processing_status_id": 5}.', _process_batch)
    },
    "/_sandbox/outbox": {
        "GET": Control("Shows what customers were told; also ?quick_invoice_id=… or ?paylink_id=….", _show_outbox)
    },
    "/_sandbox/postbacks": {
        "GET": Control(
            "Shows the postbacks and what became of them; also ?config_id=… or ?record_id=….", _show_postbacks
        )
    },
    "/_sandbox/postbacks/{id}/replay": {"POST": Control("Sends a postback once more.", _replay_postback)},
    "/_sandbox/ledger": {
        "GET": Control(
            "Shows how often each integrator id was charged, refunded or stored, and the records.", _show_ledger
        )
    },
    "/_sandbox/reset": {
        "POST": Control("Cuts off what waits, forgets records and faults, and sets the clock right.", _reset)
    },
}


def _endpoint(controls: dict[str, Control]) -> Any:
    async def run(request: Request) -> Response:
        gateway = cast("Gateway", request.app.state.gateway)
        method = "GET" if request.method == "HEAD" else request.method
        try:
            return await controls[method].run(gateway, request)
        except (steering.UnknownTerminalError, UnknownRecordError) as problem:
            raise RefusedError(404, str(problem)) from None
        except NothingWaitsError as problem:
            raise RefusedError(409, str(problem)) from None
        except ValueError as problem:
            raise RefusedError(422, str(problem)) from None

    return run


ROUTES = [Route(path, _endpoint(controls), methods=[*controls]) for path, controls in CONTROLS.items()]
