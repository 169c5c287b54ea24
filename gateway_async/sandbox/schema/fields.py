"""The fields of records: which values a field accepts and who may set it.

`loader.py` makes them from the data files in `sandbox/contract/`. Code does not repeat their content.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any

import attrs

from gateway_async.sandbox.schema.kinds import Kind, Stored

Row = dict[str, Any]
"""A stored record: every column of its table, in stored form."""


@attrs.frozen
class ContractLine:
    """A line of a data file: what the contract says about a field, and what goes beyond it.

    Attributes:
        name: The spelling in the contract.
        kind: A name in `KINDS_BY_NAME`.
        values: The known values; empty if there are others.
        contract: The documented length; "-" without one, "none" for a field that the contract's table lacks.
        accepted: The length that is accepted, where it differs; "-" for the documented one.
        post, put: `required`, `yes` or `no`; with a "?" where the contract is silent.
        response: `yes`, `no`, `null`, `some` or `-`; with a "?" where the contract is silent.
        marks: The further facts, as they are written.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    contract: str
    accepted: str
    post: str
    put: str
    response: str
    marks: tuple[str, ...]


@attrs.frozen
class Field:
    """One field of a record.

    Attributes:
        name: The spelling in the contract.
        kind: How its values are read, stored, shown and searched.
        min_length: The minimum number of characters (digits of an integer).
        max_length: The maximum number of characters (digits of an integer), or None.
        choices: The only valid values; empty if there are others.
        settable: The methods whose body may include it; none for a read-only field.
        required: Whether a POST must include it.
        stored: Whether it is stored; other fields are used by the request and discarded.
        shown: Whether responses include it.
        in_postbacks: Whether postbacks include it, if responses do.
        secret: Whether pages mask it, even where responses include it.
        references: The plural of the record type whose id it holds, which must exist.
        target: The plural of the record type whose id it holds, even where a handler checks it.
        default: The stored value when a POST omits it.
        column: The SQL for filters and sorting of lists, where it differs from the name of a stored and shown field.
            `{year}` and `{month}` come from the clock.
    """

    name: str
    kind: Kind
    min_length: int = 0
    max_length: int | None = None
    choices: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    settable: frozenset[str] = frozenset()
    required: bool = False
    stored: bool = True
    shown: bool = True
    in_postbacks: bool = True
    secret: bool = attrs.field(default=False, kw_only=True)
    references: str = ""
    target: str = attrs.field(default="", kw_only=True)
    default: Stored = None
    column: str = attrs.field(default="", kw_only=True)

    @property
    def label(self) -> str:
        """The name in readable form: `location_id` is "Location Id"."""
        return label(self.name)

    def read(self, value: Any) -> Stored:
        """Convert a JSON value to its stored form.

        Raises:
            ValueError: The value is invalid; the message is a full sentence for the caller.
        """
        try:
            stored = self.kind.read(value)
        except ValueError as reason:
            raise ValueError(f"{self.label} {reason}") from None
        length = len(self.kind.to_text(stored))
        if stored == "" and self.min_length:
            raise ValueError(f"{self.label} cannot be blank.")
        if length < self.min_length:
            raise ValueError(f"{self.label} should contain at least {self._count(self.min_length)}.")
        if self.max_length is not None and length > self.max_length:
            raise ValueError(f"{self.label} should contain at most {self._count(self.max_length)}.")
        if self.choices and stored not in self.choices:
            raise ValueError(f"{self.label} must be one of {', '.join(self.choices)}.")
        return stored

    def _count(self, number: int) -> str:
        return f"{number} character{'s' if number != 1 else ''}"


@attrs.frozen(slots=False)
class Table:
    """The fields of one record type, and the names of the type.

    Attributes:
        singular: The wrapper of a single record (`accountvault`).
        plural: The wrapper of a list, the path segment and the SQL table (`accountvaults`).
        fields: The fields in the order of responses.
        api_id: The field that holds the integrator id; empty if the type has none.
        link: The path of a record's own link, with column names in braces; empty for `/v2/<plural>/<id>`.
        page_size: The default number of records on a page of a list.
        sort: The default order of a list: a field name, with a minus before it for descending order.
        subject: The path of the record that a record is about, with column names in braces; empty without one.
        filters: The columns that filter a list; empty if they are all that sort it.
        name: The name of one record in words; empty if no endpoint has the record.
        title: The name of the records on the pages; empty if no page shows them.
        position: The place among the records on the pages.
        is_stored: Whether the sandbox stores records of the type, or only describes requests and responses.
        is_initial: Whether such records exist before the first request and survive a reset.
        expands: The relations that `expand` adds, and where they come from (`request/expands.py`).
        expands_of: The plural of another record type that has the same relations.
        codes: Field → the titles of its number codes or letters.
        actions: The last part of the path of an action without a body → what it does.
        examples: The id of an operation → what makes the example of its body valid.
        contract_fields: How many fields the contract's own table has, counted by hand.
        facts: The lines of the data file.
    """

    singular: str
    plural: str
    fields: tuple[Field, ...]
    api_id: str = ""
    link: str = ""
    page_size: int = 20
    sort: str = "-id"
    subject: str = ""
    filters: tuple[str, ...] = ()
    name: str = ""
    title: str = ""
    position: int = 0
    is_stored: bool = True
    is_initial: bool = False
    expands: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    expands_of: str = ""
    codes: Mapping[str, Mapping[Any, str]] = attrs.field(factory=dict, hash=False)
    actions: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    examples: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    contract_fields: int = 0
    facts: tuple[ContractLine, ...] = attrs.field(default=(), hash=False, repr=False)

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields by name."""
        return {field.name: field for field in self.fields}

    @cached_property
    def stored(self) -> tuple[Field, ...]:
        """The fields that have a column."""
        return tuple(field for field in self.fields if field.stored)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the SQL columns, with one for the deletion time."""
        return (*(field.name for field in self.stored), "deleted_ts")

    @cached_property
    def shown(self) -> dict[str, Field]:
        """The stored fields that responses include, by name."""
        return {field.name: field for field in self.stored if field.shown}

    @cached_property
    def sortable(self) -> dict[str, Field]:
        """The fields that sort a list, by name: the columns of its responses, and derived ones."""
        return {field.name: field for field in self.fields if field.column or (field.stored and field.shown)}

    @cached_property
    def filterable(self) -> dict[str, Field]:
        """The fields that filter a list, by name."""
        return {name: self.by_name[name] for name in self.filters} or self.sortable

    @cached_property
    def not_in_postbacks(self) -> tuple[str, ...]:
        """The names of the fields that responses include and postbacks omit."""
        return tuple(name for name, field in self.shown.items() if not field.in_postbacks)

    def show(self, row: Row) -> Row:
        """Convert a stored record to response form, without links."""
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
    """A field name in readable form: `location_id` is "Location Id"."""
    return name.replace("_", " ").title()
