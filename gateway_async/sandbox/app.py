"""The ASGI application: request routing and error responses.

Paths are matched while they are still percent-encoded, so an integrator id may contain any
character. A trailing slash is optional.
"""

from collections.abc import Collection, Sequence
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_async.sandbox.controls.calls import CONTROL_ROUTES
from gateway_async.sandbox.fault_effects import with_faults
from gateway_async.sandbox.http.request_guards import with_request_guards
from gateway_async.sandbox.http.request_log import LoggedRequest, OnRequest, with_request_log
from gateway_async.sandbox.http.responses import RefusedError, RefusedFieldsError, error_response, json_response
from gateway_async.sandbox.openapi.operations import query_names
from gateway_async.sandbox.pages.site import with_pages
from gateway_async.sandbox.request.context import RequestContext, read_query
from gateway_async.sandbox.request.credentials import PARAMETERS, authenticate, extend_token
from gateway_async.sandbox.request.expands import read_expands
from gateway_async.sandbox.request.standard_handlers import RequestHandler
from gateway_async.sandbox.request.validation import log_ignored_parameters
from gateway_async.sandbox.routes import FORMS, POSTED_UPDATES, ROUTES
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import label

_PATHS = ROUTES | FORMS
_PARAMETERS = PARAMETERS | {"expand"}
"""The parameters of every operation."""
_HANDLED = (RefusedError, RefusedFieldsError, HTTPException, ClientDisconnect, Exception)


def make_app(gateway: Gateway, on_request: OnRequest | None = None, hosts: Collection[str] = ()) -> ASGIApp:
    """Create the ASGI application of one gateway.

    Args:
        gateway: The gateway.
        on_request: Called with an entry for each request but those for pages.
        hosts: Host names that pages and control calls also answer to, besides IP addresses and localhost.
    """
    app = Starlette(routes=_routes(), exception_handlers=dict.fromkeys(_HANDLED, _handle_error))
    app.router.redirect_slashes = False
    app.state.gateway = gateway

    def log(entry: LoggedRequest) -> None:
        gateway.requests.append(entry)
        gateway.live_updates.publish("requests")
        if on_request:
            on_request(entry)

    logged = with_request_log(with_faults(app, gateway), on_request=log)
    whole_app = with_request_guards(with_pages(logged, gateway), hosts)

    async def with_encoded_path(scope: Scope, receive: Receive, send: Send) -> None:
        scope["path"] = scope["raw_path"].decode("ascii").rstrip("/") or "/"
        await whole_app(scope, receive, send)

    return with_encoded_path


@cache
def _routes() -> Sequence[BaseRoute]:
    """Return the routes, which all sandboxes of this process share."""
    routes = [Route(path, _endpoint(path, handlers), methods=_methods(path)) for path, handlers in _PATHS.items()]
    return [*routes, *CONTROL_ROUTES]


def _methods(path: str) -> list[str]:
    return [*_PATHS[path], *(["POST"] if path in POSTED_UPDATES else [])]


def _endpoint(path: str, handlers: dict[str, RequestHandler]) -> Any:
    async def run(request: Request) -> Response:
        gateway = cast("Gateway", request.app.state.gateway)
        query = read_query(request)
        method = "GET" if request.method == "HEAD" else request.method
        if method == "POST" and path in POSTED_UPDATES:
            method = "PUT"
        caller = authenticate(gateway, f"{method} {path}", request.headers, query)
        _check_parameters(gateway, method, path, query)
        expands = read_expands(path.removeprefix("/v2").split("/")[1], query.get("expand", ""))
        response = await handlers[method](RequestContext(gateway, caller.user, query, expands, request))
        response.headers["date"] = _http_date(gateway)
        if caller.token and response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            extend_token(gateway, caller.token)
        return response

    return run


def _check_parameters(gateway: Gateway, method: str, path: str, query: Collection[str]) -> None:
    """Log unknown parameters of a query; a strict gateway refuses them."""
    known = _PARAMETERS | query_names(method, path) | ({"api_id"} if "{" in path else set())
    unknown = [name for name in query if name not in known]
    if gateway.strict and unknown:
        raise RefusedFieldsError({name: [f"{label(name)} is not a known parameter."] for name in unknown})
    log_ignored_parameters(f"{method} {path}", unknown)


def _http_date(gateway: Gateway) -> str:
    """The `Date` header, by the clock that also checks timestamps."""
    return formatdate(gateway.clock.now(), usegmt=True)


async def _handle_error(request: Request, error: Exception) -> Response:
    response = _error_response(error)
    response.headers["date"] = _http_date(request.app.state.gateway)
    return response


def _error_response(error: Exception) -> Response:
    match error:
        case RefusedError():
            return error_response(error.status_code, error.message)
        case RefusedFieldsError():
            return json_response({"errors": error.problems}, 422)
        case HTTPException():
            response = error_response(error.status_code, f"{error.detail}.")
            response.headers.update(error.headers or {})
            return response
        case ClientDisconnect():
            return Response(status_code=400)
        case _:
            return error_response(500, "The sandbox failed; this is a bug, not a planned fault.")
