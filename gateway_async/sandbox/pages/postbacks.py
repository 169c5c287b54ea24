"""The postbacks, and the attempts to deliver them."""

from starlette.responses import Response

from gateway_async.sandbox.pages.records.states import find_status
from gateway_async.sandbox.pages.visit import Visit
from gateway_async.sandbox.postbacks import delivery_log
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG
from gateway_async.sandbox.schema.fields import Row

__all__ = ["replay", "show", "show_all"]


_MOST = 200


async def show_all(visit: Visit) -> Response:
    """Handle GET /postbacks."""
    postbacks = [_describe(visit.gateway, each) for each in delivery_log.read_newest(visit.gateway, _MOST)]
    configs = visit.gateway.store.select(POSTBACK_CONFIG, f"{ALIVE} LIMIT 1")
    return visit.render("postbacks.html", postbacks=postbacks, has_config=bool(configs))


async def show(visit: Visit) -> Response:
    """Handle GET /postbacks/{id}."""
    postback = delivery_log.read_one(visit.gateway, visit.parameter("id"))
    return visit.render("postback.html", postback=_describe(visit.gateway, postback))


async def replay(visit: Visit) -> Response:
    """Handle POST /postbacks/{id}: send it once more."""
    postback_id = visit.parameter("id")
    delivery_log.replay(visit.gateway, postback_id)
    return visit.redirect(f"/postbacks/{postback_id}")


def _describe(gateway: Gateway, postback: Row) -> Row:
    """Return an entry of the log with its status."""
    return postback | {"status": find_status(gateway, POSTBACK, postback)}
