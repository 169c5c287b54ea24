"""Read records by code that is generated for their class, and the rows of a list by code for their names.

Generated code reads the usual values of a field in one line, and leaves other values to the field's rule. If a record
does not fit or is unusual in another way, the code raises an error of any type. The rules in `convert.py`, which decide
what is right, then read the record again, and return it or raise the right error. This takes a fifth off the CPU time
of a GET of a transaction, and three quarters off a large page.

Setting the attributes of a frozen record one by one would dominate the cost. Generated code sets them on an instance of
a subclass that is not frozen, and then assigns its `__class__`, before anything else refers to the instance.
"""

import linecache
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

import attrs
import msgspec

from gateway_async._secrets import SHORTEST_CARD, is_confidential, seal_field, seal_fields
from gateway_async._wire.amounts import LARGEST_EXPONENT
from gateway_async._wire.convert import BOOLEANS, rule_of, rules_of, structure_by_rules
from gateway_async._wire.fields import is_a, once_per_class
from gateway_async._wire.json_text import decode
from gateway_async.models.codes import OpenInt, OpenStr
from gateway_async.models.record import Record

R = TypeVar("R", bound=Record)

_MAX_LAYOUTS: Final = 32
"""Readers of rows that are remembered, for all classes together."""

_MAX_RECOMPILES: Final = 4
"""Rows of one page that may add names. A gateway may also use names that are different in every row."""

_MAX_NAMES: Final = 200
_MIN_ROWS: Final = 100
"""Rows from which a reader for them pays off. To generate one takes as long as reading about as many rows."""

_MISSES_ALLOWED: Final = 8

_MAX_DATES: Final = 4096
"""Dates that are remembered, because the records of a list have the same ones."""


def structure(kind: type[R], data: Any) -> R:
    """Convert decoded JSON to a record of type `kind`.

    Raises:
        FieldError: a value does not fit its field; `path` says which.
    """
    read = _object_reader(kind)
    if read is not None:
        try:
            record: R = read(data)
        except Exception:  # noqa: BLE001, S110  the rules know what is wrong, outside of this block
            pass
        else:
            return record
    return structure_by_rules(kind, data)


@once_per_class
def _object_reader(kind: type[Any]) -> Callable[[Any], Any] | None:
    try:
        return compile_object_reader(kind)
    except TypeError:
        return None


@lru_cache(maxsize=_MAX_LAYOUTS)
def _row_reader(kind: Any, names: tuple[str, ...], mixed: frozenset[str]) -> Callable[[Any], Any] | None:
    try:
        return compile_row_reader(kind, names, mixed)
    except (TypeError, ValueError):
        return None


class RowReader:
    """Reads the rows of one list.

    The first row shows which names the rows have, also those that the model does not know. The other rows are read by
    code that is generated for these names. A row that differs is read as a single record would be, and its names are
    added.
    """

    def __init__(self, kind: type[Any], rows: int) -> None:
        self._kind: Any = kind
        self._names: dict[str, None] = {}
        self._mixed: frozenset[str] = frozenset()
        self._read: Callable[[Any], Any] | None = None
        self._recompiles_left = _MAX_RECOMPILES if rows >= _MIN_ROWS else 0
        self._hits = self._misses = 0

    def read(self, row: msgspec.Raw) -> Any:
        """Read a row.

        Raises:
            FieldError: a value does not fit its field; `path` says which.
            ValueError: the row is not JSON.
        """
        if self._read is not None and self._misses <= _MISSES_ALLOWED + self._hits:
            try:
                record = self._read(row)
            except Exception:  # noqa: BLE001  as in `structure`
                self._misses += 1
            else:
                self._hits += 1
                return record
        return self._read_slowly(decode(row))

    def _read_slowly(self, data: Any) -> Any:
        record = structure(self._kind, data)
        if self._recompiles_left and (data.keys() - self._names.keys() or self._mixed_texts(data) - self._mixed):
            self._recompiles_left -= 1
            self._names |= dict.fromkeys(data)
            self._mixed |= self._mixed_texts(data)
            usable = len(self._names) <= _MAX_NAMES
            self._read = _row_reader(self._kind, (*self._names,), self._mixed) if usable else None
        return record

    def _mixed_texts(self, data: Any) -> frozenset[str]:
        rules = rules_of(self._kind)
        return frozenset(
            name
            for name, value in data.items()
            if name in rules and rules[name].kind is str and value is not None and type(value) is not str
        )


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
    "read_only": MappingProxyType,
    "seal_field": seal_field,
    "seal_fields": seal_fields,
    "shortest_card": SHORTEST_CARD,
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
        "extra = seal_fields({name: value for name, value in data.items() if name not in known})",
        "record.extra = read_only(extra)",
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
        ValueError: a name cannot be a field name of a structure.
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
        *(line for name, attribute in unknown.items() for line in _extra_lines(name, attribute)),
        "record.extra = read_only(extra)",
    ]
    names_of = {f"name_of_{attribute}": name for name, attribute in unknown.items()}
    return _function(kind, lines, decode=msgspec.json.Decoder(row, float_hook=Decimal).decode, **names_of)


def _extra_lines(name: str, attribute: str) -> Iterable[str]:
    """Yield the lines that add an unknown field to `extra`, sealed as `Record` does it."""
    sealed = f"seal_field(name_of_{attribute}, value)"
    if not is_confidential(name):
        sealed = f"value if type(value) is str and len(value) < shortest_card else {sealed}"
    yield f"value = row.{attribute}"
    yield f"if value is not UNSET: extra[name_of_{attribute}] = {sealed}"


def _texts(kind: type[Record]) -> frozenset[str]:
    return frozenset(name for name, rule in rules_of(kind).items() if rule.kind is str)


def _function(kind: type[R], lines: Iterable[str], **more: Any) -> Callable[[Any], R]:
    _check_plain(kind)
    source = "\n ".join(
        [
            "def read(data):",
            "record = new(unfrozen)",
            *lines,
            "record.__class__ = kind",
            "return record",
        ]
    )
    scope = {**_GLOBALS, **_scope(kind), **more, "kind": kind, "unfrozen": _unfreeze(kind)}
    filename = f"<reader of {kind.__name__} {id(scope):x}>"
    exec(compile(source, filename, "exec"), scope)  # noqa: S102  from the names of the fields, never from a response
    read: Callable[[Any], R] = scope["read"]
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename  # for debuggers
    weakref.finalize(read, linecache.cache.pop, filename, None).atexit = False
    return read


def _check_plain(kind: type[Record]) -> None:
    fields: list[Any] = [field for field in attrs.fields(kind) if field.name != "extra"]
    is_special = hasattr(kind, "__attrs_post_init__") or any(
        field.validator or field.converter or (_has_default(field) and not getattr(field.default, "takes_self", False))
        for field in fields
    )
    if is_special:
        raise TypeError(f"{kind.__name__}: its constructor does more than set fields and defaults")


def _has_default(field: Any) -> bool:
    return field.default is not None and field.default is not attrs.NOTHING


@once_per_class
def _unfreeze(kind: type[Any]) -> type[Any]:
    """A subclass with the same layout that is not frozen."""
    methods = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(f"_{kind.__name__}", (kind,), methods)


def _scope(kind: type[Record]) -> Mapping[str, Any]:
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
