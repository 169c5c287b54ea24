"""The log of the requests that programs have sent, and the page of one request."""

from collections import defaultdict
from collections.abc import Callable
from math import ceil
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

import attrs
from starlette.responses import Response

from gateway_async.sandbox.http.request_log import LoggedMessage, LoggedRequest
from gateway_async.sandbox.http.responses import UnknownRecordError, parse_json
from gateway_async.sandbox.pages.bodies import show_message, show_query
from gateway_async.sandbox.pages.masking import mask_shown_text
from gateway_async.sandbox.pages.page_request import PageRequest
from gateway_async.sandbox.schema import API_IDS, ROUTER_ACCOUNT_VAULT, ROUTER_TRANSACTION, STORED, TOKEN

_PAGE_SIZE = 50
_AMOUNTS = ("transaction_amount", "amount_due", "amount")
_NO_AMOUNT = ("", "0.00")
"""The amounts that a list leaves out: a void and an address check have 0.00."""
_FAMILIES = {table.singular: table.plural for table in STORED if table is not TOKEN} | {
    ROUTER_TRANSACTION.singular: "transactions",
    ROUTER_ACCOUNT_VAULT.singular: "accountvaults",
}
"""The families of records by the wrapper of a response; the id of a stored token is its digest."""


@attrs.frozen
class ShownRequest:
    """A request as a list shows it.

    Attributes:
        api_id: The integrator id of the record in the body, or in the path of a lookup; "" without one.
        record_id: The id of the record in the response; "" without one.
        record_path: The page of that record.
        amount: The amount in the request or, without one, in the response; "" without both.
    """

    entry: LoggedRequest
    api_id: str
    record_id: str
    record_path: str
    amount: str

    def has(self, text: str) -> bool:
        """Whether a text is in what the list shows."""
        entry = self.entry
        shown = (f"{entry.method} {entry.path}", str(entry.status_code), self.api_id, self.record_id, self.amount)
        return any(text.lower() in each.lower() for each in shown)


_FILTERS: dict[str, tuple[str, Callable[[LoggedRequest], bool]]] = {
    "": ("All", lambda _: True),
    "writes": ("Writes", lambda entry: entry.is_write),
    "errors": ("Errors and faults", lambda entry: entry.has_failed or bool(entry.fault)),
}
"""The choices of entries: the label of a link, and which entries it shows."""


async def show_all(request: PageRequest) -> Response:
    """Handle GET /requests, with `?show=`, `?q=`, `?controls=1` and `?page=`."""
    show = request.query("show") if request.query("show") in _FILTERS else ""
    text, controls, page = request.query("q").strip(), request.query("controls"), request.page_number()
    _, matches = _FILTERS[show]
    chosen = [entry for entry in reversed(request.gateway.requests) if matches(entry)]
    listed = [entry for entry in chosen if controls or not is_control_call(entry)]
    found = [each for each in map(describe_request, listed) if each.has(text)] if text else listed
    shown = found[(page - 1) * _PAGE_SIZE : page * _PAGE_SIZE]
    query = {"q": text, "controls": "1" if controls else ""}
    return request.render(
        "requests.html",
        filters=[
            (f"/requests?{urlencode({'show': each} | query)}", each, label) for each, (label, _) in _FILTERS.items()
        ],
        show=show,
        text=text,
        controls=controls,
        hidden=len(chosen) - len(listed),
        is_empty=all(map(is_control_call, request.gateway.requests)) and not controls,
        requests=[each if isinstance(each, ShownRequest) else describe_request(each) for each in shown],
        page=page,
        page_count=max(1, ceil(len(found) / _PAGE_SIZE)),
        address=f"/requests?{urlencode({'show': show} | query | {'page': ''})}",
    )


async def show(request: PageRequest) -> Response:
    """Handle GET /requests/{number}."""
    number = request.parameter("number")
    entry = next((each for each in request.gateway.requests if str(each.number) == number), None)
    if entry is None:
        raise UnknownRecordError("request", number)
    return request.render(
        "request.html",
        shown=describe_request(entry),
        entry=entry,
        query=show_query(entry.query),
        messages=[("Request", show_message(entry.request)), ("Response", show_message(entry.response))],
    )


def is_control_call(entry: LoggedRequest) -> bool:
    """Whether a request was for the sandbox itself."""
    return entry.path.startswith("/_sandbox")


def describe_request(entry: LoggedRequest) -> ShownRequest:
    """Find the ids and the amount in an entry of the log."""
    wrapper, sent = _read_record(parse_json(entry.request.body) or _read_form(entry.request))
    family, received = _read_record(parse_json(entry.response.body))
    api_id = str(sent.get(API_IDS.get(wrapper)) or "")
    if "api_id" in parse_qs(entry.query.decode("latin-1")):
        api_id = unquote("".join(entry.path.split("/")[3:4]))  # /v2/<plural>/<id>
    record_id = str(received["id"]) if family in _FAMILIES and "id" in received else ""
    amounts = (str(each.get(name) or "") for each in (sent, received) for name in _AMOUNTS)
    return ShownRequest(
        entry,
        api_id=mask_shown_text(api_id),
        record_id=record_id,
        record_path=f"/records/{_FAMILIES[family]}/{record_id}" if record_id else "",
        amount=mask_shown_text(next((each for each in amounts if each not in _NO_AMOUNT), "")),
    )


def _read_form(message: LoggedMessage) -> dict[str, dict[str, str]]:
    """Read the masked fields of a form by wrapper; `quickinvoice[title]` is the field `title` of an invoice."""
    form: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for part in show_message(message).parts:
        wrapper, _, field = part.name.partition("[")
        form[wrapper][field.rstrip("]")] = part.text
    return form


def _read_record(body: Any) -> tuple[str, dict[str | None, Any]]:
    """Read the wrapper and the record of a body; a control call has no wrapper."""
    if not isinstance(body, dict):
        return "", {}
    return next(((name, value) for name, value in body.items() if isinstance(value, dict)), ("", body))
