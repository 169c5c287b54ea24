"""The pages that list records: the families, one family, and what a search found."""

from math import ceil
from urllib.parse import urlencode

from starlette.responses import Response

from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.families import (
    PAGE_SIZE,
    count_families,
    find_table,
    list_records,
    search,
)

__all__ = ["show_families", "show_family"]


async def show_families(request: PageRequest) -> Response:
    """Handle GET /records; `?q=` searches all families for an id."""
    text = request.query("q").strip()
    found = search(request.gateway, text) if text else []
    return request.render("records.html", families=count_families(request.gateway), text=text, found=found)


async def show_family(request: PageRequest) -> Response:
    """Handle GET /records/{family}, with `?q=` and `?page=`."""
    table, text = find_table(request.parameter("family")), request.query("q").strip()
    page = request.page_number()
    records, total = list_records(request.gateway, table, text, page)
    return request.render(
        "record_list.html",
        plural=table.plural,
        title=table.title,
        has_api_id=bool(table.api_id),
        records=records,
        total=total,
        text=text,
        page=page,
        page_count=max(1, ceil(total / PAGE_SIZE)),
        address=f"{request.http_request.url.path}?{urlencode({'q': text, 'page': ''})}",
    )
