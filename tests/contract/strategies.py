"""Generated requests: a good one for each operation, and what can be wrong with it.

A draft is a request that has not been sent. `good` makes one that the gateway takes; every function of `MISTAKES`
takes a draft and spoils one thing.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import attrs
import httpx
from hypothesis import strategies as st

from gateway_async.sandbox.routes import ROUTES

from . import calls
from .field_table import Row
from .raw_client import RawClient
from .record_type import RecordType, resolved
from .record_types import RECORD_TYPES
from .untyped_records import UNTYPED, make
from .values import accepted_values, wrong

Draw = Callable[[st.SearchStrategy[Any]], Any]

EVERY_OPERATION = tuple(f"{method} {path}" for path, handlers in ROUTES.items() for method in handlers)
ACTIONS = ("sale", "authonly", "avsonly", "force", "refund", "debit", "credit", "void", "authcomplete", "authincrement",
           "partialreversal", "tipadjust", "edit")  # fmt: skip
DEADLINE = 5.0
"""Seconds within which every response must arrive."""

_FAMILIES = {record_type.path: record_type for record_type in RECORD_TYPES if record_type.path}

text = st.text(max_size=20) | st.sampled_from(
    ["", "\0", "'; --", "%00", "١", "\U0001f375", "x" * 5000, "../..", "1e400"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
ascii_text = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30)
broken_bodies = st.binary(max_size=50) | st.sampled_from(
    [
        b"",
        b"{",
        b"null",
        b"[[[[",
        b'{"a": NaN}',
        b'{"a":1,"a":2}',
        b'"\\ud800"',
        b"\xff\xfe",
        b"[" * 100_000,
        b"1" * 5000,
    ]
)


@attrs.frozen
class Draft:
    """A request that was not sent yet.

    Attributes:
        operation: what it is a request for.
        wrapper: the key of `record`; empty when the body is the record itself.
        record: the JSON body's content; None when there is no JSON body.
        form, files: a multipart form instead.
        raw: bytes instead of either.
    """

    operation: str
    ids: tuple[str, ...] = ()
    wrapper: str = ""
    record: Any = None
    form: Mapping[str, Any] = attrs.field(factory=dict)
    files: tuple[tuple[str, Any], ...] = ()
    raw: bytes | None = None
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = attrs.field(factory=dict)
    method: str = ""

    @property
    def asks(self) -> str:
        """Return the operation that the request really asks for."""
        method, _, pattern = self.operation.partition(" ")
        return f"{self.method or method} {pattern}"

    @property
    def record_type(self) -> RecordType | None:
        """The record type that the path is about."""
        return _FAMILIES.get("/".join(self.operation.partition(" ")[2].split("/")[:3]))

    def send(self, http: httpx.Client) -> httpx.Response:
        method, _, pattern = self.asks.partition(" ")
        url = _fill(pattern, self.ids) + (f"?{urlencode(self.query)}" if self.query else "")
        sent = self._body()
        headers = sent.pop("headers", {}) | dict(self.headers)
        return http.request(method, url, headers=headers, timeout=DEADLINE, **sent)

    def about(self, record_id: str) -> "Draft":
        return attrs.evolve(self, ids=(record_id, *self.ids[1:]))

    def _body(self) -> dict[str, Any]:
        if self.raw is not None:
            return {"content": self.raw}
        if self.form or self.files:
            return {"data": dict(self.form), "files": list(self.files) or None}
        if self.record is None:
            return {}
        content = {self.wrapper: self.record} if self.wrapper else self.record
        return {"content": json.dumps(_prompt(content)).encode(), "headers": {"content-type": "application/json"}}


def _fill(pattern: str, ids: tuple[str, ...]) -> str:
    left = iter(ids)
    return "/".join(quote(next(left, "x"), safe="") if part.startswith("{") else part for part in pattern.split("/"))


def _prompt(content: Any) -> Any:
    """Return the same request without amounts that make a gateway, an issuer or a terminal wait."""
    if isinstance(content, dict):
        return {name: _prompt(value) for name, value in content.items() if not (name in _AMOUNTS and _is_slow(value))}
    return content


_AMOUNTS = ("transaction_amount", "amount", "amount_due")


def _is_slow(value: Any) -> bool:
    return str(value).startswith("8.") or str(value) in ("7.71", "7.710")


# --- good ones


def good(draw: Draw, raw_client: RawClient, operation: str) -> Draft:
    """Generate a request that succeeds; the records that it needs are created before."""
    method, _, path = operation.partition(" ")
    special = _SPECIAL.get(operation)
    if special:
        return special(raw_client)
    collection = "/".join(path.split("/")[:3])
    record_type = _FAMILIES.get(collection)
    if method == "POST" and path == collection and record_type:
        return Draft(operation, wrapper=record_type.wrapper, record=_new(draw, raw_client, record_type))
    if path == collection and method == "POST" and collection in _NEW:
        return Draft(operation, wrapper=_NEW[collection][0], record=_NEW[collection][1](raw_client))
    if method == "PUT" and collection in _CHANGES:
        wrapper, _ = _NEW[collection]
        return Draft(operation, (CREATED[collection](raw_client),), wrapper=wrapper, record=_CHANGES[collection])
    if method == "PUT" and record_type:
        return _change(draw, raw_client, operation, record_type)
    ids = (CREATED[collection](raw_client),) if "{" in path else ()
    return Draft(operation, ids, query=_listing(draw) if method == "GET" and path == collection else ())


def _new(draw: Draw, raw_client: RawClient, record_type: RecordType) -> dict[str, Any]:
    create_mode = draw(st.sampled_from(record_type.create_modes))
    rows = [row for row in record_type.table.rows if row.post == "yes" and row.type != "files"]
    row = draw(st.none() | st.sampled_from(rows)) if rows else None
    body: dict[str, Any] = create_mode.body(raw_client)
    if row:
        recipe = record_type.recipes_of(row.name)[0]
        body = record_type.create_mode(recipe).body(raw_client) | resolved(recipe.beside, raw_client)
        body[row.name] = _one_of(draw, list(accepted_values(row, recipe, raw_client, recipe.values)))
    return {name: value for name, value in body.items() if value is not ...}


def _change(draw: Draw, raw_client: RawClient, operation: str, record_type: RecordType) -> Draft:
    rows = [row for row in record_type.table.rows if row.put == "yes" and record_type.recipes_of(row.name)[0].put]
    row = draw(st.sampled_from(rows))
    recipe = record_type.recipes_of(row.name)[0]
    values = list(accepted_values(row, recipe, raw_client, recipe.put_values))
    changes = resolved(recipe.put_beside, raw_client) | {row.name: _one_of(draw, values)}
    response = raw_client.post(record_type.path, record_type.wrapper, record_type.create_mode(recipe).body(raw_client))
    assert response.is_success, response.text
    made = response.json()[record_type.response]
    return Draft(operation, (made["id"],), wrapper=record_type.wrapper, record=changes)


def _one_of(draw: Draw, values: list[Any]) -> Any:
    return values[draw(st.integers(0, len(values) - 1))]


def _listing(draw: Draw) -> tuple[tuple[str, str], ...]:
    parameters = {
        "page": st.sampled_from(["1", "2", "999"]),
        "page_size": st.sampled_from(["1", "20", "5000", "6000"]),
        "sort": st.sampled_from(["id", "-created_ts"]),
        "created_ts": st.sampled_from(["today", "last 30 days", "this week", "1", "0,1"]),
    }
    return tuple(draw(st.fixed_dictionaries({}, optional=parameters)).items())


def _transaction(raw_client: RawClient, operation: str, ids: tuple[str, str]) -> Draft:
    return Draft(operation, ids[:1], wrapper="quickinvoice", record={"transaction_id": ids[1]})


CREATED: dict[str, Callable[[RawClient], str]] = {
    **{path: record_type.make for path, record_type in _FAMILIES.items() if record_type.resource},
    "/v2/transactions": lambda raw_client: raw_client.sale(action="authonly")["id"],
    "/v2/transactionbatches": calls.open_batch,
    "/v2/quickinvoices": calls.invoice,
    "/v2/recurrings": calls.recurring,
    **{path: partial(make, path=path) for path in UNTYPED},
    "/v2/hostedpaymentpages": calls.hosted_page,
    "/v2/locations": calls.location,
    "/v2/terminals": calls.terminal,
    "/v2/users": calls.user,
    "/v2/authroleusers": calls.role,
}
_NEW: dict[str, tuple[str, Callable[[RawClient], dict[str, Any]]]] = {
    **UNTYPED,
    "/v2/locations": ("location", calls.branch),
    "/v2/terminals": ("terminal", lambda at: calls.DEVICE | {"location_id": at.info.location_id}),
    "/v2/users": ("user", lambda _: {"first_name": "Ada", "password": "Planted-secret-1"}),
    "/v2/authroleusers": ("authroleuser", calls.new_role),
}
"""The wrapper and the fields of a new record, by path, where the SDK has no model of the request."""
_CHANGES: dict[str, dict[str, Any]] = {
    "/v2/locations": {"city": "Leeds"},
    "/v2/terminals": {"title": "Bar", "terminal_timeouts": {"overall_timeout": 60}},
    "/v2/users": {"first_name": "Ada", "password": "Planted-secret-2"},
}
_ADD, _REMOVE = "PUT /v2/quickinvoices/{id}/addTransaction", "PUT /v2/quickinvoices/{id}/removeTransaction"
_REOPEN = "POST /v2/quickinvoices/{id}/reopen"
_ATTACH, _DETACH = "POST /v2/quickinvoices/{id}/files", "DELETE /v2/quickinvoices/{id}/files/{file_id}"
_SKIP, _DEFER = "POST /v2/recurrings/{id}/skipPayment", "POST /v2/recurrings/{id}/deferPayment"
_ACTIVATE = "POST /v2/recurrings/{id}/activate"
_LOGOUT = "DELETE /v2/token/{token}"
_OVERRIDE, _CORRECT = "POST /v2/transactions/{id}/override", "POST /v2/transactions/{id}/achupdate"
_FILE, _NEW_PAGE = "GET /custom/tsvtransactions", "POST /v2/hostedpaymentpages"
_SPECIAL: dict[str, Callable[[RawClient], Draft]] = {
    _ADD: lambda raw_client: _transaction(raw_client, _ADD, (calls.invoice(raw_client), raw_client.sale()["id"])),
    _REMOVE: lambda raw_client: _transaction(raw_client, _REMOVE, calls.paid_invoice(raw_client)),
    _REOPEN: lambda raw_client: Draft(_REOPEN, (calls.closed_invoice(raw_client),)),
    _ATTACH: lambda raw_client: Draft(
        _ATTACH, (calls.invoice(raw_client),), files=(("file[file]", ("a.txt", b"tea")),)
    ),
    _DETACH: lambda raw_client: Draft(_DETACH, calls.attached(raw_client)),
    _SKIP: lambda raw_client: Draft(_SKIP, (calls.recurring(raw_client),), query=(("skip_count", "1"),)),
    _DEFER: lambda raw_client: Draft(_DEFER, (calls.recurring(raw_client),), query=(("defer_count", "1"),)),
    _ACTIVATE: lambda raw_client: Draft(_ACTIVATE, (calls.held_recurring(raw_client),)),
    _LOGOUT: lambda raw_client: Draft(_LOGOUT, (calls.token(raw_client),)),
    _OVERRIDE: lambda raw_client: Draft(_OVERRIDE, (calls.refused_check(raw_client),)),
    _CORRECT: lambda raw_client: Draft(
        _CORRECT, (calls.voided_check(raw_client),), wrapper="transaction", record={"transaction_amount": "13.00"}
    ),
    _FILE: lambda raw_client: Draft(
        _FILE, query=(("location_id", raw_client.info.location_id), ("from_date", "2020-01-31 00:00:00"))
    ),
    _NEW_PAGE: lambda raw_client: Draft(
        _NEW_PAGE,
        wrapper="hostedpaymentpage",
        record={"location_id": raw_client.info.location_id, "title": "Tea", "redirect_url_delay": 5},
    ),
}


# --- mistakes


def wrong_value(draw: Draw, raw_client: RawClient, draft: Draft) -> Draft:
    """Give one field of the record type an invalid value."""
    if draft.record_type is None or not isinstance(draft.record, dict):
        return draft
    row: Row = draw(st.sampled_from(draft.record_type.table.rows))
    values = list(wrong(row, draft.record_type.recipes_of(row.name)[0], raw_client))
    return attrs.evolve(draft, record=draft.record | {row.name: _one_of(draw, values)})


def wild_value(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Give up to eight fields, of the request, of its record type or unknown, any JSON."""
    record = draft.record if isinstance(draft.record, dict) else {}
    names = sorted({*record, *(draft.record_type.table.by_name if draft.record_type else ())})
    changed = st.dictionaries(st.sampled_from(names) | text if names else text, json_values, min_size=1, max_size=8)
    return attrs.evolve(draft, record=record | draw(changed))


def missing_field(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Omit one field."""
    if not isinstance(draft.record, dict) or not draft.record:
        return draft
    left_out = draw(st.sampled_from(sorted(draft.record)))
    return attrs.evolve(draft, record={name: value for name, value in draft.record.items() if name != left_out})


def another_action(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Ask for an action that the transaction may not allow."""
    if draft.wrapper != "transaction" or not isinstance(draft.record, dict):
        return draft
    action = {"action": draw(st.sampled_from(ACTIONS)), "transaction_amount": draw(st.sampled_from(["1.00", "20.00"]))}
    return attrs.evolve(draft, record=draft.record | action)


def wild_body(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Send any JSON as the body, with or without the wrapper, or invalid JSON."""
    if draw(st.booleans()):
        return attrs.evolve(draft, raw=draw(broken_bodies), headers=_headers(draft, "application/json"))
    wrapper = draw(st.just(draft.wrapper) | text)
    return attrs.evolve(draft, record=draw(json_values), wrapper=wrapper, form={}, files=())


def wild_form(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Send a multipart form with unknown names, or an incomplete one."""
    if draw(st.integers(0, 3)) == 0:
        broken = draw(st.sampled_from([b"", b"--x", b"--x\r\n\r\n", b'--x\r\ncontent-disposition: form-data; name="a'])
                      | st.binary(max_size=60))  # fmt: skip
        kind = draw(st.sampled_from(["multipart/form-data; boundary=x", "multipart/form-data", "multipart/mixed"]))
        return attrs.evolve(draft, raw=broken, headers=_headers(draft, kind))
    field = st.sampled_from(
        ["title", "due_date", "item_list", "item_list][Tea", "tags][0", "files][0", "files][x", "["]
    )
    names = st.builds("{}[{}]".format, st.sampled_from(["quickinvoice", "file", "contact", ""]), field | text)
    form = {name: str(value) for name, value in draw(st.dictionaries(names, text, max_size=4)).items()}
    files = draw(st.lists(st.tuples(names, st.tuples(ascii_text, st.binary(max_size=20))), max_size=3))
    return attrs.evolve(draft, record=None, form=form, files=(*files, *draft.files))


def wild_query(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Send filters, sorting, paging and expands with any text."""
    known = ("page", "page_size", "sort", "expand", "api_id", "location_id", "created_ts", "created_ts_from", "sms",
             "email", "id", "status_id", "transaction_amount", "title", "is_open")  # fmt: skip
    value = text | st.sampled_from(
        ["1", "-1", "0", "1,2", "1.00|2.00", "custom", "-id", "contact,location", "true", "9" * 30]
    )
    pairs = draw(st.lists(st.tuples(st.sampled_from(known) | text, value), min_size=1, max_size=4))
    return attrs.evolve(draft, query=(*draft.query, *((name, _utf8(value)) for name, value in pairs)))


def wild_ids(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Use unknown ids, or ids that break a path."""
    return attrs.evolve(draft, ids=tuple(_utf8(draw(text.filter(bool))) for _ in draft.ids))


def wild_headers(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Send any headers; invalid credentials are a 401."""
    names = ["authorization", "user-id", "user-api-key", "developer-id", "access-token", "hash-key", "timestamp",
             "content-type", "accept", "cookie", "x-forwarded-for", "if-none-match", "range"]  # fmt: skip
    value = ascii_text | st.sampled_from(
        ["Basic eDp5", "Basic x", "Bearer x", "Basic", "application/json", "text/html"]
    )
    return attrs.evolve(draft, headers=draw(st.dictionaries(st.sampled_from(names), value, min_size=1, max_size=3)))


def other_method(draw: Draw, _desk: RawClient, draft: Draft) -> Draft:
    """Use a method that the path may not allow."""
    return attrs.evolve(
        draft, method=draw(st.sampled_from(["GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"]))
    )


MISTAKES = (
    wrong_value,
    wild_value,
    missing_field,
    another_action,
    wild_body,
    wild_form,
    wild_query,
    wild_ids,
    wild_headers,
    other_method,
)


def any_draft(draw: Draw, raw_client: RawClient, operation: str) -> Draft:
    """Generate a request with no mistake, one, or two."""
    draft = good(draw, raw_client, operation)
    for mistake in draw(st.lists(st.sampled_from(MISTAKES), max_size=2)):
        draft = mistake(draw, raw_client, draft)
    return draft


def _headers(draft: Draft, content_type: str) -> dict[str, str]:
    return {**draft.headers, "content-type": content_type}


def _utf8(value: str) -> str:
    return value.encode("utf-8", "replace").decode()
