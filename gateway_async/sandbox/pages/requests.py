"""The log of the requests that programs have sent."""

from starlette.responses import Response

from gateway_async.sandbox.pages.visit import Visit

__all__ = ["show"]


async def show(visit: Visit) -> Response:
    """Handle GET /."""
    return visit.render("requests.html", requests=list(reversed(visit.gateway.requests)))
