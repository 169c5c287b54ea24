"""The postbacks with their deliveries, and the messages that customers would have received."""

from starlette.responses import Response

from gateway_async.sandbox import notifications
from gateway_async.sandbox.controls import simulators
from gateway_async.sandbox.http.responses import parse_json
from gateway_async.sandbox.pages.control_forms import make_forms, run_control
from gateway_async.sandbox.pages.masking import mask_value
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.states import find_status
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import POSTBACK, POSTBACK_CONFIG, STORED
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.postbacks import DeliveryState

_MOST = 200
_PLURALS = {table.singular: table.plural for table in STORED}


async def show_all(request: PageRequest) -> Response:
    """Handle GET /postbacks, with `?state=`."""
    gateway, state = request.gateway, request.query("state")
    found = simulators.newest_postbacks(gateway, _MOST, state)
    return request.render(
        "postbacks.html",
        postbacks=[_describe(gateway, each) for each in found],
        has_config=bool(gateway.store.select(POSTBACK_CONFIG, f"{ALIVE} LIMIT 1")),
        states=[each.value for each in DeliveryState],
        state=state,
        forms=make_forms(
            request,
            [simulators.set_postback_format],
            defaults={"postback_format": simulators.postback_format(gateway)},
        ),
    )


async def set_format(request: PageRequest) -> Response:
    """Handle POST /postbacks: choose how later bodies are written."""
    await run_control(request, [simulators.set_postback_format])
    return request.redirect("/postbacks")


async def show(request: PageRequest) -> Response:
    """Handle GET /postbacks/{id}."""
    postback_id = request.parameter("id")
    postback = _describe(request.gateway, simulators.postback(request.gateway, postback_id))
    forms = make_forms(request, [simulators.replay_postback], [postback_id])
    return request.render("postback.html", postback=postback, forms=forms)


async def replay(request: PageRequest) -> Response:
    """Handle POST /postbacks/{id}: send it once more."""
    postback_id = request.parameter("id")
    await run_control(request, [simulators.replay_postback], [postback_id])
    return request.redirect(f"/postbacks/{postback_id}")


async def show_outbox(request: PageRequest) -> Response:
    """Handle GET /outbox."""
    return request.render("outbox.html", messages=notifications.read_newest(request.gateway, _MOST))


def _describe(gateway: Gateway, postback: Row) -> Row:
    """Describe an entry of the log with its status, its record's page, and the text `data` of the body as JSON."""
    data = mask_value(parse_json(postback["body"]["data"].encode()))
    return postback | {
        "status": find_status(gateway, POSTBACK, postback),
        "record_path": f"/records/{_PLURALS[postback['resource']]}/{postback['record_id']}",
        "body": postback["body"] | {"data": data},
    }
