"""How a program reaches this sandbox: its credentials as lines to paste, and a reset."""

import shlex

from starlette.responses import Response

from gateway_async.sandbox.admin import actions
from gateway_async.sandbox.pages.visit import Visit

__all__ = ["reset", "show"]


async def show(visit: Visit) -> Response:
    """Handle GET /connect."""
    variables = visit.gateway.info.environment()
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return visit.render("connect.html", exports=exports)


async def reset(visit: Visit) -> Response:
    """Handle POST /connect/reset: delete all records."""
    await actions.reset(visit.gateway)
    return visit.redirect("/connect")
