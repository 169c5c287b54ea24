"""The page of one record: its fields, its JSON, what can happen to it, and its history."""

from typing import Any

from starlette.responses import Response

from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.http.responses import decode_json, encode_json
from gateway_async.sandbox.pages.display.masking import mask_record
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.pages.records.families import find_table, summarize
from gateway_async.sandbox.pages.records.relations import find_links, find_referring
from gateway_async.sandbox.pages.records.states import find_transitions
from gateway_async.sandbox.request.records import make_links, show_whole
from gateway_async.sandbox.request.transaction_relations import read_changelogs
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION_BATCH
from gateway_async.sandbox.schema.fields import Row, Table

__all__ = ["show_details"]


async def show_details(request: PageRequest) -> Response:
    """Handle GET /records/{family}/{id}."""
    gateway, table, record_id = request.gateway, find_table(request.parameter("family")), request.parameter("id")
    row = gateway.find_known(table, record_id)
    record = _show_masked(gateway, table, row)
    return request.render(
        "record.html",
        plural=table.plural,
        title=table.title,
        singular=table.singular,
        summary=summarize(gateway, table, row),
        deleted=row["deleted_ts"],
        record=record,
        times={name for name, value in record.items() if name.endswith("_ts") and isinstance(value, int)},
        fields={name: value for name, value in record.items() if value not in (None, "", [], {})},
        empty=[name for name, value in record.items() if value in (None, "", [], {})],
        record_links=find_links(gateway, table, row),
        json=record | {"_links": make_links(gateway, table, row)},
        transitions=find_transitions(gateway, table, row),
        relations=find_referring(gateway, table, row),
        changelogs=_to_plain(read_changelogs(gateway, row)) if table is TRANSACTION_BATCH else [],
        requests=_find_requests(gateway, row["id"]),
    )


def _show_masked(gateway: Gateway, table: Table, row: Row) -> Row:
    return mask_record(table, _to_plain(show_whole(gateway, table, row)))


def _to_plain(value: Any) -> Any:
    """Return a value with its stored JSON decoded."""
    return decode_json(encode_json(value))


def _find_requests(gateway: Gateway, record_id: str) -> list[LoggedRequest]:
    """Return the logged requests about a record, newest first.

    They have its id in the path. Writes may have it in a body instead.
    """
    text = record_id.encode()
    return [
        entry
        for entry in reversed(gateway.requests)
        if record_id in entry.path or (entry.is_write and text in entry.request.body + entry.response.body)
    ]
