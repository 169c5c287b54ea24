"""Validation of requests before sending: finds all problems, one line each, starting with the field's name.

The limits are declared on the fields in `models/`. Values of a wrong type are rejected even if limits are not checked,
because they would change on the way. Floats as money are the main example.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import attrs
from annotated_types import Interval, Len

from gateway_async._problem import Problem
from gateway_async._secrets import Secret, mask_text
from gateway_async._wire.convert.read import once_per_class
from gateway_async._wire.convert.write import as_number, encode, fields_of, is_utf8, money
from gateway_async.models.codes import OpenStr
from gateway_async.models.request import (
    UNSET,
    Cents,
    ExactlyOne,
    Items,
    NotBoth,
    Pattern,
    Request,
    Required,
    RequiredWhen,
    Rule,
    Together,
    Unset,
)

__all__ = ["problems"]

_SHOWN: Final = 40
"""The number of characters of an unknown code that a problem quotes."""

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


@attrs.frozen
class _Field:
    """The constraints of one field, from the request's annotations."""

    name: str
    kinds: tuple[type, ...]
    required: bool
    is_money: bool
    codes: tuple[str, ...]
    open_codes: tuple[type[OpenStr], ...]
    items: Items | None
    constraints: tuple[Any, ...]


def problems(request: Request, *, limits: bool = True) -> list[Problem]:
    """Return the problems of a request, one line each.

    The list is empty if the request can be sent.

    Args:
        request: the content of a create or an update, with defaults filled in.
        limits: whether to check lengths, patterns, required fields and the rules between fields. Values of the wrong
            type are always reported.
    """
    return [
        *_value_problems(request, limits),
        *(_rule_problems(request) if limits else ()),
        *_extra_problems(request),
    ]


def _value_problems(request: Request, limits: bool) -> Iterator[Problem]:
    for field in _fields_of_request(type(request)):
        value = getattr(request, field.name)
        if value is None or value is UNSET:
            if value is None and limits and field.required:
                yield Problem("is required", field.name)
            continue
        wrong = _type_problem(field, value)
        if wrong:
            yield Problem(wrong, field.name)
        elif bounds := field.items:
            yield from (Problem(said, path) for path, said in _items_problems(field.name, value, bounds, limits))
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for index, text in enumerate(value):
                yield from (Problem(said, path) for path, said in _unsendable_text(text, f"{field.name}[{index}]"))
        elif isinstance(value, Mapping):
            yield from (Problem(reason, path) for path, reason in _unsendable(value, field.name))
        elif limits:
            yield from (Problem(line, field.name) for line in _constraint_problems(field, value))


def _type_problem(field: _Field, value: Any) -> str | None:
    if field.is_money:
        return _money_problem(value)
    shown, kind = (value.reveal(), value.kind) if isinstance(value, Secret) else (value, type(value))
    fits = isinstance(value, field.kinds) and (not isinstance(value, Secret) or kind is str)
    if isinstance(value, bool) and bool not in field.kinds:
        fits = False
    if bool in field.kinds and isinstance(value, int) and value in (0, 1):
        fits = True
    if isinstance(value, datetime) and datetime not in field.kinds:
        fits = False
    if isinstance(value, str | bytes) and Sequence in field.kinds:
        fits = False
    if fits:
        return _encoding_problem(shown)
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
    if not field.codes or value in field.codes or isinstance(value, field.open_codes):
        return None
    shown = mask_text(value)[:_SHOWN]
    near = get_close_matches(value, field.codes, n=1)
    hint = f", did you mean {near[0]!r}?" if near else ""
    anyway = "".join(f'; pass {kind.__name__}("{shown}") to send it anyway' for kind in field.open_codes)
    return f"unknown value {shown!r}{hint} (expected {', '.join(field.codes)}{anyway})"


def _constraint_problems(field: _Field, value: Any) -> Iterator[str]:
    unknown = _unknown_code(field, value)
    if unknown:
        yield unknown
        return
    text: Any = value.reveal() if isinstance(value, Secret) else value
    for constraint in field.constraints:
        match constraint:
            case Len(minimum, int(maximum)) if not minimum <= len(text) <= maximum:
                wanted = f"{minimum} to {maximum}" if minimum < maximum else maximum
                yield f"must have {wanted} characters, has {len(text)}"
            case Pattern(expression, says) if not re.fullmatch(expression, text):
                yield says
            case Interval(ge=int(minimum), le=int(maximum)) if not minimum <= text <= maximum:
                yield f"must be from {minimum} to {maximum}, not {text}"
            case Cents(digits):
                yield from _cents_problems(money(text), digits)
            case _:
                pass


def _cents_problems(written: str, digits: int) -> Iterator[str]:
    if written.startswith("-"):
        yield "must not be negative"
    if len(written) > digits:
        yield f"must have at most {digits} characters with its two decimals, has {len(written)}"


def _items_problems(field: str, items: Mapping[Any, Any], bounds: Items, limits: bool) -> Iterator[tuple[str, str]]:
    """Yield the problems of amounts by name. Their total length is checked only if all are valid amounts."""
    wrong = [
        (_join_path(field, name), line)
        for name, amount in items.items()
        for line in _item_problems(name, amount, bounds, limits)
    ]
    yield from wrong
    if limits and not wrong:
        length = len(encode({name: as_number(amount) for name, amount in items.items()}).decode())
        if not bounds.minimum <= length <= bounds.maximum:
            yield field, f"must have {bounds.minimum} to {bounds.maximum} characters as JSON, has {length}"


def _item_problems(name: Any, amount: Any, bounds: Items, limits: bool) -> Iterator[str]:
    yield from (f"its name {reason}" for _, reason in _unsendable_text(name, ""))
    wrong = _money_problem(amount)
    if wrong:
        yield wrong
    elif limits and not name:
        yield "its name is empty"
    elif limits:
        yield from _cents_problems(money(amount).removeprefix("-"), bounds.digits)


def _rule_problems(request: Request) -> Iterator[Problem]:
    for rule in request.rules:
        problem = _rule_problem(rule, request)
        if problem:
            yield problem


def _rule_problem(rule: Rule, request: Request) -> Problem | None:
    match rule:
        case ExactlyOne(fields):
            given = _given_fields(request, fields)
            if len(given) != 1:
                return Problem(f"exactly one of {', '.join(fields)} is needed", *(given or fields[:1]))
        case NotBoth(fields):
            given = _given_fields(request, fields)
            if len(given) > 1:
                return Problem("only one of them may be given", *given)
        case Together(fields):
            given = _given_fields(request, fields)
            if given and len(given) != len(fields):
                missing = [name for name in fields if name not in given]
                return Problem(f"must be given together with {', '.join(given)}", *missing)
        case RequiredWhen(field, when, values, given):
            applies = getattr(request, when) in values and (not given or _given_fields(request, (given,)))
            if applies and not _given_fields(request, (field,)):
                return Problem(f"is required when {when} is {getattr(request, when)}", field)
    return None


def _given_fields(request: Request, fields: tuple[str, ...]) -> list[str]:
    return [name for name in fields if getattr(request, name) not in (None, UNSET)]


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
        required=not nullable or Required in marks,
        is_money=Cents in marks,
        codes=tuple(codes),
        open_codes=tuple(kind for kind in kinds if issubclass(kind, OpenStr)),
        items=marks.get(Items),
        constraints=tuple(constraints),
    )
