"""The contract's field tables as the tests see them: the data files of `gateway_async/sandbox/contract/`.

The README there explains the columns. The sandbox reads the same files; the client's models are written by hand.
"""

from functools import cached_property

import attrs

from gateway_async.sandbox.schema import TABLES
from gateway_async.sandbox.schema import fields as schema

_TYPES = {
    "balance": "money",
    "bit": "flag",
    "code": "text",
    "date-and-time": "date",
    "date-or-zeros": "date",
    "raw-flag": "flag",
    "surcharge": "object",
}
"""Kind in a data file → type of value, where they differ."""


@attrs.frozen
class Row:
    """One field of one table.

    Attributes:
        values: the known values of a code; empty when any value of the type will do.
        length: what client and sandbox take, as it is written in the table; "-" without a limit.
        post, put: `required`, `yes` or `no`.
        response: `yes`, `no`, `null`, `some` or `-`.
    """

    table: str
    name: str
    type: str
    values: tuple[str, ...]
    length: str
    post: str
    put: str
    response: str

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The lengths of the shortest and the longest accepted value; None if the length is unlimited."""
        if self.length == "-" or self.type == "money":
            return None
        low, _, high = self.length.partition("-")
        return int(low), int(high or low)

    @property
    def settable(self) -> bool:
        """Whether any request may include the field."""
        return self.post != "no" or self.put != "no"


@attrs.frozen
class FieldTable:
    """The field table of one kind of request or response.

    Attributes:
        name: the wrapper of a record.
        contract_fields: how many fields the contract's own table has, counted by hand.
    """

    name: str
    contract_fields: int
    facts: tuple[schema.ContractLine, ...] = attrs.field(repr=False)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows, without what the sandbox keeps for itself."""
        rows = (_make_row(self.name, fact) for fact in self.facts)
        return tuple(row for row in rows if (row.post, row.put, row.response) != ("no", "no", "no"))

    @cached_property
    def by_name(self) -> dict[str, Row]:
        return {row.name: row for row in self.rows}


def table(name: str) -> FieldTable:
    """Return a table by the name of its data file."""
    found = TABLES[name]
    return FieldTable(found.singular, found.contract_fields, found.facts)


def _make_row(table: str, fact: schema.ContractLine) -> Row:
    kind = "secret" if fact.kind in ("code", "text") and "secret" in fact.marks else _TYPES.get(fact.kind, fact.kind)
    length = fact.contract if fact.accepted == "-" or fact.accepted.endswith("?") else fact.accepted
    post, put, response = (cell.rstrip("?") for cell in (fact.post, fact.put, fact.response))
    return Row(table, fact.name, kind, fact.values, length.replace("none", "-"), post, put, response)
