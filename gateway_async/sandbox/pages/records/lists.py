"""The pages that list records: the families, one family, and what a search found."""

from math import ceil
from urllib.parse import urlencode

from starlette.responses import Response

from gateway_async.sandbox.pages.records.families import (
    PAGE_SIZE,
    TITLES,
    count_families,
    find_table,
    list_records,
    search,
)
from gateway_async.sandbox.pages.visit import Visit

__all__ = ["show_families", "show_family"]


async def show_families(visit: Visit) -> Response:
    """Handle GET /records; `?q=` searches all families for an id."""
    text = visit.query("q").strip()
    found = search(visit.gateway, text) if text else []
    return visit.render("records.html", families=count_families(visit.gateway), text=text, found=found)


async def show_family(visit: Visit) -> Response:
    """Handle GET /records/{family}, with `?q=` and `?page=`."""
    table, text = find_table(visit.parameter("family")), visit.query("q").strip()
    page = visit.page_number()
    records, total = list_records(visit.gateway, table, text, page)
    return visit.render(
        "record_list.html",
        plural=table.plural,
        title=TITLES.get(table.plural, table.plural),
        has_api_id=bool(table.api_id),
        records=records,
        total=total,
        text=text,
        page=page,
        page_count=max(1, ceil(total / PAGE_SIZE)),
        address=f"{visit.request.url.path}?{urlencode({'q': text, 'page': ''})}",
    )
