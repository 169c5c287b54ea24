"""The pages of the faults and of the clock."""

import time
from datetime import UTC, datetime, timedelta

from starlette.responses import Response

from gateway_async.sandbox import controls
from gateway_async.sandbox.pages.control_forms import make_forms, run_control
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.routes import OPERATIONS
from gateway_async.sandbox.simulators.faults import FAULTS, SCENARIOS

_FAULT_CONTROLS = (controls.simulators.fault, controls.simulators.scenario, controls.simulators.clear_faults)
_FIRST_FAULT = {"operation": "POST /v2/transactions", "fault": "close_after_commit"}


async def show_faults(request: PageRequest) -> Response:
    """Handle GET /faults; `?fault=` chooses one in the form."""
    return _show_faults(request)


async def change_faults(request: PageRequest) -> Response:
    """Handle POST /faults: plan a fault or a scenario, or remove every plan."""
    try:
        await run_control(request, _FAULT_CONTROLS)
    except ValueError as problem:
        return _show_faults(request, str(problem))
    if request.form.get("fault") == "refuse":  # the port may be closed, so that a redirect would fail
        return _show_faults(request, notice=f"The port closes for {request.form.get('seconds') or 1} s.")
    return request.redirect("/faults")


def _show_faults(request: PageRequest, problem: str = "", notice: str = "") -> Response:
    (form,) = make_forms(
        request,
        [controls.simulators.fault],
        choices={"operation": OPERATIONS, "fault": [*FAULTS]},
        defaults=_FIRST_FAULT | {"fault": request.query("fault", _FIRST_FAULT["fault"])},
        problem=problem,
    )
    return request.render(
        "faults.html",
        422 if problem else 200,
        plans=controls.simulators.faults(request.gateway),
        form=form,
        notice=notice,
        faults=FAULTS,
        scenarios=SCENARIOS,
    )


async def show_clock(request: PageRequest) -> Response:
    """Handle GET /clock."""
    return _show_clock(request)


async def move_clock(request: PageRequest) -> Response:
    """Handle POST /clock: move the clock to one of the choices, or set it."""
    try:
        controls.simulators.set_clock(request.gateway, _read_time(request.form, request.gateway.clock.date()))
    except ValueError as problem:
        return _show_clock(request, str(problem))
    return request.redirect("/clock")


def _show_clock(request: PageRequest, problem: str = "") -> Response:
    ahead = timedelta(seconds=round(request.gateway.clock.now() - time.time()))
    return request.render("clock.html", 422 if problem else 200, ahead=ahead, problem=problem)


def _read_time(form: dict[str, str], now: datetime) -> float:
    """Read the time that the form asks for, in Unix seconds."""
    match form.get("to", ""):
        case "hour":
            return (now + timedelta(hours=1)).timestamp()
        case "day":
            return (now + timedelta(days=1)).timestamp()
        case "midnight":
            return datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC).timestamp()
        case "real":
            return time.time()
    try:
        return datetime.fromisoformat(form.get("time", "")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ValueError("time: must be a date and a time.") from None
