"""Users: the people and programs that call the gateway."""

from starlette.responses import Response

from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.call import Call
from gateway_async.sandbox.request.records import make_get, make_list, show
from gateway_async.sandbox.schema import USER

__all__ = ["get", "get_list", "get_self"]


async def get_self(call: Call) -> Response:
    """Handle GET /v2/users/me: the caller."""
    return json_response({"user": show(call, USER, call.user)})


get = make_get(USER)
get_list = make_list(USER)
