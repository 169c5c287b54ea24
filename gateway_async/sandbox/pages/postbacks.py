"""The postbacks with their deliveries, and the messages that customers would have received."""

from starlette.responses import Response

from gateway_async.sandbox import notifications
from gateway_async.sandbox.controls import messages
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.states import find_status
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row

__all__ = ["replay", "show", "show_all", "show_outbox"]


_MOST = 200


async def show_all(request: PageRequest) -> Response:
    """Handle GET /postbacks."""
    postbacks = [_describe(request.gateway, each) for each in messages.newest_postbacks(request.gateway, _MOST)]
    configs = request.gateway.store.select(POSTBACK_CONFIG, f"{ALIVE} LIMIT 1")
    return request.render("postbacks.html", postbacks=postbacks, has_config=bool(configs))


async def show(request: PageRequest) -> Response:
    """Handle GET /postbacks/{id}."""
    postback = messages.postback(request.gateway, request.parameter("id"))
    return request.render("postback.html", postback=_describe(request.gateway, postback))


async def replay(request: PageRequest) -> Response:
    """Handle POST /postbacks/{id}: send it once more."""
    postback_id = request.parameter("id")
    messages.replay_postback(request.gateway, postback_id)
    return request.redirect(f"/postbacks/{postback_id}")


async def show_outbox(request: PageRequest) -> Response:
    """Handle GET /outbox."""
    return request.render("outbox.html", messages=notifications.read_newest(request.gateway, _MOST))


def _describe(gateway: Gateway, postback: Row) -> Row:
    """Return an entry of the log with its status."""
    return postback | {"status": find_status(gateway, POSTBACK, postback)}
