r"""Convert between the gateway's JSON and models, by these rules.

The rules are hooks of a cattrs converter. `rows.py` reads the same records in less time, and `request.py` writes
requests.

Reading depends on the type of the model's field. null, false in a field that is not boolean, and "" in a field that is
not text are None, because some gateways write one for another.

| type | value in JSON |
|---|---|
| `bool` | `1`, `0`, `"1"`, `"0"`, `true`, `false`, `"true"`, `"false"` |
| `Decimal` | a number or a string with exactly its digits and a limited size, never through float |
| `int` | a whole number, or its digits in a string |
| `str` | text, or a number as it was written |
| `datetime` | Unix seconds, to an aware datetime in UTC |
| `date` | `YYYY-MM-DD`, where `0000-00-00` is None |
| `datetime \| date` | either form of date, `YYYY-MM-DD HH:MM:SS` being UTC |
| open codes | the code or its digits, where unknown codes are kept |
| secrets | text |
| `Mapping[str, Decimal]` | amounts by name |
| a tuple of records | a list of them |
| a record | an object, whose unknown keys go to `extra`; missing keys are None |

Text that is not Unicode gets replacement characters, so that half an emoji does not make a payment unreadable. If an
object has a name twice, the last value counts, as in other JSON readers.

A value that does not fit raises a `FieldError` with its path. Dates, times and free-form fields are exceptions: one
that does not fit is None, and `extra` has the raw value, so that it does not make the whole response unreadable.

Writing depends on the value: `bool` → 1/0, money → `"12.50"` (the number 12.50 where the contract takes numbers), dates
→ `YYYY-MM-DD`, datetimes → Unix seconds, secrets → their plain value. `UNSET` in an update and None in a create are
omitted. In free-form fields (`custom_data`, `extra`) a `Decimal` is a number, as when it was read. In a mapping for a
resource without a model, a `Decimal` that is not an amount is a text of its digits.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, partial
from operator import eq
from typing import Any, Final, TypeVar, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from gateway_async._secrets import Secret
from gateway_async._wire.amounts import exact
from gateway_async._wire.fields import fields_of, is_a, once_per_class, plain_type
from gateway_async.models.codes import OpenInt, OpenStr
from gateway_async.models.record import Record

R = TypeVar("R", bound=Record)
D = TypeVar("D", bound=date)
V = TypeVar("V")
Hook = Callable[..., Any]

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")  # Python also accepts other forms of ISO 8601
BOOLEANS: Final[Mapping[Any, bool]] = {1: True, 0: False, "1": True, "0": False, "true": True, "false": False}
_NO_DATE: Final = frozenset({"0000-00-00", "0000-00-00 00:00:00", "False", "0"})


class FieldError(ValueError):
    """A value does not fit its field; `path` is its place in the record (`.exp_date`)."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}")

    def under(self, path: str) -> "FieldError":
        """The error of the value that contains this one, at `path`."""
        return FieldError(f"{path}{self.path}", self.reason)


def read_nothing(content: Any) -> None:
    """Read the response to a deletion or a notification, which has no body (contract, *Endpoints*, common rules).

    Raises:
        FieldError: the response has a body, which may say that nothing was done.
    """
    if content not in (None, {}, []):
        raise FieldError("", "expected no body")


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


_TOLERATED_TYPES: Final = frozenset({datetime, date, datetime | date, Mapping[str, Any], Sequence[Any]})
"""Types of fields that contain no money, id or code, so that a value that does not fit is tolerated."""


@attrs.frozen
class ReadingRule:
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
        is_empty = (value == "" and self.kind is not str) or (value is False and self.kind is not bool)
        return None if is_empty else self._hook(value, self.kind)


def rule_of(annotation: Any, *, uncertain: bool = False) -> ReadingRule:
    """The rule of a type.

    `uncertain` says that the documents show no value of the field.
    """
    kind = plain_type(annotation)
    return ReadingRule(kind, _converter().get_structure_hook(kind), uncertain or kind in _TOLERATED_TYPES)


@once_per_class
def rules_of(kind: type[Any]) -> Mapping[str, ReadingRule]:
    """Field → rule of a record."""
    return {name: rule_of(annotation, uncertain=name in kind.uncertain) for name, annotation in fields_of(kind).items()}


class _ToleratedError(Exception):
    """A value does not fit the field `name`, which is then left empty."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__()


def _record_hook(kind: type[Any], converter: Converter) -> Hook:
    """Return the hook of a record: cattrs generates it from the hooks of the fields."""
    rules = rules_of(kind)
    required = {field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING}
    hooks = {name: _field_hook(name, rule, required=name in required) for name, rule in rules.items()}
    hooks["extra"] = lambda extra, _: extra
    overrides: dict[str, Any] = {name: override(struct_hook=hook) for name, hook in hooks.items()}
    read_fields = make_dict_structure_fn(kind, converter, **overrides)

    def read(data: Any, _: Any) -> Record:
        if not isinstance(data, dict):
            raise FieldError("", "not an object")
        fields = {name: value for name, value in data.items() if name in rules and value is not None}
        extra = {name: value for name, value in data.items() if name not in rules}
        while True:
            if not required <= fields.keys():
                raise FieldError(f".{min(required - fields.keys())}", "missing")
            try:
                record: Record = read_fields({**fields, "extra": extra}, kind)
            except _ToleratedError as error:
                extra[error.name] = fields.pop(error.name)
            else:
                return record

    return read


def _field_hook(name: str, rule: ReadingRule, *, required: bool) -> Hook:

    def read(value: Any, _: Any) -> Any:
        try:
            found = rule.read(value)
        except ValueError as error:
            if rule.tolerated:
                raise _ToleratedError(name) from None
            inner = error if isinstance(error, FieldError) else FieldError("", str(error))
            raise inner.under(f".{name}") from None
        if found is None and required:
            raise FieldError(f".{name}", "missing")
        return found

    return read


def _is_records(kind: Any) -> bool:
    return get_origin(kind) is tuple and is_a(Record)(get_args(kind)[0])


def _records_hook(kind: Any, converter: Converter) -> Callable[[Any, Any], tuple[Record, ...]]:
    one = get_args(kind)[0]
    read_one = converter.get_structure_hook(one)
    return lambda value, _: read_each(_sequence(value), lambda row: read_one(row, one))


def read_each(rows: Iterable[Any], read: Callable[[Any], V], path: str = "") -> tuple[V, ...]:
    """Read the rows of a list at `path`.

    Raises:
        FieldError: a row cannot be read.
    """
    found: list[V] = []
    try:
        for row in rows:
            found.append(read(row))  # noqa: PERF401  its length says which row failed
    except FieldError as error:
        raise error.under(f"{path}[{len(found)}]") from None
    return tuple(found)


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
    converter.register_structure_hook_factory(is_a(Record), partial(_record_hook, converter=converter))
    converter.register_structure_hook_factory(_is_records, partial(_records_hook, converter=converter))
    return converter


def structure_by_rules(kind: type[R], data: Any) -> R:
    """Convert decoded JSON to a record of type `kind`.

    `rows.structure` is faster, with equal results.

    Raises:
        FieldError: a value does not fit its field; `path` says which.
    """
    try:
        return _converter().structure(data, kind)
    except RecursionError:
        pass  # left first, because its frames contain the data
    raise FieldError("", "nested too deeply")


def write_value(value: Any) -> Any:
    """Convert a value other than an amount to JSON."""
    return _converter().unstructure(value)
