"""Validation of requests before sending: finds all problems, one line each, starting with the field's name.

The limits are declared on the fields in `models/`. Values of a wrong type are rejected even if limits are not checked,
because they would change on the way. Floats as money are the main example.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from gateway_async._secrets import Secret, mask_text
from gateway_async._text import Problem
from gateway_async._wire.amounts import add, as_number, money
from gateway_async._wire.fields import GivenFields, RequestField, cents_problems, fields_of, given_fields
from gateway_async._wire.json_text import INVALID_CHARACTER, encode, is_utf8, join_path, unsendable, unsendable_text
from gateway_async.models.request import (
    Amounts,
    ExactlyOne,
    FieldRule,
    Items,
    NotBoth,
    NotWhen,
    Request,
    RequiredWhen,
    Together,
)

_SHOWN: Final = 40
"""The number of characters of an unknown code that a problem quotes."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_TYPE_CHARACTERS: Final = 2
"""The length of the type of an additional amount."""

_NAMES: Mapping[type, str] = {
    str: "text",
    bool: "True or False",
    int: "a whole number",
    Decimal: "an amount",
    date: "a date",
    datetime: "a datetime",
    Mapping: "a mapping",
    Sequence: "a sequence of texts",
}


def problems(request: Request, *, limits: bool = True, given: GivenFields | None = None) -> list[Problem]:
    """The problems of a request, one line each.

    The list is empty if the request can be sent.

    Args:
        request: the content of a create or an update.
        limits: whether to check lengths, patterns, required fields and the rules between fields. Values of the wrong
            type are always reported.
        given: the given fields, if the client has filled in some; by default the request's own.
    """
    given = given_fields(request) if given is None else given
    found: list[Problem] = []
    for field, value in given:
        if value is not None:
            found += _value_problems(field, value, limits)
        elif limits and field.required:
            found.append(Problem("is required", field.name))
    if limits and request.rules:
        values = {field.name: value for field, value in given if value is not None}
        found += [problem for rule in request.rules if (problem := _RULES[type(rule)](rule, values))]
    if request.extra != {}:
        found += _extra_problems(request)
    return found


def _value_problems(field: RequestField, value: Any, limits: bool) -> Sequence[Problem]:
    text, kind = (value.reveal(), value.kind) if isinstance(value, Secret) else (value, type(value))
    if type(value) not in field.usual or not (text.isascii() if kind is str else kind is type(value)):
        if wrong := _type_problem(field, value, text, kind):
            return [Problem(wrong, field.name)]
        if isinstance(value, Sequence | Mapping) and not isinstance(value, str):
            return [Problem(message, path) for path, message in _part_problems(field, value, limits)]
        if limits and field.codes and (unknown := _unknown_code(field, value)):
            return [Problem(unknown, field.name)]
    found: list[Problem] = []
    if limits:
        for check in field.checks:
            if messages := check(text):
                found += [Problem(message, field.name) for message in messages]
    return found


def _part_problems(field: RequestField, value: Any, limits: bool) -> Iterator[tuple[str, str]]:
    if field.items:
        yield from _items_problems(field.name, value, field.items, limits)
    elif field.amounts:
        yield from _amounts_problems(field.name, value, field.amounts, limits)
    elif isinstance(value, Mapping):
        yield from unsendable(value, field.name)
    else:
        for index, text in enumerate(value):
            yield from unsendable_text(text, f"{field.name}[{index}]")


def _type_problem(field: RequestField, value: Any, text: Any, kind: type) -> str | None:
    """Describe a value of the wrong type; for a secret, `text` and `kind` are those of its plain value."""
    if field.cents:
        return money_problem(value)
    fits = isinstance(value, field.kinds) and (not isinstance(value, Secret) or kind is str)
    if isinstance(value, bool) and bool not in field.kinds:
        fits = False
    if bool in field.kinds and isinstance(value, int) and value in (0, 1):
        fits = True
    if isinstance(value, datetime) and datetime not in field.kinds:
        fits = False
    if isinstance(value, str | bytes) and Sequence in field.kinds:
        fits = isinstance(value, str) and str in field.kinds
    if fits:
        return INVALID_CHARACTER if isinstance(text, str) and not is_utf8(text) else None
    return f"must be {_expected_types(field)}, not {kind.__name__}"


def _expected_types(field: RequestField) -> str:
    names = dict.fromkeys(
        _NAMES.get(kind, "a whole number" if issubclass(kind, int) else "text") for kind in field.kinds
    )
    return " or ".join(names)


def money_problem(value: Any) -> str | None:
    """Describe what is wrong with an amount."""
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        return f"must be a Decimal, an int or a str, not {type(value).__name__}"
    try:
        money(value)
    except ValueError as error:
        return str(error)
    return None


def _unknown_code(field: RequestField, value: Any) -> str | None:
    """Describe an unknown code that is given as text. Only an open enum's value may be unknown."""
    if value in field.codes or isinstance(value, field.open_codes):
        return None
    shown = mask_text(value)[:_SHOWN]
    near = get_close_matches(value, field.codes, n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    anyway = "".join(f'; pass {kind.__name__}("{shown}") to send it anyway' for kind in field.open_codes)
    return f"unknown value {shown!r}{hint} (expected {', '.join(field.codes)}{anyway})"


def _items_problems(field: str, items: Mapping[Any, Any], bounds: Items, limits: bool) -> Iterator[tuple[str, str]]:
    """Yield the problems of amounts by name. Their length and their sum are checked only if all are valid amounts."""
    wrong = [
        (join_path(field, name), line)
        for name, amount in items.items()
        for line in _item_problems(name, amount, bounds, limits)
    ]
    yield from wrong
    if limits and not wrong:
        amounts = {name: as_number(amount) for name, amount in items.items()}
        length = len(encode(amounts).decode())
        if not bounds.minimum <= length <= bounds.maximum:
            yield field, f"must have {bounds.minimum} to {bounds.maximum} characters as JSON, has {length}"
        if (total := add(*amounts.values())) < 0:
            yield field, f"must add up to 0.00 or more, not {total:f}"


def _item_problems(name: Any, amount: Any, bounds: Items, limits: bool) -> Iterator[str]:
    yield from (f"its name {reason}" for _, reason in unsendable_text(name, ""))
    wrong = money_problem(amount)
    if wrong:
        yield wrong
    elif limits and not name:
        yield "its name is empty"
    elif limits:
        yield from cents_problems(money(amount).removeprefix("-"), bounds.digits)


def _amounts_problems(field: str, amounts: Sequence[Any], bounds: Amounts, limits: bool) -> Iterator[tuple[str, str]]:
    for index, entry in enumerate(amounts):
        path = f"{field}[{index}]"
        if not isinstance(entry, Mapping):
            yield path, f"must be a mapping of type and amount, not {type(entry).__name__}"
            continue
        rest = {name: value for name, value in entry.items() if name != "amount"}
        yield from unsendable(rest, path)
        wrong = money_problem(entry.get("amount", ""))
        if wrong:
            yield f"{path}.amount", wrong
        elif limits:
            yield from ((f"{path}.amount", line) for line in cents_problems(money(entry["amount"]), bounds.digits))
        if limits and len(str(entry.get("type", ""))) != _TYPE_CHARACTERS:
            yield f"{path}.type", f"must have {_TYPE_CHARACTERS} characters"


def _exactly_one(rule: ExactlyOne, given: Mapping[str, Any]) -> Problem | None:
    names = [name for name in rule.fields if name in given]
    if len(names) == 1 or (names and frozenset(names) == rule.pair):
        return None
    return Problem(f"exactly one of {', '.join(rule.fields)} is needed", *(names or rule.fields[:1]))


def _not_both(rule: NotBoth, given: Mapping[str, Any]) -> Problem | None:
    names = [name for name in rule.fields if name in given]
    return Problem("only one of them may be given", *names) if len(names) > 1 else None


def _together(rule: Together, given: Mapping[str, Any]) -> Problem | None:
    names = [name for name in rule.fields if name in given]
    missing = [name for name in rule.fields if name not in given]
    return Problem(f"must be given together with {', '.join(names)}", *missing) if names and missing else None


def _required_when(rule: RequiredWhen, given: Mapping[str, Any]) -> Problem | None:
    value = given.get(rule.when)
    if value not in rule.values or rule.field in given or (rule.given and rule.given not in given):
        return None
    return Problem(f"is required when {rule.when} is {value}", rule.field)


def _not_when(rule: NotWhen, given: Mapping[str, Any]) -> Problem | None:
    value = given.get(rule.when)
    if value not in rule.values or rule.field not in given:
        return None
    return Problem(f"must not be given when {rule.when} is {value}", rule.field)


_RULES: Final[Mapping[type[FieldRule], Callable[[Any, Mapping[str, Any]], Problem | None]]] = {
    ExactlyOne: _exactly_one,
    NotBoth: _not_both,
    Together: _together,
    RequiredWhen: _required_when,
    NotWhen: _not_when,
}


def _extra_problems(request: Request) -> Iterator[Problem]:
    if not isinstance(request.extra, Mapping):
        yield Problem("must be a mapping of field names to JSON values", "extra")
        return
    for name in request.extra:
        if name in fields_of(type(request)) or name in request.implied:
            yield Problem("has its own field, so it cannot be in extra", name)
    yield from (Problem(reason, path) for path, reason in unsendable(request.extra, "extra"))
