"""The rows against the sandbox: each function makes requests and returns what is not as the row says, one line each."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from .field_table import Row
from .raw_client import Desk
from .record_type import Family, Recipe, Way
from .values import comes_back, is_answer, other, tried, wrong

LARGEST_FILE = 5 * 1024 * 1024
"""Bytes."""
_FILES = ((1, 0, True), (4, 1, True), (5, 1, False), (1, LARGEST_FILE, True), (1, LARGEST_FILE + 1, False))
"""How many files, of how many bytes, and whether they are taken."""


def settable_problems(desk: Desk, family: Family, row: Row) -> Iterator[str]:
    """A POST takes the field from its shortest to its longest value, and answers with it; nothing else."""
    for recipe in family.recipes_of(row.name):
        for value in tried(row, recipe, desk, recipe.values):
            answer = desk.post(family.path, family.wrapper, _body(desk, family.way(recipe), recipe, row, value))
            yield from _not_taken(family, row, f"POST of {_short(value)}", _shown(recipe, value), answer)
    recipe = family.recipes_of(row.name)[0]
    for value in wrong(row, recipe, desk):
        answer = desk.post(family.path, family.wrapper, _body(desk, family.way(recipe), recipe, row, value))
        yield from _not_refused(row, "POST", value, answer)


def changeable_problems(desk: Desk, family: Family, row: Row) -> Iterator[str]:
    """A PUT takes the same values, of a record that is there."""
    for recipe in family.recipes_of(row.name):
        if not recipe.put:
            continue
        values = recipe.values if recipe.put_values is None else recipe.put_values
        for value in tried(row, recipe, desk, values):
            answer = _put(desk, family, _record(desk, family, recipe), {**recipe.put_beside, row.name: value})
            yield from _not_taken(family, row, f"PUT of {_short(value)}", _shown(recipe, value), answer)
    recipe = family.recipes_of(row.name)[0]
    record = _record(desk, family, recipe)
    for value in wrong(row, recipe, desk):
        answer = _put(desk, family, record, {**recipe.put_beside, row.name: value})
        yield from _not_refused(row, "PUT", value, answer)


def fixed_problems(desk: Desk, family: Family, row: Row, method: str) -> Iterator[str]:
    """A field that the method may not set is refused by name, unless what it says is so already."""
    recipe = family.recipes_of(row.name)[0]
    if method == "POST":
        value = other(row, None)
        body = family.way(recipe).body(desk) | {row.name: value}
        yield from _not_refused(row, "POST", value, desk.post(family.path, family.wrapper, body))
    elif row.name not in family.worked_out:
        record = _record(desk, family, recipe)
        value = other(row, record.get(row.name))
        yield from _not_refused(row, "PUT", value, _put(desk, family, record, {row.name: value}))


def file_problems(desk: Desk, family: Family, row: Row) -> Iterator[str]:
    """A POST as a form takes up to four files of up to five megabytes each, and hands them out when asked."""
    for count, size, fits in _FILES:
        files = {f"{family.wrapper}[{row.name}][{n}]": (f"{n}.txt", b"x" * size) for n in range(count)}
        answer = desk.http.post(f"{family.path}?expand={row.name}", data=_form(family, desk), files=files)
        sent = f"{count} files of {size} bytes"
        if not fits:
            yield from _not_refused(row, "POST", sent, answer)
        elif not answer.is_success or len(answer.json()[family.answer][row.name]) != count:
            yield f"{row}: POST of {sent} is answered with {answer.status_code} {answer.text[:200]}"
    yield from fixed_problems(desk, family, row, "POST")


def required_problems(desk: Desk, family: Family, way: Way) -> Iterator[str]:
    """Each field of a smallest body is needed, and named when it is missing, null or empty."""
    for name in way.body(desk):
        row = family.table.by_name[name]
        for what, body in _without(way.body(desk), name):
            answer = desk.post(family.path, family.wrapper, body)
            yield from _not_refused(row, "POST", what, answer, way.otherwise.get(name))


def unknown_problems(desk: Desk, family: Family) -> Iterator[str]:
    """A field that no table has is refused by name, on POST and on PUT."""
    way = family.ways[0]
    unknown = Row(family.table.name, "unheard_of", "text", (), "-", "-", "no", "no", "no", frozenset())
    body = way.body(desk) | {"unheard_of": 1}
    yield from _not_refused(unknown, "POST", 1, desk.post(family.path, family.wrapper, body))
    if family.update:
        record = _record(desk, family, Recipe())
        yield from _not_refused(unknown, "PUT", 1, _put(desk, family, record, {"unheard_of": 1}))


def answer_problems(rows: Mapping[str, Row], record: Mapping[str, Any]) -> Iterator[str]:
    """An answer has every field that is shown, each of its type, none that is not, and none that no table has."""
    for name, row in rows.items():
        if row.answer in ("yes", "null") and name not in record:
            yield f"{row}: is not in the answer"
        elif row.answer == "no" and name in record:
            yield f"{row}: must not be in an answer"
        elif name in record and not is_answer(row, record[name]):
            yield f"{row}: came back as {record[name]!r}"
    yield from (f"{name}: is in the answer and in no table" for name in record.keys() - rows.keys() - {"_links"})


def _form(family: Family, desk: Desk) -> dict[str, str]:
    body = family.ways[0].body(desk)
    flat = {f"[{name}]": value for name, value in body.items() if not isinstance(value, dict)}
    nested = {name: value for name, value in body.items() if isinstance(value, dict)}
    flat |= {f"[{name}][{key}]": value for name, inner in nested.items() for key, value in inner.items()}
    return {f"{family.wrapper}{name}": str(value) for name, value in flat.items()}


def _body(desk: Desk, way: Way, recipe: Recipe, row: Row, value: Any) -> dict[str, Any]:
    body = way.body(desk) | dict(recipe.beside) | {row.name: value}
    return {name: said for name, said in body.items() if said is not ...}


def _without(body: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "nothing", {key: value for key, value in body.items() if key != name}
    yield "null", body | {name: None}
    yield "''", body | {name: ""}


def _record(desk: Desk, family: Family, recipe: Recipe) -> dict[str, Any]:
    answer = desk.post(family.path, family.wrapper, family.way(recipe).body(desk))
    assert answer.is_success, answer.text
    record: dict[str, Any] = answer.json()[family.answer]
    return record


def _put(desk: Desk, family: Family, record: Mapping[str, Any], changes: Mapping[str, Any]) -> httpx.Response:
    return desk.put(f"{family.path}/{record['id']}", family.wrapper, dict(changes))


def _shown(recipe: Recipe, value: Any) -> Any:
    return recipe.becomes.get(value, value) if recipe.becomes else value


def _not_taken(family: Family, row: Row, sent: str, shown: Any, answer: httpx.Response) -> Iterator[str]:
    if not answer.is_success:
        yield f"{row}: {sent} is answered with {answer.status_code} {answer.text[:200]}"
        return
    record = answer.json()[family.answer]
    if row.answer == "no" and row.name in record:
        yield f"{row}: {sent} is answered with it"
    elif row.answer in ("yes", "null") and row.name not in record:
        yield f"{row}: {sent} is answered without it"
    elif row.name in record and not comes_back(row, shown, record[row.name]):
        yield f"{row}: {sent} comes back as {_short(record[row.name])}"


def _not_refused(
    row: Row, method: str, value: Any, answer: httpx.Response, names: set[str] | None = None
) -> Iterator[str]:
    named = set(answer.json().get("errors", ())) if answer.status_code == 422 else set()
    if not named or named - (names or {row.name}):
        yield f"{row}: {method} of {_short(value)} is answered with {answer.status_code} {answer.text[:200]}"


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 40 else f"{text[:20]}… ({len(text)} characters)"
