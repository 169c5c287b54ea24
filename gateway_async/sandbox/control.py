"""The control calls under `/_sandbox/`: for people and tests who steer the gateway. No credentials.

What they can do, Python code can do through `Sandbox`; both come here.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import msgspec
from starlette.routing import Route

from gateway_async.sandbox import seed, states
from gateway_async.sandbox.answers import answer, no_body
from gateway_async.sandbox.calls import read_body
from gateway_async.sandbox.cards import check_expiry, read_card
from gateway_async.sandbox.errors import RefusedError
from gateway_async.sandbox.faults import Plan
from gateway_async.sandbox.kinds import show_money
from gateway_async.sandbox.operations import is_operation
from gateway_async.sandbox.tables import ACCOUNT_VAULT, TERMINAL, TRANSACTION
from gateway_async.sandbox.terminals import NothingWaitsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from gateway_async.sandbox.fields import Row, Table
    from gateway_async.sandbox.gateway import Gateway

    Control = Callable[[Gateway, Request], Awaitable[Response]]

_Body = TypeVar("_Body")

_LEDGER = (
    "id",
    "location_id",
    "transaction_api_id",
    "account_vault_api_id",
    "transaction_amount",
    "auth_amount",
    "status_id",
    "reason_code_id",
    "last_four",
    "created_ts",
)


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


async def add_fault(gateway: Gateway, plan: Plan) -> None:
    """Put a plan in force. `refuse` begins at once: for its seconds nothing listens on the port.

    Raises:
        ValueError: The plan makes no sense, or its operation is not one of the gateway's.
    """
    plan.check()
    if not is_operation(plan.operation):
        raise ValueError("operation must be a method and a path of the gateway, as in POST /v2/transactions.")
    if plan.fault == "refuse":
        await gateway.listener.shut()
        gateway.clock.call_at(gateway.clock.now() + plan.seconds, gateway.listener.reopen_soon)
    else:
        gateway.faults.plans.append(plan)


async def clear_faults(gateway: Gateway) -> None:
    """Give up every plan."""
    gateway.faults.plans.clear()
    await gateway.listener.reopen()


def ledger(gateway: Gateway) -> Row:
    """How often each integrator id was charged or stored, and the records that say so."""
    payments = gateway.store.select(TRANSACTION)
    vaults = gateway.store.select(ACCOUNT_VAULT)
    made = [row for row in payments if row["status_id"] != states.DECLINED]
    return {
        "charged": _count(TRANSACTION, made),
        "stored": _count(ACCOUNT_VAULT, vaults),
        "transactions": [_brief(TRANSACTION, row) for row in payments],
        "accountvaults": [_brief(ACCOUNT_VAULT, row) for row in vaults],
    }


def _count(table: Table, rows: list[Row]) -> dict[str, int]:
    return dict(Counter(row[table.api_id] for row in rows if row[table.api_id] is not None))


def _brief(table: Table, row: Row) -> Row:
    record = table.show(row)
    return {name: record[name] for name in _LEDGER if name in record}


def terminals(gateway: Gateway) -> list[Row]:
    """Every terminal and what waits at it."""
    return [_terminal(gateway, row) for row in gateway.store.select(TERMINAL)]


def _terminal(gateway: Gateway, row: Row) -> Row:
    waiting = gateway.terminals.waiting(row["id"])
    steps = ["waiting for a card"] + ["in line"] * len(waiting)
    calls = [
        {
            "action": visit.action,
            "amount": None if visit.amount is None else show_money(visit.amount),
            "since": int(visit.since),
            "state": state,
        }
        for visit, state in zip(waiting, steps, strict=False)
    ]
    silent = gateway.terminals.is_silent(row["id"])
    return {"id": row["id"], "title": row["title"], "silent": silent, "waiting": calls}


async def reset(gateway: Gateway) -> None:
    """Begin anew: cut off whatever waits, forget records and faults, and set the clock right."""
    await gateway.listener.cut_off()
    await clear_faults(gateway)
    gateway.terminals.hear()
    gateway.clock.set(time.time())
    seed.empty(gateway)


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
    await add_fault(gateway, plan)
    return answer(plan.describe(), 201)


async def _clear_faults(gateway: Gateway, _request: Request) -> Response:
    await clear_faults(gateway)
    return no_body()


async def _show_terminals(gateway: Gateway, _request: Request) -> Response:
    return answer({"terminals": terminals(gateway)})


async def _add_terminal(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewTerminal)
    place = {"location_id": gateway.facts.location_id}
    return answer({"id": seed.add_terminal(gateway, place, new.title), "title": new.title}, 201)


async def _show_terminal(gateway: Gateway, request: Request) -> Response:
    return answer(_terminal(gateway, _find_terminal(gateway, request)))


async def _present(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, Presented)
    read_card(new.card)
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
    return answer(_terminal(gateway, row))


def _find_terminal(gateway: Gateway, request: Request) -> Row:
    row = gateway.store.find(TERMINAL, id=request.path_params["id"])
    if row is None:
        raise RefusedError(404, "Terminal not found.")
    return row


async def _add_ticket(gateway: Gateway, request: Request) -> Response:
    new = await _read(request, NewTicket)
    card = read_card(new.card, check_expiry(new.exp_date))
    return answer({"ticket": seed.add_ticket(gateway, {"location_id": gateway.facts.location_id}, card)}, 201)


async def _show_ledger(gateway: Gateway, _request: Request) -> Response:
    return answer(ledger(gateway))


async def _reset(gateway: Gateway, _request: Request) -> Response:
    await reset(gateway)
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
