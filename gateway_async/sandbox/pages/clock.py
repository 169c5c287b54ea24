"""The clock of the sandbox: what it shows, and the ways to move it."""

import time
from datetime import UTC, datetime, timedelta

from starlette.responses import Response

from gateway_async.sandbox.pages.page_request import PageRequest

__all__ = ["move", "show"]


async def show(request: PageRequest) -> Response:
    """Handle GET /clock."""
    return _show(request)


async def move(request: PageRequest) -> Response:
    """Handle POST /clock: move the clock to one of the choices, or set it."""
    clock = request.gateway.clock
    try:
        clock.set(_read_time(request.form, clock.date()))
    except ValueError as problem:
        return _show(request, str(problem), 422)
    return request.redirect("/clock")


def _show(request: PageRequest, problem: str = "", status: int = 200) -> Response:
    ahead = timedelta(seconds=round(request.gateway.clock.now() - time.time()))
    return request.render("clock.html", status, ahead=ahead, problem=problem)


def _read_time(form: dict[str, str], now: datetime) -> float:
    """Return the time that the form asks for, in Unix seconds."""
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
