"""The e-mails and text messages that customers would have received."""

from starlette.responses import Response

from gateway_async.sandbox.notifications import outbox
from gateway_async.sandbox.pages.page_request import PageRequest

__all__ = ["show"]


_MOST = 200


async def show(request: PageRequest) -> Response:
    """Handle GET /outbox."""
    return request.render("outbox.html", messages=outbox.read_newest(request.gateway, _MOST))
