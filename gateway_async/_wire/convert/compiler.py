"""Generate the code that reads records of one class.

The rules of `read.py` take a function call or two for each field. Generated code reads the usual values of a field in
one line, and leaves other values to the rule of its type. If a record does not fit or is unusual in another way, the
code raises an error of any type. The rules alone then read the record again, and return it or raise the right error.
`attrs` generates the methods of these classes in the same way.

A record is frozen, so that its attributes can only be set one by one through `object.__setattr__`, which takes longer
than the rest of the reading. Generated code sets them on an instance of a subclass that is not frozen. It then assigns
the instance's `__class__`, before anything else refers to the instance.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeVar

import attrs
import msgspec

from gateway_async._wire.amounts import LARGEST_EXPONENT
from gateway_async._wire.convert.read import BOOLEANS, is_a, once_per_class, rule_of, rules_of
from gateway_async.models.codes import OpenInt, OpenStr
from gateway_async.models.record import Record

R = TypeVar("R", bound=Record)

_MAX_DATES: Final = 4096
"""Dates that are remembered, because the records of a list have the same ones."""

_USUAL: Final[Mapping[type, str]] = {
    str: "value if type(value) is str else read_{name}(value)",
    int: "value if type(value) is int else read_{name}(value)",
    bool: "flags[value]",
    Decimal: (
        "number if type(value) in numbers and value != ''"
        " and (number := Decimal(value)).is_finite() and number.adjusted() <= largest else read_{name}(value)"
    ),
    datetime: "from_timestamp(value, utc) if type(value) is int else read_{name}(value)",
    date: (
        "None if value is False else read_day(value) if type(value) is str and len(value) == 10 else read_{name}(value)"
    ),
    OpenInt: "codes_{name}[value] if type(value) is int else read_{name}(value)",
    OpenStr: "codes_{name}[value] if type(value) is str else read_{name}(value)",
}
"""Type → the expression for a value that is not None."""

_OTHER: Final = "None if value is False else read_{name}(value)"


class _Codes(dict[Any, Any]):
    """The known codes of a class; another code is made when it is looked up."""

    def __init__(self, kind: type[OpenInt | OpenStr]) -> None:
        super().__init__({code.value: code for code in kind})
        self._kind = kind
        if issubclass(kind, OpenStr):
            self[""] = None

    def __missing__(self, value: Any) -> Any:
        return self._kind(value)


@lru_cache(maxsize=_MAX_DATES)
def _read_day(text: str) -> date | None:
    day: date | None = rule_of(date).read(text)
    return day


_GLOBALS: Final[Mapping[str, Any]] = {
    "Decimal": Decimal,
    "flags": {None: None, "": None, **BOOLEANS},
    "from_timestamp": datetime.fromtimestamp,
    "largest": LARGEST_EXPONENT,
    "new": object.__new__,
    "numbers": frozenset({int, str, Decimal}),
    "read_day": _read_day,
    "utc": UTC,
    "UNSET": msgspec.UNSET,
}


def compile_object_reader(kind: type[R]) -> Callable[[Any], R]:
    """Generate a function that reads a decoded JSON object.

    Raises:
        TypeError: only the rules can read records of this class.
    """
    lines = [
        "if type(data) is not dict: raise TypeError",
        "get = data.get",
        *_assignments(kind, {name: f"get('{name}')" for name in rules_of(kind)}),
        "extra = {name: value for name, value in data.items() if name not in known}",
    ]
    return _function(kind, lines, known=frozenset(rules_of(kind)))


def compile_row_reader(kind: type[R], names: Iterable[str], mixed: frozenset[str]) -> Callable[[Any], R]:
    """Generate a function that reads a JSON object from its bytes.

    msgspec decodes the object to a structure with exactly these names, which is faster than a dictionary.

    Args:
        kind: the class of the record.
        names: the names that an object may have, in the usual order.
        mixed: fields of type `str` that also have other values.

    Raises:
        TypeError: only the rules can read records of this class.
        ValueError: a name cannot be that of a field of a structure.
    """
    attributes = {name: f"field_{number}" for number, name in enumerate(names)}
    rules, texts = rules_of(kind), _texts(kind) - mixed
    fields = [
        (attribute, str | None if name in texts else Any, None if name in rules else msgspec.UNSET)
        for name, attribute in attributes.items()
    ]
    renamed = {attribute: name for name, attribute in attributes.items()}
    row = msgspec.defstruct("Row", fields, rename=renamed, forbid_unknown_fields=True, gc=False)
    unknown = {name: attribute for name, attribute in attributes.items() if name not in rules}
    lines = [
        "row = decode(data)",
        *_assignments(kind, {name: f"row.{attributes[name]}" for name in rules if name in attributes}, texts),
        "extra = {}",
        *(f"if row.{each} is not UNSET: extra[name_of_{each}] = row.{each}" for each in unknown.values()),
    ]
    names_of = {f"name_of_{attribute}": name for name, attribute in unknown.items()}
    return _function(kind, lines, decode=msgspec.json.Decoder(row, float_hook=Decimal).decode, **names_of)


def _texts(kind: type[Record]) -> frozenset[str]:
    """Return the names of the optional fields that have the type `str`."""
    return frozenset(name for name, rule in rules_of(kind).items() if rule.kind is str)


def _function(kind: type[R], lines: Iterable[str], **more: Any) -> Callable[[Any], R]:
    _check_plain(kind)
    source = "\n ".join(
        [
            "def read(data):",
            "record = new(unfrozen)",
            *lines,
            "record.extra = read_only(extra)",
            "record.__class__ = kind",
            "return record",
        ]
    )
    read_only = attrs.fields_dict(kind)["extra"].converter
    scope = {**_GLOBALS, **_scope(kind), **more, "kind": kind, "unfrozen": _unfreeze(kind), "read_only": read_only}
    exec(source, scope)  # noqa: S102  made from the names of the class's fields, never from a response
    read: Callable[[Any], R] = scope["read"]
    return read


def _check_plain(kind: type[Record]) -> None:
    """Reject a class whose constructor does more than set fields."""
    fields: list[Any] = [field for field in attrs.fields(kind) if field.name != "extra"]
    is_special = hasattr(kind, "__attrs_post_init__") or any(
        field.validator or field.converter or (_has_default(field) and not getattr(field.default, "takes_self", False))
        for field in fields
    )
    if is_special:
        raise TypeError(f"{kind.__name__}: its constructor does more than set fields and defaults")


def _has_default(field: Any) -> bool:
    """Return whether a field has another default than None."""
    return field.default is not None and field.default is not attrs.NOTHING


@once_per_class
def _unfreeze(kind: type[Any]) -> type[Any]:
    """Return a subclass with the same layout that is not frozen."""
    methods = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(f"_{kind.__name__}", (kind,), methods)


def _scope(kind: type[Record]) -> Mapping[str, Any]:
    """Return the names that the expressions of a class's fields use."""
    scope: dict[str, Any] = {}
    defaults: dict[str, Any] = {field.name: field.default for field in attrs.fields(kind) if _has_default(field)}
    for name, rule in rules_of(kind).items():
        scope[f"read_{name}"] = rule.read
        if is_a(OpenInt)(rule.kind) or is_a(OpenStr)(rule.kind):
            scope[f"codes_{name}"] = _Codes(rule.kind)
        if name in defaults:
            scope[f"default_{name}"] = defaults[name].factory
    return scope


def _assignments(kind: type[Record], values: Mapping[str, str], checked: frozenset[str] = frozenset()) -> Iterable[str]:
    """Yield the lines that set the fields.

    Args:
        kind: the class of the record.
        values: field → the expression of its value in JSON.
        checked: fields whose values are already known to be texts or None.
    """
    for field in attrs.fields(kind):
        name = field.name
        if name == "extra":
            continue
        missing = f"default_{name}(record)" if _has_default(field) else "None"
        if name not in values:
            yield f"record.{name} = {missing}"
        elif name in checked and missing == "None":
            yield f"record.{name} = {values[name]}"
        else:
            yield f"value = {values[name]}"
            yield f"record.{name} = {missing} if value is None else {_expression(name, rules_of(kind)[name].kind)}"
        if field.default is attrs.NOTHING:
            yield f"if record.{name} is None: raise ValueError"


def _expression(name: str, kind: Any) -> str:
    for parent in (OpenInt, OpenStr):
        if is_a(parent)(kind):
            return _USUAL[parent].format(name=name)
    return (_USUAL.get(kind, _OTHER) if isinstance(kind, type) else _OTHER).format(name=name)
