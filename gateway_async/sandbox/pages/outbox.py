"""The e-mails and text messages that customers would have received."""

from starlette.responses import Response

from gateway_async.sandbox.notifications import outbox
from gateway_async.sandbox.pages.visit import Visit

__all__ = ["show"]


_MOST = 200


async def show(visit: Visit) -> Response:
    """Handle GET /outbox."""
    return visit.render("outbox.html", messages=outbox.read_newest(visit.gateway, _MOST))
