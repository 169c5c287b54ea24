"""The control calls under `/_sandbox/`, for people and tests who steer the gateway. They take no credentials.

A body that is no JSON or has other fields is a 400; one that asks for what cannot be is a 422.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import msgspec
from starlette.routing import Route

from gateway_async.sandbox import control, seed
from gateway_async.sandbox.answers import answer, no_body
from gateway_async.sandbox.calls import read_body
from gateway_async.sandbox.errors import RefusedError
from gateway_async.sandbox.faults import Plan
from gateway_async.sandbox.tables import TERMINAL
from gateway_async.sandbox.terminals import NothingWaitsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from gateway_async.sandbox.fields import Row
    from gateway_async.sandbox.gateway import Gateway

    Control = Callable[[Gateway, Request], Awaitable[Response]]

_Body = TypeVar("_Body")


class ClockMove(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /_sandbox/clock: one of the two, in seconds."""

    advance: float | None = None
    now: float | None = None


class NewFault(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /_sandbox/faults."""

    operation: str
    fault: str
    nth: int = 1
    times: int | None = None
    probability: float | None = None
    seed: int | None = None
    seconds: float = 1.0
    retry_after: float | None = 1.0


class NewTerminal(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /_sandbox/terminals."""

    title: str = "Terminal"


class Presented(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /_sandbox/terminals/{id}/present."""

    card: str = "4111111111111111"
    entry_mode: Literal["S", "K", "C", "P", "F", "B"] = "C"


class NewTicket(msgspec.Struct, forbid_unknown_fields=True):
    """Body of POST /_sandbox/tickets."""

    card: str
    exp_date: str


async def _read(request: Request, body: type[_Body]) -> _Body:
    try:
        return msgspec.json.decode(await read_body(request) or b"{}", type=body)
    except msgspec.DecodeError as problem:
        raise RefusedError(400, str(problem)) from None


async def _show_clock(gateway: Gateway, _request: Request) -> Response:
    return answer({"now": gateway.clock.now()})


async def _move_clock(gateway: Gateway, request: Request) -> Response:
    move = await _read(request, ClockMove)
    now = gateway.clock.now() if move.now is None else move.now
    gateway.clock.set(now + (move.advance or 0))
    return answer({"now": gateway.clock.now()})


async def _show_faults(gateway: Gateway, _request: Request) -> Response:
    return answer({"faults": [plan.describe() for plan in gateway.faults.plans]})


async def _add_fault(gateway: Gateway, request: Request) -> Response:
    plan = Plan(**msgspec.structs.asdict(await _read(request, NewFault)))
    await control.add_fault(gateway, plan)
    return answer(plan.describe(), 201)


async def _clear_faults(gateway: Gateway, _request: Request) -> Response:
    await control.clear_faults(gateway)
    return no_body()


async def _show_terminals(gateway: Gateway, _request: Request) -> Response:
    return answer({"terminals": control.terminals(gateway)})


async def _add_terminal(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewTerminal)
    place = {"location_id": gateway.facts.location_id}
    return answer({"id": seed.add_terminal(gateway, place, new.title), "title": new.title}, 201)


async def _show_terminal(gateway: Gateway, request: Request) -> Response:
    return answer(control.terminal(gateway, _find_terminal(gateway, request)))


async def _present(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, Presented)
    control.read_test_card(new.card)
    return _act(gateway, request, lambda terminal: gateway.terminals.present(terminal, new.card, new.entry_mode))


async def _decline(gateway: Gateway, request: Request) -> Response:
    return _act(gateway, request, gateway.terminals.decline)


async def _cancel(gateway: Gateway, request: Request) -> Response:
    return _act(gateway, request, gateway.terminals.cancel)


async def _silence(gateway: Gateway, request: Request) -> Response:
    return _act(gateway, request, gateway.terminals.silence)


def _act(gateway: Gateway, request: Request, act: Callable[[str], None]) -> Response:
    row = _find_terminal(gateway, request)
    act(row["id"])
    return answer(control.terminal(gateway, row))


def _find_terminal(gateway: Gateway, request: Request) -> Row:
    row = gateway.store.find(TERMINAL, id=request.path_params["id"])
    if row is None:
        raise RefusedError(404, "Terminal not found.")
    return row


async def _add_ticket(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewTicket)
    card = control.read_test_card(new.card, new.exp_date)
    return answer({"ticket": seed.add_ticket(gateway, {"location_id": gateway.facts.location_id}, card)}, 201)


async def _show_ledger(gateway: Gateway, _request: Request) -> Response:
    return answer(control.ledger(gateway))


async def _reset(gateway: Gateway, _request: Request) -> Response:
    await control.reset(gateway)
    return no_body()


_CONTROLS: dict[str, dict[str, Control]] = {
    "/_sandbox/clock": {"GET": _show_clock, "POST": _move_clock},
    "/_sandbox/faults": {"GET": _show_faults, "POST": _add_fault, "DELETE": _clear_faults},
    "/_sandbox/terminals": {"GET": _show_terminals, "POST": _add_terminal},
    "/_sandbox/terminals/{id}": {"GET": _show_terminal},
    "/_sandbox/terminals/{id}/present": {"POST": _present},
    "/_sandbox/terminals/{id}/decline": {"POST": _decline},
    "/_sandbox/terminals/{id}/cancel": {"POST": _cancel},
    "/_sandbox/terminals/{id}/silence": {"POST": _silence},
    "/_sandbox/tickets": {"POST": _add_ticket},
    "/_sandbox/ledger": {"GET": _show_ledger},
    "/_sandbox/reset": {"POST": _reset},
}


def _endpoint(controls: dict[str, Control]) -> Any:
    async def run(request: Request) -> Response:
        gateway = cast("Gateway", request.app.state.gateway)
        method = "GET" if request.method == "HEAD" else request.method
        try:
            return await controls[method](gateway, request)
        except NothingWaitsError:
            raise RefusedError(409, "No call waits at this terminal.") from None
        except ValueError as problem:
            raise RefusedError(422, str(problem)) from None

    return run


ROUTES = [Route(path, _endpoint(controls), methods=[*controls]) for path, controls in _CONTROLS.items()]
