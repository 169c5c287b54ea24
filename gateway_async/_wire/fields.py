"""The fields of models: their types, and the constraints of requests as checks of their values."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache, partial
from itertools import compress
from operator import attrgetter, is_not
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from gateway_async._secrets import AccountNumber, Secret
from gateway_async._text import pluralize
from gateway_async._wire.amounts import money
from gateway_async.models.codes import OpenStr
from gateway_async.models.request import (
    UNSET,
    Amounts,
    Between,
    Cents,
    Items,
    Length,
    Pattern,
    Request,
    Required,
    Unset,
)

V = TypeVar("V")

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_PLAIN_TYPES: Final = frozenset({str, int, bool, date, datetime, Secret, AccountNumber})


def once_per_class(function: Callable[[type[Any]], V]) -> Callable[[type[Any]], V]:
    """Cache a function of a class, for which type checkers reject `functools.cache`."""
    return cast("Callable[[type[Any]], V]", cache(function))


@once_per_class
def fields_of(kind: type[Any]) -> Mapping[str, Any]:
    """Field name → annotation of a model, including constraints."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in attrs.fields(kind) if field.name != "extra"}


def plain_type(annotation: Any) -> Any:
    """The type without `| None`, `| Unset` and constraints."""
    kinds = tuple(kind for kind in _alternatives(annotation)[0] if kind not in (NoneType, Unset))
    return kinds[0] if len(kinds) == 1 else Union[kinds]  # noqa: UP007  made from a tuple


def _alternatives(annotation: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """The types of a union, or the only one; and the constraints of all of them."""
    kinds: list[Any] = []
    constraints: list[Any] = []
    pending = [annotation]
    while pending:
        part = pending.pop(0)
        if get_origin(part) is Annotated:
            constraints.extend(part.__metadata__)
            pending.append(part.__origin__)
        elif get_origin(part) in (Union, UnionType):
            pending.extend(get_args(part))
        else:
            kinds.append(part)
    return kinds, constraints


def is_a(parent: type) -> Callable[[Any], bool]:
    """A predicate for `parent` and its subclasses."""
    return lambda kind: isinstance(kind, type) and issubclass(kind, parent)


# --- fields of requests


Check = Callable[[Any], Sequence[str]]
"""Function from a value to its problems."""


@attrs.frozen
class RequestField:
    """A field of a request and its constraints.

    Attributes:
        usual: types whose values fit without a closer look, if a text is ASCII and a secret holds text.
        checks: the prepared limits of the value.
    """

    name: str
    kinds: tuple[type, ...]
    usual: frozenset[type]
    required: bool
    cents: Cents | None
    codes: tuple[str, ...]
    open_codes: tuple[type[OpenStr], ...]
    items: Items | None
    amounts: Amounts | None
    checks: tuple[Check, ...]


GivenFields = Sequence[tuple[RequestField, Any]]
"""The fields of a request that are not omitted, with their values; required ones also if the value is None."""


def given_fields(request: Request, filled: Mapping[str, Any] = _NOTHING) -> GivenFields:
    """The given fields of a request. Those in `filled` have the value that the client fills in."""
    fields, positions, get, omitted = _layout(type(request))
    values = [*get(request)]
    for name, value in filled.items():
        values[positions[name]] = value
    is_given = map(is_not, values, omitted)
    return [
        (field, value) for field, value in compress(zip(fields, values, strict=True), is_given) if value is not UNSET
    ]


@once_per_class
def _layout(
    kind: type[Any],
) -> tuple[Sequence[RequestField], Mapping[str, int], Callable[[Any], Iterable[Any]], Sequence[Any]]:
    """A request class's fields, their positions, a getter of all values, and the values that mean omitted."""
    fields = request_fields(kind)
    names = [field.name for field in fields]
    get = attrgetter(*names) if len(names) > 1 else lambda request: (getattr(request, name) for name in names)
    default = UNSET if any(field.default is UNSET for field in attrs.fields(kind)) else None
    omitted = [UNSET if field.required else default for field in fields]
    return fields, {name: position for position, name in enumerate(names)}, get, omitted


@once_per_class
def request_fields(kind: type[Any]) -> tuple[RequestField, ...]:
    return tuple(_parse_annotation(name, annotation) for name, annotation in fields_of(kind).items())


def _parse_annotation(name: str, annotation: Any) -> RequestField:
    alternatives, constraints = _alternatives(annotation)
    codes = [code for kind in alternatives if get_origin(kind) is Literal for code in get_args(kind)]
    kinds: tuple[type, ...] = tuple(
        str if get_origin(kind) is Literal else get_origin(kind) or kind
        for kind in alternatives
        if kind not in (NoneType, Unset)
    )
    nullable = NoneType in alternatives or Unset in alternatives
    marks = {type(constraint): constraint for constraint in constraints}
    return RequestField(
        name,
        kinds,
        usual=frozenset() if codes or Cents in marks else frozenset(kinds) & _PLAIN_TYPES,
        required=not nullable or Required in marks,
        cents=marks.get(Cents),
        codes=tuple(codes),
        open_codes=tuple(kind for kind in kinds if issubclass(kind, OpenStr)),
        items=marks.get(Items),
        amounts=marks.get(Amounts),
        checks=tuple(check for constraint in constraints for check in _checks(constraint)),
    )


# --- checks of values


def _checks(constraint: Any) -> Iterator[Check]:
    match constraint:
        case Length(minimum, maximum):
            yield partial(_length_problems, minimum, maximum)
        case Pattern(expression, says):
            yield partial(_pattern_problems, re.compile(expression), (says,))
        case Between(minimum, maximum):
            yield partial(_interval_problems, minimum, maximum)
        case Cents(digits):
            yield lambda amount: cents_problems(money(amount), digits)
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


def cents_problems(written: str, digits: int) -> Sequence[str]:
    """The problems of an amount that `money` has written."""
    found = ["must not be negative"] if written.startswith("-") else []
    if len(written) > digits:
        found.append(f"must have at most {digits} characters including its two decimals, has {len(written)}")
    return found
