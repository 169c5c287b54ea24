"""Validation of requests before sending: finds all problems, one line each, starting with the field's name.

The limits are declared on the fields in `models/`. Values of a wrong type are rejected even if limits are not checked,
because they would change on the way. Floats as money are the main example.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import attrs

from gateway_async._kernel import Problem, pluralize
from gateway_async._secrets import AccountNumber, Secret, mask_text
from gateway_async._wire.amounts import add, as_number, money
from gateway_async._wire.convert import fields_of, once_per_class
from gateway_async._wire.json_text import encode, is_utf8
from gateway_async.models.codes import OpenStr
from gateway_async.models.request import (
    UNSET,
    Amounts,
    Between,
    Cents,
    ExactlyOne,
    FieldRule,
    Items,
    Length,
    NotBoth,
    NotWhen,
    Pattern,
    Request,
    Required,
    RequiredWhen,
    Together,
    Unset,
)

_SHOWN: Final = 40
"""The number of characters of an unknown code that a problem quotes."""

_TYPE_CHARACTERS: Final = 2
"""The length of the type of an additional amount."""

_PLAIN_TYPES: Final = frozenset({str, int, bool, date, datetime, Secret, AccountNumber})

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


Check = Callable[[Any], Sequence[str]]
"""Function from a value to its problems."""


@attrs.frozen
class _Field:
    """The constraints of one field, from the request's annotations.

    Attributes:
        usual: types whose values fit without a closer look, if a text is ASCII and a secret holds text.
        checks: the prepared limits of the value.
    """

    name: str
    kinds: tuple[type, ...]
    usual: frozenset[type]
    required: bool
    is_money: bool
    codes: tuple[str, ...]
    open_codes: tuple[type[OpenStr], ...]
    items: Items | None
    amounts: Amounts | None
    checks: tuple[Check, ...]


def problems(request: Request, *, limits: bool = True, values: Mapping[str, Any] | None = None) -> list[Problem]:
    """Return the problems of a request, one line each.

    The list is empty if the request can be sent.

    Args:
        request: the content of a create or an update.
        limits: whether to check lengths, patterns, required fields and the rules between fields. Values of the wrong
            type are always reported.
        values: the values of the request's fields, if the client has filled in some; by default the request's own.
    """
    if values is None:
        values = values_of(request)
    found: list[Problem] = []
    for field in _fields_of_request(type(request)):
        value = values[field.name]
        if value is None:
            if limits and field.required:
                found.append(Problem("is required", field.name))
        elif value is not UNSET:
            found += _value_problems(field, value, limits)
    if limits and request.rules:
        found += _rule_problems(request.rules, values)
    if request.extra != {}:
        found += _extra_problems(request)
    return found


def values_of(request: Request) -> dict[str, Any]:
    """Return field name → value of a request, without `extra`."""
    names, get = _getter(type(request))
    return dict(zip(names, get(request), strict=True))


@once_per_class
def _getter(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    names = tuple(fields_of(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda request: tuple(getattr(request, name) for name in names)  # one name gives no tuple


def _value_problems(field: _Field, value: Any, limits: bool) -> Iterable[Problem]:
    text, kind = (value.reveal(), value.kind) if isinstance(value, Secret) else (value, type(value))
    if limits and type(value) in field.usual and (text.isascii() if kind is str else kind is type(value)):
        return _limit_problems(field, text)
    wrong = _type_problem(field, value, text, kind)
    if wrong:
        return (Problem(wrong, field.name),)
    if isinstance(value, Sequence | Mapping) and not isinstance(value, str):
        return [Problem(said, path) for path, said in _part_problems(field, value, limits)]
    unknown = _unknown_code(field, value) if limits and field.codes else None
    if unknown:
        return (Problem(unknown, field.name),)
    return _limit_problems(field, text) if limits else ()


def _limit_problems(field: _Field, value: Any) -> Iterable[Problem]:
    return [Problem(said, field.name) for check in field.checks for said in check(value)]


def _part_problems(field: _Field, value: Any, limits: bool) -> Iterator[tuple[str, str]]:
    """Yield the problems of the parts of a mapping or a sequence."""
    if field.items:
        yield from _items_problems(field.name, value, field.items, limits)
    elif field.amounts:
        yield from _amounts_problems(field.name, value, field.amounts, limits)
    else:
        yield from _unsendable_parts(value, field.name)


def _unsendable_parts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a value that would not arrive unchanged."""
    if isinstance(value, Mapping):
        yield from _unsendable(value, name)
    else:
        for index, text in enumerate(value):
            yield from _unsendable_text(text, f"{name}[{index}]")


def _type_problem(field: _Field, value: Any, text: Any, kind: type) -> str | None:
    """Describe a value of the wrong type. `text` and `kind` are those of the plain value of a secret."""
    if field.is_money:
        return _money_problem(value)
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
        return _encoding_problem(text)
    return f"must be {_expected_types(field)}, not {kind.__name__}"


def _expected_types(field: _Field) -> str:
    names = dict.fromkeys(
        _NAMES.get(kind, "a whole number" if issubclass(kind, int) else "text") for kind in field.kinds
    )
    return " or ".join(names)


def _money_problem(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        return f"must be a Decimal, an int or a str, not {type(value).__name__}"
    try:
        money(value)
    except ValueError as error:
        return str(error)
    return None


def _encoding_problem(value: Any) -> str | None:
    if isinstance(value, str) and not is_utf8(value):
        return "has an invalid character (a lone surrogate)"
    return None


def _unknown_code(field: _Field, value: Any) -> str | None:
    """Describe an unknown code that is given as text. Only an open enum's value may be unknown."""
    if value in field.codes or isinstance(value, field.open_codes):
        return None
    shown = mask_text(value)[:_SHOWN]
    near = get_close_matches(value, field.codes, n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    anyway = "".join(f'; pass {kind.__name__}("{shown}") to send it anyway' for kind in field.open_codes)
    return f"unknown value {shown!r}{hint} (expected {', '.join(field.codes)}{anyway})"


def _checks(constraint: Any) -> Iterator[Check]:
    """Yield the check of a constraint; other marks have none."""
    match constraint:
        case Length(minimum, maximum):
            yield partial(_length_problems, minimum, maximum)
        case Pattern(expression, says):
            yield partial(_pattern_problems, re.compile(expression), (says,))
        case Between(minimum, maximum):
            yield partial(_interval_problems, minimum, maximum)
        case Cents(digits):
            yield lambda amount: _cents_problems(money(amount), digits)
        case _:
            pass


def _length_problems(minimum: int, maximum: int, text: str) -> Sequence[str]:
    if minimum <= len(text) <= maximum:
        return ()
    wanted = f"{minimum} to {maximum}" if minimum < maximum else maximum
    return (f"must have {wanted} {pluralize(maximum, 'character')}, has {len(text)}",)


def _pattern_problems(pattern: re.Pattern[str], says: Sequence[str], text: str) -> Sequence[str]:
    return () if pattern.fullmatch(text) else says


def _interval_problems(minimum: int, maximum: int, number: int) -> Sequence[str]:
    return () if minimum <= number <= maximum else (f"must be from {minimum} to {maximum}, not {number}",)


def _cents_problems(written: str, digits: int) -> Sequence[str]:
    found = ["must not be negative"] if written.startswith("-") else []
    if len(written) > digits:
        found.append(f"must have at most {digits} characters with its two decimals, has {len(written)}")
    return found


def _items_problems(field: str, items: Mapping[Any, Any], bounds: Items, limits: bool) -> Iterator[tuple[str, str]]:
    """Yield the problems of amounts by name. Their length and their sum are checked only if all are valid amounts."""
    wrong = [
        (_join_path(field, name), line)
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
    yield from (f"its name {reason}" for _, reason in _unsendable_text(name, ""))
    wrong = _money_problem(amount)
    if wrong:
        yield wrong
    elif limits and not name:
        yield "its name is empty"
    elif limits:
        yield from _cents_problems(money(amount).removeprefix("-"), bounds.digits)


def _amounts_problems(field: str, amounts: Sequence[Any], bounds: Amounts, limits: bool) -> Iterator[tuple[str, str]]:
    """Yield the problems of a list of amounts with types."""
    for index, entry in enumerate(amounts):
        path = f"{field}[{index}]"
        if not isinstance(entry, Mapping):
            yield path, f"must be a mapping of type and amount, not {type(entry).__name__}"
            continue
        rest = {name: value for name, value in entry.items() if name != "amount"}
        yield from _unsendable(rest, path)
        wrong = _money_problem(entry.get("amount", ""))
        if wrong:
            yield f"{path}.amount", wrong
        elif limits:
            yield from ((f"{path}.amount", line) for line in _cents_problems(money(entry["amount"]), bounds.digits))
        if limits and len(str(entry.get("type", ""))) != _TYPE_CHARACTERS:
            yield f"{path}.type", f"must have {_TYPE_CHARACTERS} characters"


def _rule_problems(rules: Iterable[FieldRule], values: Mapping[str, Any]) -> Iterator[Problem]:
    for rule in rules:
        problem = _rule_problem(rule, values)
        if problem:
            yield problem


def _rule_problem(rule: FieldRule, values: Mapping[str, Any]) -> Problem | None:
    match rule:
        case ExactlyOne(fields, pair):
            given = _given_fields(values, fields)
            if len(given) != 1 and (not given or frozenset(given) != pair):
                return Problem(f"exactly one of {', '.join(fields)} is needed", *(given or fields[:1]))
        case NotBoth(fields):
            given = _given_fields(values, fields)
            if len(given) > 1:
                return Problem("only one of them may be given", *given)
        case Together(fields):
            given = _given_fields(values, fields)
            if given and len(given) != len(fields):
                missing = [name for name in fields if name not in given]
                return Problem(f"must be given together with {', '.join(given)}", *missing)
        case RequiredWhen() | NotWhen():
            return _condition_problem(rule, values)
    return None


def _condition_problem(rule: RequiredWhen | NotWhen, values: Mapping[str, Any]) -> Problem | None:
    """Return the problem of a field that depends on another field."""
    applies, is_given = values[rule.when] in rule.values, bool(_given_fields(values, (rule.field,)))
    if isinstance(rule, RequiredWhen):
        applies = applies and (not rule.given or bool(_given_fields(values, (rule.given,))))
    if not applies or is_given == isinstance(rule, RequiredWhen):
        return None
    demand = "is required" if isinstance(rule, RequiredWhen) else "must not be given"
    return Problem(f"{demand} when {rule.when} is {values[rule.when]}", rule.field)


def _given_fields(values: Mapping[str, Any], fields: tuple[str, ...]) -> list[str]:
    return [name for name in fields if values[name] is not None and values[name] is not UNSET]


def _extra_problems(request: Request) -> Iterator[Problem]:
    if not isinstance(request.extra, Mapping):
        yield Problem("must be a mapping of field names to JSON values", "extra")
        return
    for name in request.extra:
        if name in fields_of(type(request)) or name in request.implied:
            yield Problem("has its own field, so it cannot be in extra", name)
    yield from (Problem(reason, path) for path, reason in _unsendable(request.extra, "extra"))


def _unsendable(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the values inside free-form JSON that would not arrive unchanged."""
    match value:
        case Secret() if value.has_value:
            yield from _unsendable(value.plain(), path)
        case float():
            yield path, "must not be a float; use a Decimal or a str"
        case Mapping():
            for key, inner in value.items():
                inner_path = _join_path(path, key)
                yield from ((inner_path, f"its name {reason}") for _, reason in _unsendable_text(key, inner_path))
                yield from _unsendable(inner, inner_path)
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from _unsendable(inner, f"{path}[{index}]")
        case str():
            yield from _unsendable_text(value, path)
        case Decimal() if not value.is_finite():
            yield path, "is not a number"
        case None | bool() | int() | Decimal() | date():
            return
        case _:
            yield path, f"cannot be sent as JSON: {type(value).__name__}"


def _join_path(path: str, key: Any) -> str:
    return mask_text(f"{path}.{key}").encode(errors="backslashreplace").decode()


def _unsendable_text(value: Any, path: str) -> Iterator[tuple[str, str]]:
    problem = _encoding_problem(value) if isinstance(value, str) else "must be text"
    if problem:
        yield path, problem


@once_per_class
def _fields_of_request(kind: type[Any]) -> tuple[_Field, ...]:
    return tuple(_parse_annotation(name, annotation) for name, annotation in fields_of(kind).items())


def _parse_annotation(name: str, annotation: Any) -> _Field:
    leaves: list[Any] = []
    codes: list[str] = []
    constraints: list[Any] = []
    pending = [annotation]
    while pending:
        part = pending.pop(0)
        if get_origin(part) is Annotated:
            constraints.extend(part.__metadata__)
            pending.append(part.__origin__)
        elif get_origin(part) in (Union, UnionType):
            pending.extend(get_args(part))
        elif get_origin(part) is Literal:
            codes.extend(get_args(part))
            leaves.append(str)
        else:
            leaves.append(get_origin(part) or part)
    kinds = tuple(leaf for leaf in leaves if leaf not in (NoneType, Unset))
    nullable = NoneType in leaves or Unset in leaves
    marks = {type(constraint): constraint for constraint in constraints}
    return _Field(
        name,
        kinds,
        usual=frozenset() if codes or Cents in marks else frozenset(kinds) & _PLAIN_TYPES,
        required=not nullable or Required in marks,
        is_money=Cents in marks,
        codes=tuple(codes),
        open_codes=tuple(kind for kind in kinds if issubclass(kind, OpenStr)),
        items=marks.get(Items),
        amounts=marks.get(Amounts),
        checks=tuple(check for constraint in constraints for check in _checks(constraint)),
    )
