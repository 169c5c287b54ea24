"""The postbacks, and the attempts to deliver them."""

from starlette.responses import Response

from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.pages.visit import Visit
from gateway_async.sandbox.postbacks import delivery_log
from gateway_async.sandbox.schema import POSTBACK_CONFIG

__all__ = ["replay", "show", "show_one"]


_SHOWN = 200


async def show(visit: Visit) -> Response:
    """Handle GET /postbacks."""
    postbacks = delivery_log.read(visit.gateway)[: -_SHOWN - 1 : -1]
    configs = visit.gateway.store.select(POSTBACK_CONFIG, "deleted_ts IS NULL")
    return visit.render("postbacks.html", postbacks=postbacks, has_config=bool(configs))


async def show_one(visit: Visit) -> Response:
    """Handle GET /postbacks/{id}."""
    postback_id = visit.parameter("id")
    found = [each for each in delivery_log.read(visit.gateway) if each["id"] == postback_id]
    if not found:
        raise UnknownRecordError("postback", postback_id)
    return visit.render("postback.html", postback=found[0])


async def replay(visit: Visit) -> Response:
    """Handle POST /postbacks/{id}: send it once more."""
    postback_id = visit.parameter("id")
    delivery_log.replay(visit.gateway, postback_id)
    return visit.redirect(f"/postbacks/{postback_id}")
