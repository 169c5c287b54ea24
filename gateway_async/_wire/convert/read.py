"""Read the gateway's JSON into models, by the rules of this package's docstring."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, partial
from operator import attrgetter, eq
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs
from cattrs import Converter

from gateway_async._secrets import Secret
from gateway_async._wire.amounts import exact
from gateway_async.models.codes import OpenInt, OpenStr
from gateway_async.models.record import Record
from gateway_async.models.request import Request, Unset

R = TypeVar("R", bound=Record)
D = TypeVar("D", bound=date)
V = TypeVar("V")
Hook = Callable[..., Any]

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")  # Python also accepts other forms of ISO 8601
BOOLEANS: Final[Mapping[Any, bool]] = {1: True, 0: False, "1": True, "0": False, "true": True, "false": False}
_NO_DATE: Final = frozenset({"0000-00-00", "0000-00-00 00:00:00", "False", "0"})


def once_per_class(function: Callable[[type[Any]], V]) -> Callable[[type[Any]], V]:
    """Cache a function of a class, like `functools.cache`.

    Type checkers do not know that classes are hashable, so they reject `functools.cache` here.
    """
    return cast("Callable[[type[Any]], V]", cache(function))


class FieldError(ValueError):
    """A value does not fit its field; `path` is its position in the record (`.exp_date`)."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")


def read_nothing(content: Any) -> None:
    """Read a response without a body (contract, *Endpoints*, common rules).

    Deletions and notifications have such responses.

    Raises:
        FieldError: the response has a body, which may say that nothing was done.
    """
    if content not in (None, {}, []):
        raise FieldError("", "expected no body")


def is_a(parent: type) -> Callable[[Any], bool]:
    """Return a predicate for `parent` and its subclasses."""
    return lambda kind: isinstance(kind, type) and issubclass(kind, parent)


def _bool(value: Any, _: Any = None) -> bool:
    try:
        return BOOLEANS[value]
    except (KeyError, TypeError):
        raise ValueError("not a boolean") from None


def _decimal(value: Any, _: Any = None, problem: str = "not an amount") -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise ValueError(problem)
    return exact(value, problem)


def _int(value: Any, _: Any = None) -> int:
    if type(value) is int:
        return value
    number = _decimal(value, problem="not a whole number")
    if number != number.to_integral_value():
        raise ValueError("not a whole number")
    return int(number)


def _str(value: Any, _: Any = None) -> str:
    if type(value) is str:
        return value
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("not a text")
    return str(value)


def _secret(value: Any, _: Any = None) -> Secret:
    return Secret(_str(value))


def _datetime(value: Any, _: Any = None) -> datetime:
    if isinstance(value, str) and _DAY.match(value):
        return _utc(value)
    try:
        return datetime.fromtimestamp(_int(value), UTC)
    except (OverflowError, OSError):
        raise ValueError("not a Unix timestamp") from None


def _date(value: Any, _: Any = None) -> date | None:
    if str(value) in _NO_DATE:
        return None
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return _datetime(value).date()
    return _iso(date, _str(value)[:10])


def _moment(value: Any, _: Any = None) -> datetime | date | None:
    if str(value) in _NO_DATE:
        return None
    if isinstance(value, int | Decimal) or (isinstance(value, str) and value.isdigit()):
        return _datetime(value)
    text = _str(value)
    if len(text) == len("YYYY-MM-DD"):
        return _iso(date, text)
    return _utc(text)


def _utc(text: str) -> datetime:
    """Parse a date and time in UTC, in the gateway's notation."""
    moment = _iso(datetime, text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _iso(kind: type[D], text: str) -> D:
    try:
        if _DAY.match(text):
            return kind.fromisoformat(text)
    except ValueError:
        pass  # its message quotes the text, which may be confidential
    raise ValueError("not a date")


def _int_code(value: Any, kind: type[OpenInt]) -> OpenInt:
    return kind(_int(value))


def _str_code(value: Any, kind: type[OpenStr]) -> OpenStr:
    return kind(_str(value))


def _mapping(value: Any, _: Any = None) -> Mapping[str, Any]:
    if value == []:  # an empty object, as some gateways' languages write it
        return {}
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _sequence(value: Any, _: Any = None) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return tuple(value)


def _amounts(value: Any, _: Any = None) -> Mapping[str, Decimal]:
    amounts: dict[str, Decimal] = {}
    for name, amount in _mapping(value).items():
        try:
            amounts[name] = _decimal(amount)
        except ValueError as error:
            raise FieldError(f".{name}", str(error)) from None
    return amounts


def _is_records(kind: Any) -> bool:
    """Return whether a type is `tuple[SomeRecord, ...]`."""
    return get_origin(kind) is tuple and is_a(Record)(get_args(kind)[0])


def _records_hook(kind: Any, converter: Converter) -> Callable[[Any, Any], tuple[Record, ...]]:
    read_one, one = converter.get_structure_hook(get_args(kind)[0]), get_args(kind)[0]

    def read(value: Any, _: Any) -> tuple[Record, ...]:
        records: list[Record] = []
        try:
            for row in _sequence(value):
                records.append(read_one(row, one))  # noqa: PERF401  its length says which row failed
        except FieldError as error:
            raise FieldError(f"[{len(records)}]{error.path}", error.reason) from None
        return tuple(records)

    return read


def _plain(annotation: Any) -> Any:
    """Return the type without `| None`, `| Unset` and constraints."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = tuple(_plain(kind) for kind in get_args(annotation) if kind not in (NoneType, Unset))
        return kinds[0] if len(kinds) == 1 else Union[kinds]  # noqa: UP007  made from a tuple
    return annotation


@once_per_class
def fields_of(kind: type[Any]) -> Mapping[str, Any]:
    """Return field name → annotation of a model, including constraints."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in attrs.fields(kind) if field.name != "extra"}


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


@attrs.frozen
class Rule:
    """The rule of a field's type.

    Attributes:
        kind: the type, without `| None` and constraints.
        tolerated: whether a value that does not fit is kept in `extra`. Otherwise it makes the record unreadable.
    """

    kind: Any
    _hook: Hook = attrs.field(alias="hook")
    tolerated: bool = False

    def read(self, value: Any) -> Any:
        """Convert a value that is not None.

        Raises:
            ValueError: it does not fit.
        """
        return None if _is_empty(value, self.kind) else self._hook(value, self.kind)


def rule_of(annotation: Any, *, uncertain: bool = False) -> Rule:
    """Return the rule of a type.

    `uncertain` says that the documents show no value of the field.
    """
    kind = _plain(annotation)
    return Rule(kind, _converter().get_structure_hook(kind), uncertain or kind in _TOLERATED_TYPES)


@once_per_class
def rules_of(kind: type[Any]) -> Mapping[str, Rule]:
    """Return field → rule of a record."""
    hints = get_type_hints(kind)
    uncertain = getattr(kind, "uncertain", ())
    names = [field.name for field in attrs.fields(kind) if field.name != "extra"]
    return {name: rule_of(hints[name], uncertain=name in uncertain) for name in names}


def _record_hook(kind: type[Record]) -> Callable[[Any, Any], Record]:
    rules = rules_of(kind)
    required = [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]

    def read(data: Any, _: Any) -> Record:
        values, extra = _split_fields(data, rules)
        for name in required:
            if values.get(name) is None:
                raise FieldError(f".{name}", "missing")
        return kind(**values, extra=extra) if extra else kind(**values)

    return read


def _split_fields(data: Any, rules: Mapping[str, Rule]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a JSON object into the model's fields and the rest.

    The fields' values are converted; the rest is unchanged.
    """
    if not isinstance(data, dict):
        raise FieldError("", "not an object")
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    name: Any = ""
    try:
        for name, value in data.items():
            if name not in rules:
                extra[name] = value
            elif value is not None:
                rule = rules[name]
                try:
                    values[name] = rule.read(value)
                except ValueError:
                    if not rule.tolerated:
                        raise
                    extra[name] = value
    except FieldError as error:
        raise FieldError(f".{name}{error.path}", error.reason) from None
    except ValueError as error:
        raise FieldError(f".{name}", str(error)) from None
    return values, extra


_TOLERATED_TYPES: Final = frozenset({datetime, date, datetime | date, Mapping[str, Any], Sequence[Any]})
"""Types of fields that contain no money, id or code, so that a value that does not fit is tolerated."""


def _is_empty(value: Any, kind: Any) -> bool:
    return (value == "" and kind is not str) or (value is False and kind is not bool)


_READERS: Final[Mapping[type, Hook]] = {
    bool: _bool,
    Decimal: _decimal,
    int: _int,
    OpenInt: _int_code,
    str: _str,
    Secret: _secret,
    OpenStr: _str_code,
    datetime: _datetime,
    date: _date,
}
_FORM_READERS: Final[Mapping[Any, Hook]] = {
    datetime | date: _moment,
    Mapping[str, Any]: _mapping,
    Mapping[str, Decimal]: _amounts,
    Sequence[Any]: _sequence,
}


_WRITERS: Final[Mapping[type, Callable[[Any], Any]]] = {
    int: int.__int__,
    str: str.__str__,
    Decimal: "{:f}".format,
    date: date.isoformat,
    datetime: lambda moment: int(moment.timestamp()),
}


@cache
def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    for kind, write in _WRITERS.items():
        converter.register_unstructure_hook(kind, write)
    for kind, read in _READERS.items():
        converter.register_structure_hook(kind, read)
    for form, read in _FORM_READERS.items():
        converter.register_structure_hook_func(partial(eq, form), read)
    converter.register_structure_hook_factory(is_a(Record), _record_hook)
    converter.register_structure_hook_factory(_is_records, partial(_records_hook, converter=converter))
    return converter


@once_per_class
def _reader(kind: type[Any]) -> Callable[[Any, Any], Any]:
    return _converter().get_structure_hook(kind)


def structure_by_rules(kind: type[R], data: Any) -> R:
    """Convert decoded JSON to a record of type `kind`.

    `records.py` has a faster function, whose results are equal.

    Raises:
        FieldError: a value does not fit its field; `path` says which.
    """
    record: R = _reader(kind)(data, kind)
    return record


def write_value(value: Any) -> Any:
    """Convert a value other than an amount to JSON."""
    return _converter().unstructure(value)
