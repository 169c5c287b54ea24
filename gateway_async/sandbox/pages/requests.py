"""The log of the requests that programs have sent, and the page of one request."""

from collections.abc import Callable
from math import ceil

import attrs
from starlette.responses import Response

from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.http.responses import UnknownRecordError
from gateway_async.sandbox.pages.display.bodies import show_message, show_query
from gateway_async.sandbox.pages.display.entries import find_api_id, find_record_path
from gateway_async.sandbox.pages.page_request import PageRequest

__all__ = ["show", "show_all"]


_PAGE_SIZE = 50


@attrs.frozen
class _Filter:
    """A choice of entries, as a link offers it."""

    label: str
    matches: Callable[[LoggedRequest], bool]


_FILTERS = {
    "": _Filter("All", lambda _: True),
    "writes": _Filter("Writes", lambda entry: entry.is_write),
    "errors": _Filter("Errors and faults", lambda entry: entry.has_failed or bool(entry.fault)),
}


async def show_all(request: PageRequest) -> Response:
    """Handle GET /, with `?show=` and `?page=`."""
    name, page = request.query("show"), request.page_number()
    chosen = _FILTERS.get(name, _FILTERS[""])
    entries = [entry for entry in reversed(request.gateway.requests) if chosen.matches(entry)]
    return request.render(
        "requests.html",
        filters=[(each, choice.label) for each, choice in _FILTERS.items()],
        chosen=name if name in _FILTERS else "",
        is_empty=not request.gateway.requests,
        requests=[(entry, find_api_id(entry)) for entry in entries[(page - 1) * _PAGE_SIZE : page * _PAGE_SIZE]],
        page=page,
        page_count=max(1, ceil(len(entries) / _PAGE_SIZE)),
        address=f"/?show={name if name in _FILTERS else ''}&page=",
    )


async def show(request: PageRequest) -> Response:
    """Handle GET /requests/{number}."""
    number = request.parameter("number")
    entry = next((each for each in request.gateway.requests if str(each.number) == number), None)
    if entry is None:
        raise UnknownRecordError("request", number)
    return request.render(
        "request.html",
        entry=entry,
        query=show_query(entry.query),
        api_id=find_api_id(entry),
        record_path=find_record_path(entry),
        messages=[("Request", show_message(entry.request)), ("Response", show_message(entry.response))],
    )
