"""The planned faults: what they did, and a form for another one."""

from typing import TypeVar

from starlette.responses import Response

from gateway_async.sandbox.admin import actions
from gateway_async.sandbox.pages.visit import Visit
from gateway_async.sandbox.routes import OPERATIONS
from gateway_async.sandbox.simulators.faults import FAULTS, Plan
from gateway_async.sandbox.simulators.scenarios import SCENARIOS

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


async def show(visit: Visit) -> Response:
    """Handle GET /faults."""
    return _show(visit, _DEFAULTS)


async def add(visit: Visit) -> Response:
    """Handle POST /faults: plan a fault."""
    form = _DEFAULTS | visit.form
    try:
        plan = _read_plan(form)
        await actions.add_fault(visit.gateway, plan)
    except ValueError as problem:
        return _show(visit, form, problem=str(problem), status=422)
    if plan.starts_immediately:  # the port is closed, so that a redirect would fail
        return _show(visit, _DEFAULTS, notice=f"The port is closed for {plan.seconds:g} s.")
    return visit.redirect("/faults")


async def add_scenario(visit: Visit) -> Response:
    """Handle POST /faults/scenario: plan the faults of a scenario."""
    await actions.add_scenario(visit.gateway, visit.form.get("scenario", ""))
    return visit.redirect("/faults")


async def clear(visit: Visit) -> Response:
    """Handle POST /faults/clear: remove every plan."""
    await actions.clear_faults(visit.gateway)
    return visit.redirect("/faults")


def _show(visit: Visit, form: dict[str, str], *, problem: str = "", notice: str = "", status: int = 200) -> Response:
    return visit.render(
        "faults.html",
        status,
        plans=actions.faults(visit.gateway),
        form=form,
        problem=problem,
        notice=notice,
        operations=OPERATIONS,
        faults=FAULTS,
        scenarios=SCENARIOS,
    )


def _read_plan(form: dict[str, str]) -> Plan:
    return Plan(
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
