"""The planned faults: what they did, and a form for another one."""

from typing import TypeVar

from starlette.responses import Response

from gateway_async.sandbox import controls
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.routes import OPERATIONS
from gateway_async.sandbox.simulators.faults import FAULTS, SCENARIOS, PlannedFault

_Number = TypeVar("_Number", int, float)

__all__ = ["add", "add_scenario", "clear", "show"]


_DEFAULTS = {
    "operation": "POST /v2/transactions",
    "fault": "close_after_commit",
    "nth": "1",
    "times": "",
    "probability": "",
    "seed": "",
    "seconds": "1",
    "retry_after": "1",
}


async def show(request: PageRequest) -> Response:
    """Handle GET /faults."""
    return _show(request, _DEFAULTS)


async def add(request: PageRequest) -> Response:
    """Handle POST /faults: plan a fault."""
    form = _DEFAULTS | request.form
    try:
        plan = _read_plan(form)
        await controls.faults.add_plans(request.gateway, [plan])
    except ValueError as problem:
        return _show(request, form, problem=str(problem), status=422)
    if plan.starts_immediately:  # the port is closed, so that a redirect would fail
        return _show(request, _DEFAULTS, notice=f"The port is closed for {plan.seconds:g} s.")
    return request.redirect("/faults")


async def add_scenario(request: PageRequest) -> Response:
    """Handle POST /faults/scenario: plan the faults of a scenario."""
    await controls.faults.scenario(request.gateway, request.form.get("scenario", ""))
    return request.redirect("/faults")


async def clear(request: PageRequest) -> Response:
    """Handle POST /faults/clear: remove every plan."""
    await controls.faults.clear_faults(request.gateway)
    return request.redirect("/faults")


def _show(
    request: PageRequest, form: dict[str, str], *, problem: str = "", notice: str = "", status: int = 200
) -> Response:
    return request.render(
        "faults.html",
        status,
        plans=controls.faults.faults(request.gateway),
        form=form,
        problem=problem,
        notice=notice,
        operations=OPERATIONS,
        faults=FAULTS,
        scenarios=SCENARIOS,
    )


def _read_plan(form: dict[str, str]) -> PlannedFault:
    return PlannedFault(
        form["operation"],
        form["fault"],
        nth=_read_number(form, "nth", int) or 1,
        times=_read_number(form, "times", int),
        probability=_read_number(form, "probability", float),
        seed=_read_number(form, "seed", int),
        seconds=_read_number(form, "seconds", float) or 0.0,
        retry_after=_read_number(form, "retry_after", float),
    )


def _read_number(form: dict[str, str], name: str, kind: type[_Number]) -> _Number | None:
    """Read an optional number of the form."""
    text = form[name].strip()
    try:
        return kind(text) if text else None
    except ValueError:
        raise ValueError(f"{name}: must be a number.") from None
