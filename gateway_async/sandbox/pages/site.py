"""The pages: path, method and function.

To add a page, add a line here, a function in a module beside this one, and a template.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from gateway_async.sandbox.http.errors import RefusedError
from gateway_async.sandbox.pages import event_stream, reference, requests
from gateway_async.sandbox.pages.visit import Page, Visit
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.simulators.terminals import NothingWaitsError

__all__ = ["PAGES", "with_pages"]


PAGES: dict[str, dict[str, Page]] = {
    "/": {"GET": requests.show},
    "/events": {"GET": event_stream.stream},
    "/openapi.json": {"GET": reference.show_document},
    "/reference": {"GET": reference.show},
    "/reference/{operation}": {"GET": reference.show_operation, "POST": reference.send_operation},
}

_STATIC = Mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))


def with_pages(app: ASGIApp, gateway: Gateway, api: ASGIApp) -> ASGIApp:
    """Wrap an application so that the pages are served beside it.

    Args:
        app: The application.
        gateway: The gateway.
        api: The application without planned faults, for requests that a page sends.
    """
    routes: list[BaseRoute] = [_STATIC]
    routes += [Route(path, _endpoint(gateway, api, pages), methods=[*pages]) for path, pages in PAGES.items()]
    return Router(routes, redirect_slashes=False, default=app)


def _endpoint(gateway: Gateway, api: ASGIApp, pages: dict[str, Page]) -> Callable[[Request], Awaitable[Response]]:
    async def run(request: Request) -> Response:
        visit = Visit(gateway, request, api)
        try:
            if request.method == "POST":
                visit = await visit.with_form()
            return await pages["GET" if request.method == "HEAD" else request.method](visit)
        except (RefusedError, HTTPException, NothingWaitsError, ValueError) as error:
            return visit.show_error(error)

    return run
