"""Find the integrator id and the record in an entry of the request log."""

from typing import Any
from urllib.parse import parse_qs, unquote

from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.pages.display.bodies import parse_body
from gateway_async.sandbox.pages.display.masking import mask_shown_text
from gateway_async.sandbox.schema import ROUTER_ACCOUNT_VAULT, ROUTER_TRANSACTION, STORED

__all__ = ["find_api_id", "find_record_path"]


_API_IDS = [table.api_id for table in STORED if table.api_id]
_FAMILIES = {table.singular: table.plural for table in STORED} | {
    ROUTER_TRANSACTION.singular: "transactions",
    ROUTER_ACCOUNT_VAULT.singular: "accountvaults",
}


def find_api_id(entry: LoggedRequest) -> str:
    """Return the integrator id in a request; "" without one.

    It is in the body, or in the path of a lookup.
    """
    _, record = _read_record(parse_body(entry.request))
    if "api_id" in parse_qs(entry.query.decode("latin-1")):
        return mask_shown_text(unquote("".join(entry.path.split("/")[3:4])))  # /v2/<plural>/<id>
    return mask_shown_text(next((str(record[name]) for name in _API_IDS if record.get(name)), ""))


def find_record_path(entry: LoggedRequest) -> str:
    """Return the page of the record in a response; "" without one."""
    name, record = _read_record(parse_body(entry.response))
    return f"/records/{_FAMILIES[name]}/{record['id']}" if name in _FAMILIES and "id" in record else ""


def _read_record(body: Any) -> tuple[str, dict[str, Any]]:
    """Return the wrapper and the record of a body."""
    if isinstance(body, dict):
        for name, value in body.items():
            if isinstance(value, dict):
                return name, value
    return "", {}
