"""Read records by generated code where that is possible, otherwise by the rules.

Both return equal records. The rules in `read.py` decide what is right.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from gateway_async._wire.convert.compiler import compile_object_reader, compile_row_reader
from gateway_async._wire.convert.read import once_per_class, rules_of, structure_by_rules
from gateway_async._wire.json_text import decode
from gateway_async.models.record import Record

R = TypeVar("R", bound=Record)

_MAX_LAYOUTS: Final = 32
"""Readers of rows that are remembered, for all classes together."""

_MAX_LEARNED: Final = 4
"""Rows of one page that may add names. A gateway may also use names that are different in every row."""

_MAX_NAMES: Final = 200
_MIN_ROWS: Final = 100
"""Rows from which a reader for them pays off. To generate one takes as long as reading about as many rows."""

_MISSES_ALLOWED: Final = 8


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
        self._may_learn = _MAX_LEARNED if rows >= _MIN_ROWS else 0
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
        return self._read_and_learn(decode(row))

    def _read_and_learn(self, data: Any) -> Any:
        record = structure(self._kind, data)
        if self._may_learn and (data.keys() - self._names.keys() or self._mixed_texts(data) - self._mixed):
            self._may_learn -= 1
            self._names |= dict.fromkeys(data)
            self._mixed |= self._mixed_texts(data)
            usable = len(self._names) <= _MAX_NAMES
            self._read = _row_reader(self._kind, (*self._names,), self._mixed) if usable else None
        return record

    def _mixed_texts(self, data: Any) -> frozenset[str]:
        """Return the fields of type `str` that have another value."""
        rules = rules_of(self._kind)
        return frozenset(
            name
            for name, value in data.items()
            if name in rules and rules[name].kind is str and value is not None and type(value) is not str
        )
