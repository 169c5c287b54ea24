"""Compare the rows with the sandbox: each function sends requests and returns one line for each difference."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from .field_table import Row
from .raw_client import RawClient
from .record_type import CreateMode, Recipe, RecordType, resolved
from .values import accepted_values, comes_back, is_valid_response, other, wrong

LARGEST_FILE = 5 * 1024 * 1024
"""Bytes."""
_FILES = ((1, 0, True), (4, 1, True), (5, 1, False), (1, LARGEST_FILE, True), (1, LARGEST_FILE + 1, False))
"""How many files, of how many bytes, and whether they are taken."""


def settable_problems(raw_client: RawClient, record_type: RecordType, row: Row) -> Iterator[str]:
    """Check that POST accepts and returns the shortest to the longest value, and refuses others."""
    for recipe in record_type.recipes_of(row.name):
        for value in accepted_values(row, recipe, raw_client, recipe.values):
            response = _post(raw_client, record_type, _body(raw_client, record_type, recipe, row, value))
            yield from _not_taken(record_type, row, f"POST of {_short(value)}", _shown(recipe, value), response)
    recipe = record_type.recipes_of(row.name)[0]
    for value in wrong(row, recipe, raw_client):
        response = _post(raw_client, record_type, _body(raw_client, record_type, recipe, row, value))
        yield from _not_refused(row, "POST", value, response)


def changeable_problems(raw_client: RawClient, record_type: RecordType, row: Row) -> Iterator[str]:
    """Check that PUT accepts the same values for an existing record."""
    for recipe in record_type.recipes_of(row.name):
        if not recipe.put:
            continue
        for value in accepted_values(row, recipe, raw_client, recipe.put_values):
            record = _record(raw_client, record_type, recipe)
            response = _put(
                raw_client, record_type, record, resolved(recipe.put_beside, raw_client) | {row.name: value}
            )
            yield from _not_taken(record_type, row, f"PUT of {_short(value)}", _shown(recipe, value), response)
    recipe = record_type.recipes_of(row.name)[0]
    record = _record(raw_client, record_type, recipe)
    for value in wrong(row, recipe, raw_client):
        response = _put(raw_client, record_type, record, resolved(recipe.put_beside, raw_client) | {row.name: value})
        yield from _not_refused(row, "PUT", value, response)


def fixed_problems(raw_client: RawClient, record_type: RecordType, row: Row, method: str) -> Iterator[str]:
    """Check that a field which the method may not set is refused by name, unless it is unchanged."""
    recipe = record_type.recipes_of(row.name)[0]
    if method == "POST":
        value = other(row, None)
        body = record_type.create_mode(recipe).body(raw_client) | {row.name: value}
        yield from _not_refused(row, "POST", value, _post(raw_client, record_type, body))
    elif row.name not in record_type.computed:
        record = _record(raw_client, record_type, recipe)
        value = other(row, record.get(row.name))
        yield from _not_refused(row, "PUT", value, _put(raw_client, record_type, record, {row.name: value}))


def file_problems(raw_client: RawClient, record_type: RecordType, row: Row) -> Iterator[str]:
    """Check that a form accepts up to four files of five megabytes each, and returns them on request."""
    for count, size, fits in _FILES:
        files = {f"{record_type.wrapper}[{row.name}][{n}]": (f"{n}.txt", b"x" * size) for n in range(count)}
        response = raw_client.http.post(
            f"{record_type.path}?expand={row.name}", data=_form(record_type, raw_client), files=files
        )
        sent = f"{count} files of {size} bytes"
        if not fits:
            yield from _not_refused(row, "POST", sent, response)
        elif not response.is_success or len(response.json()[record_type.response][row.name]) != count:
            yield f"{row}: POST of {sent} is answered with {response.status_code} {response.text[:200]}"
    yield from fixed_problems(raw_client, record_type, row, "POST")


def required_problems(raw_client: RawClient, record_type: RecordType, create_mode: CreateMode) -> Iterator[str]:
    """Check that each field of a smallest body is required, and named if missing, null or empty."""
    for name in create_mode.body(raw_client):
        row = record_type.table.by_name[name]
        for what, body in _without(create_mode.body(raw_client), name):
            response = _post(raw_client, record_type, body)
            yield from _not_refused(row, "POST", what, response, create_mode.otherwise.get(name))


def unknown_problems(raw_client: RawClient, record_type: RecordType) -> Iterator[str]:
    """Check that POST and PUT refuse an unknown field by name."""
    create_mode = record_type.create_modes[0]
    unknown = Row(record_type.table.name, "unheard_of", "text", (), "-", "no", "no", "no")
    body = create_mode.body(raw_client) | {"unheard_of": 1}
    yield from _not_refused(unknown, "POST", 1, _post(raw_client, record_type, body))
    if record_type.update:
        record = _record(raw_client, record_type, Recipe())
        yield from _not_refused(unknown, "PUT", 1, _put(raw_client, record_type, record, {"unheard_of": 1}))


def response_problems(rows: Mapping[str, Row], record: Mapping[str, Any]) -> Iterator[str]:
    """Check that a response has all fields of its table, with their types, and no others."""
    for name, row in rows.items():
        if row.response in ("yes", "null") and name not in record:
            yield f"{row}: is not in the response"
        elif row.response == "no" and name in record:
            yield f"{row}: must not be in a response"
        elif name in record and not is_valid_response(row, record[name]):
            yield f"{row}: came back as {record[name]!r}"
    yield from (f"{name}: is in the response and in no table" for name in record.keys() - rows.keys() - {"_links"})


def _form(record_type: RecordType, raw_client: RawClient) -> dict[str, str]:
    body = record_type.create_modes[0].body(raw_client)
    flat = {f"[{name}]": value for name, value in body.items() if not isinstance(value, dict)}
    nested = {name: value for name, value in body.items() if isinstance(value, dict)}
    flat |= {f"[{name}][{key}]": value for name, inner in nested.items() for key, value in inner.items()}
    return {f"{record_type.wrapper}{name}": str(value) for name, value in flat.items()}


def _body(raw_client: RawClient, record_type: RecordType, recipe: Recipe, row: Row, value: Any) -> dict[str, Any]:
    body = record_type.create_mode(recipe).body(raw_client) | resolved(recipe.beside, raw_client) | {row.name: value}
    return {name: said for name, said in body.items() if said is not ...}


def _without(body: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "nothing", {key: value for key, value in body.items() if key != name}
    yield "null", body | {name: None}
    yield "''", body | {name: ""}


def _record(raw_client: RawClient, record_type: RecordType, recipe: Recipe) -> dict[str, Any]:
    response = _post(raw_client, record_type, record_type.create_mode(recipe).body(raw_client))
    assert response.is_success, response.text
    record: dict[str, Any] = response.json()[record_type.response]
    return record


def _post(raw_client: RawClient, record_type: RecordType, body: dict[str, Any]) -> httpx.Response:
    return raw_client.post(record_type.path, record_type.wrapper, body)


def _put(
    raw_client: RawClient, record_type: RecordType, record: Mapping[str, Any], changes: Mapping[str, Any]
) -> httpx.Response:
    return raw_client.put(f"{record_type.path}/{record['id']}", record_type.wrapper, dict(changes))


def _shown(recipe: Recipe, value: Any) -> Any:
    return recipe.becomes.get(value, value) if recipe.becomes else value


def _not_taken(record_type: RecordType, row: Row, sent: str, shown: Any, response: httpx.Response) -> Iterator[str]:
    if not response.is_success:
        yield f"{row}: {sent} is answered with {response.status_code} {response.text[:200]}"
        return
    record = response.json()[record_type.response]
    if row.response == "no" and row.name in record:
        yield f"{row}: {sent} is answered with it"
    elif row.response in ("yes", "null") and row.name not in record:
        yield f"{row}: {sent} is answered without it"
    elif row.name in record and not comes_back(row, shown, record[row.name]):
        yield f"{row}: {sent} comes back as {_short(record[row.name])}"


def _not_refused(
    row: Row, method: str, value: Any, response: httpx.Response, names: set[str] | None = None
) -> Iterator[str]:
    named = set(response.json().get("errors", ())) if response.status_code == 422 else set()
    if not named or named - (names or {row.name}):
        yield f"{row}: {method} of {_short(value)} is answered with {response.status_code} {response.text[:200]}"


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 40 else f"{text[:20]}… ({len(text)} characters)"
