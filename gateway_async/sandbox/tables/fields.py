"""What a field is: one row of a table that says which values it takes and who may set it.

Everything the gateway knows about the shape of its records is data made of these rows; code reads
them and never repeats them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway_async.sandbox.tables.kinds import Kind, Stored

Row = dict[str, Any]
"""A stored record: every column of its table, in stored form."""

ALWAYS = frozenset({"POST", "PUT"})
ONCE = frozenset({"POST"})
NEVER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record.

    Attributes:
        name: As the contract spells it.
        kind: How its values are read, kept, shown and searched.
        shortest: Fewest characters (digits of an integer) it may have.
        longest: Most characters (digits of an integer) it may have, or None.
        settable: The methods whose body may carry it; `NEVER` makes it read-only.
        required: Whether a POST must carry it.
        kept: Whether it is stored; what is not kept is used by the request and forgotten.
        shown: Whether answers carry it.
        carried: Whether postbacks carry it, if answers do.
        refers: The table whose id it holds.
        default: The stored value when a POST leaves it out.
    """

    name: str
    kind: Kind
    shortest: int = 0
    longest: int | None = None
    settable: frozenset[str] = ALWAYS
    required: bool = False
    kept: bool = True
    shown: bool = True
    carried: bool = True
    refers: str | None = None
    default: Stored = None

    @property
    def label(self) -> str:
        """The name as people read it: `location_id` is "Location Id"."""
        return label(self.name)

    def read(self, value: Any) -> Stored:
        """Turn a JSON value into its stored form.

        Raises:
            ValueError: With a whole sentence for the caller.
        """
        try:
            stored = self.kind.read(value)
        except ValueError as reason:
            raise ValueError(f"{self.label} {reason}") from None
        length = len(self.kind.spell(stored))
        if stored == "" and self.shortest:
            raise ValueError(f"{self.label} cannot be blank.")
        if length < self.shortest:
            raise ValueError(f"{self.label} should contain at least {self._count(self.shortest)}.")
        if self.longest is not None and length > self.longest:
            raise ValueError(f"{self.label} should contain at most {self._count(self.longest)}.")
        return stored

    def _count(self, number: int) -> str:
        return f"{number} character{'s' if number != 1 else ''}"


@dataclass(frozen=True)
class Table:
    """The fields of one family of records, and what its records are called.

    Attributes:
        singular: The wrapper of a single record (`accountvault`).
        plural: The wrapper of a list, the path segment and the SQL table (`accountvaults`).
        fields: In the order in which answers carry them.
        api_id: The field that holds the integrator's own id; empty if the family has none.
        link: The path of a record's own link, in terms of its columns; empty for `/v2/<plural>/<id>`.
        page_size: How many records a page of a list has when the request does not say.
    """

    singular: str
    plural: str
    fields: tuple[Field, ...]
    api_id: str = ""
    link: str = ""
    page_size: int = 20

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields by name."""
        return {field.name: field for field in self.fields}

    @cached_property
    def kept(self) -> tuple[Field, ...]:
        """The fields that have a column."""
        return tuple(field for field in self.fields if field.kept)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the SQL columns; every table also knows when a record was deleted."""
        return (*(field.name for field in self.kept), "deleted_ts")

    @cached_property
    def shown(self) -> dict[str, Field]:
        """The stored fields that answers carry, by name."""
        return {field.name: field for field in self.kept if field.shown}

    @cached_property
    def uncarried(self) -> tuple[str, ...]:
        """Names of the fields that answers carry and postbacks do not."""
        return tuple(name for name, field in self.shown.items() if not field.carried)

    def show(self, row: Row) -> Row:
        """A stored record as answers carry it, without links."""
        record = dict(zip(self.shown, self._values_of(row), strict=True))
        for name, show in self._translations:
            if record[name] is not None:
                record[name] = show(record[name])
        return record

    @cached_property
    def _values_of(self) -> Callable[[Row], tuple[Any, ...]]:
        return itemgetter(*self.shown)

    @cached_property
    def _translations(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, field.kind.show) for name, field in self.shown.items() if field.kind.show)


def label(name: str) -> str:
    """A field name as people read it: `location_id` is "Location Id"."""
    return name.replace("_", " ").title()
