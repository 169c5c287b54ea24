"""How a program reaches this sandbox: its credentials as lines to paste, and a reset."""

import shlex

from starlette.responses import Response

from gateway_async.sandbox.controls import records
from gateway_async.sandbox.pages.page_request import PageRequest

__all__ = ["reset", "show"]


async def show(request: PageRequest) -> Response:
    """Handle GET /connect."""
    variables = request.gateway.info.environment()
    exports = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return request.render("connect.html", exports=exports)


async def reset(request: PageRequest) -> Response:
    """Handle POST /connect/reset: delete all records."""
    await records.reset(request.gateway)
    return request.redirect("/connect")
