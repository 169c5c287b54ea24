"""The postbacks, and the attempts to deliver them."""

from starlette.responses import Response

from gateway_async.sandbox.pages.visit import Visit
from gateway_async.sandbox.postbacks import delivery_log
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import POSTBACK_CONFIG

__all__ = ["replay", "show", "show_one"]


_MOST = 200


async def show(visit: Visit) -> Response:
    """Handle GET /postbacks."""
    postbacks = delivery_log.read_newest(visit.gateway, _MOST)
    configs = visit.gateway.store.select(POSTBACK_CONFIG, f"{ALIVE} LIMIT 1")
    return visit.render("postbacks.html", postbacks=postbacks, has_config=bool(configs))


async def show_one(visit: Visit) -> Response:
    """Handle GET /postbacks/{id}."""
    return visit.render("postback.html", postback=delivery_log.read_one(visit.gateway, visit.parameter("id")))


async def replay(visit: Visit) -> Response:
    """Handle POST /postbacks/{id}: send it once more."""
    postback_id = visit.parameter("id")
    delivery_log.replay(visit.gateway, postback_id)
    return visit.redirect(f"/postbacks/{postback_id}")
