"""A row of the contract's field tables, and the reader of the tables in `rows.py`.

A table is text, one line for each field:

    field   type   contract   taken   POST   PUT   response

- `type`: `text`, `digits`, `url`, `secret`, `integer`, `flag`, `money`, `date`, `moment` (Unix
  seconds), `object`, `items` (name to amount), `list`, `texts`, `files`; `id` (another record's), `own-id` (the
  integrator's, unique), `alias` (another record's own id). Two more are `tags` (titles, shown as `{id, title}`) and
  `amounts` (a list of `{type, amount}`). Known values follow a colon: `text:cc,ach`.
- `contract`: the length as the contract has it, in characters (digits of an integer); `10,2` of an amount. `-`: none.
- `taken`: the length that client and sandbox take, where it is wider or the contract has none; `-`: the contract's.
- `POST`, `PUT`: `required`, `yes` or `no`.
- `response`: `yes`, `no` (never returned), `null` (always so) or `-` (not shown).

A `?` means that the contract is silent there, and the value before it is common to such gateways.
"""

from functools import cached_property

import attrs


@attrs.frozen
class Row:
    """One field of one table.

    Attributes:
        values: the known values of a code; empty when any value of the type will do.
        contract, taken: lengths as they are written in the table.
        post, put: `required`, `yes` or `no`, without the question mark.
        silent: the columns in which the contract says nothing.
    """

    table: str
    name: str
    type: str
    values: tuple[str, ...]
    contract: str
    taken: str
    post: str
    put: str
    response: str
    silent: frozenset[str]

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The lengths of the shortest and the longest accepted value; None if the length is unlimited."""
        length = self.contract if self.taken == "-" else self.taken
        if length == "-" or self.type == "money":
            return None
        low, _, high = length.partition("-")
        return int(low), int(high or low)

    @property
    def settable(self) -> bool:
        """Whether any request may include the field."""
        return self.post != "no" or self.put != "no"


@attrs.frozen
class Table:
    """One field table.

    Attributes:
        name: the wrapper of a record.
        counted: how many fields the contract's own table has, written down by hand.
        text: the contract's rows.
        beyond: rows that the contract's table lacks, for fields of the same records that are known from elsewhere.
    """

    name: str
    counted: int
    text: str = attrs.field(repr=False)
    beyond: str = attrs.field(default="", repr=False)

    @cached_property
    def contract_rows(self) -> tuple[Row, ...]:
        """The rows of the contract."""
        return tuple(_row(self.name, line) for line in _lines(self.text))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows."""
        return (*self.contract_rows, *(_row(self.name, line) for line in _lines(self.beyond)))

    @cached_property
    def by_name(self) -> dict[str, Row]:
        """The rows by field name."""
        return {row.name: row for row in self.rows}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _row(table: str, line: str) -> Row:
    name, kind, contract, taken, post, put, response = line.split()
    words = {"POST": post, "PUT": put, "response": response}
    silent = frozenset(column for column, word in words.items() if word.endswith("?") or word == "-")
    kind, _, values = kind.partition(":")
    known = tuple(values.split(",")) if values else ()
    post, put, response = (word.rstrip("?") for word in (post, put, response))
    return Row(table, name, kind, known, contract, taken, post, put, response, silent)
