"""The JSON of each type of a row: values of a length, invalid values, and the form of responses."""

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from .field_table import Row
from .record_type import Recipe

UNKNOWN_ID = "f" * 24
LARGEST = {"10": "9999999.99", "12": "999999999.99", "10,2": "99999999.99", "-": "9999999.99"}
"""The largest amounts: of ten or twelve characters, and of ten digits. Ten characters are the default."""

_SAMPLES: dict[str, Any] = {
    "text": "x",
    "digits": "1",
    "integer": 1,
    "flag": 1,
    "money": "1.00",
    "date": "2030-01-31",
    "timestamp": 1_900_000_000,
    "object": {"color": "red"},
    "list": [],
    "items": {"Tea": 1},
    "texts": ["a", "b"],
    "tags": ["a", "b"],
    "amounts": [{"type": "4S", "amount": "12.50"}, {"type": "4U", "amount": "999999999.99"}],
    "files": [],
    "secret": "x",
    "id": UNKNOWN_ID,
    "own-id": "x",
    "alias": "x",
    "url": "https://127.0.0.1/other",
}

_NO_TEXT: tuple[Any, ...] = (1, True, [], {})
_WRONG: dict[str, tuple[Any, ...]] = {
    "integer": ("x", 1.5, -1, True, [], {}),
    "flag": ("x", 2, 0.5, [], {}),
    "money": ("x", -1, "1e3", True, [], {}),
    "date": ("x", "2030-02-30", "31.01.2030", 20300131, True, [], {}),
    "object": ("x", 1, True, []),
    "items": ("x", 1, True, [], {}, {"Tea": "x"}, {"Tea": -1}, {"Tea": []}, {"Tea": "1.001"}),
    "texts": (1, True, {}, [1], [[]]),
    "tags": (1, True, {}, [1], [[]]),
    "amounts": (
        1,
        True,
        {},
        "x",
        [1],
        [{"type": "4S"}],
        [{"type": "4", "amount": "1"}],
        [{"type": "4S", "amount": "x"}],
    ),
    "id": (*_NO_TEXT, UNKNOWN_ID),
    "alias": (*_NO_TEXT, "nobody's"),
    "url": (*_NO_TEXT, "x", "ftp://127.0.0.1/"),
}
"""Values that no field of the type takes; a text takes no other type of JSON."""


def accepted_values(row: Row, recipe: Recipe, raw_client: Any, values: tuple[str, ...] | None) -> Iterator[Any]:
    """Return values that a request may have: the known ones, or the shortest and the longest."""
    known = row.values if values is None else values
    if known:
        yield from (int(value) if row.type == "integer" else value for value in known)
    elif row.type == "flag":
        yield from (0, 1, True, False, "0", "1")
    elif row.type == "tags":
        yield from ("a", ["a", "b"])
    elif row.type == "money":
        yield from ("0.01", 1, LARGEST[row.length])
    elif row.bounds:
        lengths = dict.fromkeys(row.bounds) if recipe.lengths is None else recipe.lengths
        yield from (of_length(row, recipe, raw_client, length) for length in lengths if length or row.type != "own-id")
    else:
        yield of_length(row, recipe, raw_client, 1)


def out_of_bounds(row: Row, recipe: Recipe, raw_client: Any) -> Iterator[Any]:
    """Return one value too short and one too long, if the length is limited; for money, invalid amounts."""
    if row.type == "money":
        yield from ("1.001", "-0.01")
        if row.length != "-":
            yield "1" + LARGEST[row.length]
    elif row.bounds and not row.values:
        shortest, longest = row.bounds
        if shortest and row.type != "integer":
            yield of_length(row, recipe, raw_client, shortest - 1)
        yield of_length(row, recipe, raw_client, longest + 1)


def wrong(row: Row, recipe: Recipe, raw_client: Any) -> Iterator[Any]:
    """Return values that no request may have: those out of bounds, unknown codes, other types."""
    yield from out_of_bounds(row, recipe, raw_client)
    if row.values:
        yield 9 if row.type == "integer" else "unheard-of"
    yield from _WRONG.get(row.type, _NO_TEXT)


def of_length(row: Row, recipe: Recipe, raw_client: Any, length: int) -> Any:
    """Return a value of a length, if the field has one."""
    if recipe.value:
        return recipe.value(raw_client, length)
    if row.type == "own-id":
        return raw_client.own_id(length)
    if row.type == "integer":
        return 10 ** (length - 1) if row.bounds else 1
    if row.type in ("text", "digits", "secret") and row.bounds:
        return str(_SAMPLES[row.type]) * length
    return _SAMPLES[row.type]


def other(row: Row, stored: Any) -> Any:
    """Return a value of the row's type that differs from the stored one."""
    if row.type == "flag":
        return 0 if stored in (1, True, "1") else 1
    sample: Any = int(row.values[0]) if row.type == "integer" and row.values else _SAMPLES[row.type]
    if sample == stored:
        return int(row.values[1]) if row.values else 2
    return sample


def comes_back(row: Row, said: Any, answered: Any) -> bool:
    """Return whether a response has the value that a request set."""
    if row.response == "null" or (row.response in ("-", "some") and answered is None):
        return answered is None
    if row.type == "flag":
        return answered is not None and str(answered).lower() in _SPELLINGS[str(said).lower()]
    if row.type == "money":
        return bool(answered == f"{Decimal(said):.2f}")
    if row.type == "tags":
        return [tag["title"] for tag in answered] == ([said] if isinstance(said, str) else said)
    if row.type == "items":
        return bool({name: Decimal(amount) for name, amount in answered.items()} == said)
    return bool(answered == said)


_YES, _NO = {"1", "true"}, {"0", "false"}
_SPELLINGS = {"1": _YES, "true": _YES, "0": _NO, "false": _NO}


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _matching(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and bool(re.fullmatch(pattern, value))


_RESPONDED: dict[str, Callable[[Any], bool]] = {
    "integer": lambda value: _integer(value) or value in ("1", True, False),
    "flag": lambda value: str(value).lower() in _YES | _NO,
    "money": _matching(r"-?[0-9]+\.[0-9]{2}"),
    "date": _matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:]{8})?"),
    "timestamp": lambda value: _integer(value) and 0 < value < 10**10,
    "object": lambda value: isinstance(value, dict),
    "items": lambda value: isinstance(value, dict) and bool(value),
    "list": lambda value: isinstance(value, list),
    **dict.fromkeys(("texts", "tags", "amounts"), lambda value: isinstance(value, list)),
    "files": lambda value: isinstance(value, list),
}


def is_valid_response(row: Row, value: Any) -> bool:
    """Return whether a value in a response has the row's type; null always has."""
    if value is None or row.response == "null":
        return value is None
    return _RESPONDED.get(row.type, _text)(value)
