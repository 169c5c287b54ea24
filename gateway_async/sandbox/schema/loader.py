"""Reads the data files of `sandbox/contract/`, one for each resource. The README there explains them.

A line of a field becomes a `Field` if the sandbox has the field. Its facts stay as they are written, for the tests that
compare them with the client's models.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gateway_async.sandbox.schema.fields import ContractLine, Field, Table
from gateway_async.sandbox.schema.kinds import HIDDEN_CODE, KINDS_BY_NAME

_AS_WRITTEN = (
    *("singular", "plural", "name", "title", "position", "api_id", "link", "subject", "page_size", "sort"),
    *("contract_fields", "expands", "expands_of", "actions", "examples"),
)
"""The keys that are attributes of a `Table`."""
_KEYS = frozenset({*_AS_WRITTEN, "filters", "stored", "fields", "defaults", "columns", "codes", "tables"})
_COLUMNS = 7
"""How many cells every line has; marks may follow."""
_POST = frozenset({"required", "required?", "yes", "yes?", "no", "no?"})
_PUT = frozenset({"yes", "yes?", "no", "no?"})
_RESPONSE = frozenset({"yes", "yes?", "no", "no?", "null", "some", "some?", "-"})
_MARKS = frozenset({"computed", "no-postback", "only", "secret", "stored"})
_MARKS_WITH_VALUE = ("=", "->", "~>", "or=")
_LENGTH = re.compile(r"(?P<low>[0-9]+)(-(?P<high>[0-9]+)|(?P<open>\+)|,2)?\??|-|none")


class ContractError(ValueError):
    """A mistake in a data file: the file, the line, the field, and what is wrong."""


def read_tables(folder: Path) -> dict[str, Table]:
    """Read every data file of a folder.

    Returns:
        The tables by the names of their files (`contacts`), and further ones with a dot (`tokens.request`).

    Raises:
        ContractError: A file has a mistake.
    """
    tables: dict[str, Table] = {}
    for path in sorted(folder.glob("*.toml")):
        tables |= _read_file(path)
    plurals = {"", *(table.plural for table in tables.values())}
    for file, table in tables.items():
        for field in table.fields:
            if field.target not in plurals:
                raise ContractError(f"{file}.toml, {field.name}: no records have the plural {field.target!r}")
    return tables


def _read_file(path: Path) -> dict[str, Table]:
    text = path.read_text(encoding="utf-8")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ContractError(f"{path.name}: {problem}") from None
    further = {f"{path.stem}.{name}": {"stored": False} | part for name, part in content.get("tables", {}).items()}
    return {name: _make_table(path.name, text, part) for name, part in ({path.stem: content} | further).items()}


def _make_table(file: str, text: str, content: Mapping[str, Any]) -> Table:
    if unknown := content.keys() - _KEYS:
        raise ContractError(f"{file}: unknown key {min(unknown)!r} (expected one of {', '.join(sorted(_KEYS))})")
    if missing := {"singular", "plural", "fields"} - content.keys():
        raise ContractError(f"{file}: the key {min(missing)!r} is missing")
    facts: dict[str, ContractLine] = {}
    fields = []
    for number, line in _number_lines(text, content["fields"]):
        try:
            fact = _read_line(line)
            fields.append(_make_field(fact, content.get("defaults", {}), content.get("columns", {})))
        except ValueError as problem:
            raise ContractError(f"{file}, line {number}, {line.split()[0]}: {problem}") from None
        if fact.name in facts:
            raise ContractError(f"{file}, line {number}, {fact.name}: the field has two lines")
        facts[fact.name] = fact
    _check_names(file, content, facts)
    return Table(
        fields=tuple(field for field in fields if field),
        filters=tuple(content.get("filters", ())),
        is_stored=content.get("stored", True) is not False,
        is_initial=content.get("stored") == "initial",
        codes={field: _read_codes(facts[field], titles) for field, titles in content.get("codes", {}).items()},
        facts=tuple(facts.values()),
        **{name: content[name] for name in _AS_WRITTEN if name in content},
    )


def _number_lines(text: str, table: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a table of fields, with their numbers in the file."""
    first = text[: text.index(table)].count("\n") + 1
    for number, line in enumerate(table.splitlines(), first):
        if line.strip() and not line.startswith("#"):
            yield number, line


def _check_names(file: str, content: Mapping[str, Any], facts: Mapping[str, ContractLine]) -> None:
    """Check that the names outside the table of fields are in it."""
    named = {key: [*content.get(key, ())] for key in ("filters", "defaults", "columns", "codes")}
    named |= {"api_id": [content.get("api_id")], "sort": [content.get("sort", "-id").removeprefix("-")]}
    for key, names in named.items():
        for name in names:
            if name and name not in facts and (key, name) != ("sort", "id"):
                raise ContractError(f"{file}, {key}: no field is named {name!r}")


def _read_codes(fact: ContractLine, titles: Mapping[str, str]) -> dict[Any, str]:
    return {int(code) if fact.kind == "integer" else code: title for code, title in titles.items()}


def _read_line(line: str) -> ContractLine:
    cells = line.split()
    if len(cells) < _COLUMNS:
        raise ValueError(f"{len(cells)} cells (expected {_COLUMNS}, and marks after them)")
    name, kind, contract, accepted, post, put, response, *marks = cells
    kind, _, values = kind.partition(":")
    _check(kind, "kind", KINDS_BY_NAME)
    _check(post, "POST", _POST)
    _check(put, "PUT", _PUT)
    _check(response, "response", _RESPONSE)
    _read_length(contract)
    for mark in marks:
        if not mark.startswith(_MARKS_WITH_VALUE):
            _check(mark, "mark", _MARKS)
    known = tuple(values.split(",")) if values else ()
    return ContractLine(name, kind, known, contract, accepted, post, put, response, tuple(marks))


def _check(cell: str, column: str, expected: Collection[str]) -> None:
    if cell not in expected:
        raise ValueError(f"unknown {column} {cell!r} (expected one of {', '.join(sorted(expected))})")


def _make_field(fact: ContractLine, defaults: Mapping[str, str], columns: Mapping[str, str]) -> Field | None:
    """Return the sandbox's field; None for one that only other gateways return."""
    settable, response = _read_methods(fact.post, fact.put), fact.response.removesuffix("?")
    if not settable and response == "-":
        return None
    marks = _read_marks(fact.marks)
    shown = response in {"yes", "null"} and "computed" not in marks
    low, high = _read_length(fact.contract if fact.accepted == "-" else fact.accepted) if settable else (0, None)
    kind = KINDS_BY_NAME[fact.kind]
    default = defaults.get(fact.name, marks.get("="))
    return Field(
        fact.name,
        HIDDEN_CODE if response == "null" and shown else kind,
        0 if fact.kind in {"money", "balance"} else low,
        high,
        choices=fact.values if "only" in marks else (),
        settable=settable if fact.kind != "files" else frozenset(),  # files are parts of a form, not values
        required=fact.post.startswith("required") and "or=" not in marks,
        stored=shown or "stored" in marks,
        shown=shown,
        in_postbacks="no-postback" not in marks,
        secret="secret" in marks,
        references=marks.get("->", ""),
        target=marks.get("->") or marks.get("~>", ""),
        default=int(default) if default is not None and kind.column == "INTEGER" else default,
        column=columns.get(fact.name, ""),
    )


@cache
def _read_methods(post: str, put: str) -> frozenset[str]:
    return frozenset(method for method, cell in (("POST", post), ("PUT", put)) if not cell.startswith("no"))


@cache
def _read_marks(marks: tuple[str, ...]) -> Mapping[str, str]:
    """Read the marks by name, with what follows an arrow or an equals sign."""
    starts = {mark: next(filter(mark.startswith, _MARKS_WITH_VALUE), mark) for mark in marks}
    return {start: mark.removeprefix(start) for mark, start in starts.items()}


@cache
def _read_length(text: str) -> tuple[int, int | None]:
    """Read the minimum and the maximum length."""
    length = _LENGTH.fullmatch(text)
    if length is None:
        raise ValueError(f"unknown length {text!r} (expected 0-64, 4, 1+ or 10,2, or - for none)")
    if length["low"] is None or ",2" in text:
        return 0, None
    return int(length["low"]), None if length["open"] else int(length["high"] or length["low"])
