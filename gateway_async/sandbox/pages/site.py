"""The pages: path, method and function.

To add a page, add a line here, a function in a module beside this one, and a template.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
from starlette.datastructures import Headers
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_async.sandbox.http.responses import RefusedError, UnknownRecordError
from gateway_async.sandbox.pages import connect, event_stream, requests, simulators, terminals
from gateway_async.sandbox.pages.page_request import PageRequest, PageView
from gateway_async.sandbox.pages.payment_pages import INVOICE_VIEWS, PAYLINK_VIEWS, download_file, with_paylinks
from gateway_async.sandbox.pages.records import details, families, postbacks, totals
from gateway_async.sandbox.routes import FORMS, ROUTES
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.simulators.terminals import NothingWaitsError

_DASHBOARD: dict[str, dict[str, PageView]] = {
    "/": {"GET": with_paylinks(totals.show_overview)},
    "/requests": {"GET": requests.show_all},
    "/requests/{number}": {"GET": requests.show},
    "/records": {"GET": families.show_families},
    "/records/{family}": {"GET": families.show_family},
    "/records/{family}/{id}": {"GET": details.show_details, "POST": details.change_record},
    "/batches": {"GET": totals.show_batches},
    "/batches/{id}": {"GET": totals.show_batches, "POST": totals.change_batch},
    "/ledger": {"GET": totals.show_ledger},
    "/events": {"GET": event_stream.stream},
    "/postbacks": {"GET": postbacks.show_all, "POST": postbacks.set_format},
    "/postbacks/{id}": {"GET": postbacks.show, "POST": postbacks.replay},
    "/outbox": {"GET": postbacks.show_outbox},
    "/faults": {"GET": simulators.show_faults, "POST": simulators.change_faults},
    "/clock": {"GET": simulators.show_clock, "POST": simulators.move_clock},
    "/connect": {"GET": connect.show, "POST": connect.reset},
    "/terminals": {"GET": terminals.show_all, "POST": terminals.add},
    "/terminals/{id}": {"GET": terminals.show, "POST": terminals.press},
    "/reference": {"GET": connect.show_reference},
    "/reference/openapi.json": {"GET": connect.show_example_document},
    "/openapi.json": {"GET": connect.show_document},
}
_PAYMENT: dict[str, dict[str, PageView]] = {
    "/quickinvoice": {"GET": INVOICE_VIEWS.show_by_id},
    "/quickinvoicepay/{id}": {"GET": INVOICE_VIEWS.show, "POST": INVOICE_VIEWS.pay},
    "/quickinvoicepay/{id}/payments/{payment_id}": {"GET": INVOICE_VIEWS.show_payment},
    "/quickinvoicepay/{id}/files/{file_id}": {"GET": download_file},
    "/paylinkpay/{id}": {"GET": PAYLINK_VIEWS.show, "POST": PAYLINK_VIEWS.pay},
    "/paylinkpay/{id}/payments/{payment_id}": {"GET": PAYLINK_VIEWS.show_payment},
}

PAGES = _DASHBOARD | _PAYMENT

_ENDPOINTS = frozenset({path.split("/")[1] for path in ROUTES | FORMS} | {"_sandbox"})
"""The first segments of paths that are not pages."""

_FILES = ExceptionMiddleware(StaticFiles(directory=Path(__file__).parent / "static"))


def with_pages(app: ASGIApp, gateway: Gateway) -> ASGIApp:
    """Wrap an application to serve the pages beside it."""

    async def send_file(scope: Scope, receive: Receive, send: Send) -> None:
        gateway.listener.mark_as_page()
        await _FILES(scope, receive, send)

    routes: list[BaseRoute] = [Mount("/static", send_file)]
    for path, pages in PAGES.items():
        error_template = "payment/error.html" if path in _PAYMENT else "error.html"
        routes.append(Route(path, _endpoint(gateway, pages, error_template), methods=[*pages]))

    async def run_unknown(scope: Scope, receive: Receive, send: Send) -> None:
        if _is_opened_by_a_browser(scope):
            request = PageRequest(gateway, Request(scope, receive), "error.html")
            error = RefusedError(404, "The sandbox has no page at this address.")
            await request.show_error(error)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return Router(routes, redirect_slashes=False, default=run_unknown)


def _is_opened_by_a_browser(scope: Scope) -> bool:
    """Whether a person has opened an address that is not an endpoint."""
    is_page = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].split("/")[1] not in _ENDPOINTS
    return is_page and "text/html" in Headers(scope=scope).get("accept", "")


def _endpoint(
    gateway: Gateway, pages: dict[str, PageView], error_template: str
) -> Callable[[Request], Awaitable[Response]]:
    async def run(http_request: Request) -> Response:
        request = PageRequest(gateway, http_request, error_template)
        try:
            if http_request.method == "POST":
                return await _submit(pages, await request.with_form())
            gateway.listener.mark_as_page()
            return await pages["GET"](request)
        except ClientDisconnect:
            return Response(status_code=400)
        except (RefusedError, NothingWaitsError, ValueError) as error:
            return request.show_error(error)

    return run


async def _submit(pages: dict[str, PageView], request: PageRequest) -> Response:
    """Do what a form asks for. The page of a refused form is shown again, with the problem."""
    try:
        return await pages["POST"](request)
    except UnknownRecordError:
        raise
    except ValueError as problem:
        return await pages["GET"](attrs.evolve(request, problem=str(problem)))
