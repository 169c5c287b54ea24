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


async def show_faults(request: PageRequest, notice: str = "") -> Response:
    """Handle GET /faults; `?fault=` chooses one in the form."""
    forms = make_forms(
        request,
        [controls.simulators.fault],
        choices={"operation": OPERATIONS, "fault": [*FAULTS]},
        defaults=_FIRST_FAULT | {"fault": request.query("fault", _FIRST_FAULT["fault"])},
    )
    return request.render(
        "faults.html",
        plans=controls.simulators.faults(request.gateway),
        forms=forms,
        notice=notice,
        faults=FAULTS,
        scenarios=SCENARIOS,
    )


async def change_faults(request: PageRequest) -> Response:
    """Handle POST /faults: plan a fault or a scenario, or remove every plan."""
    await run_control(request, _FAULT_CONTROLS)
    if request.form.get("fault") == "refuse":  # the port may be closed, so that a redirect would fail
        return await show_faults(request, f"The port closes for {request.form.get('seconds') or 1} s.")
    return request.redirect("/faults")


async def show_clock(request: PageRequest) -> Response:
    """Handle GET /clock."""
    ahead = timedelta(seconds=round(request.gateway.clock.now() - time.time()))
    return request.render("clock.html", ahead=ahead)


async def move_clock(request: PageRequest) -> Response:
    """Handle POST /clock: move the clock to one of the choices, or set it."""
    controls.simulators.set_clock(request.gateway, _read_time(request.form, request.gateway.clock.utc_now()))
    return request.redirect("/clock")


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
