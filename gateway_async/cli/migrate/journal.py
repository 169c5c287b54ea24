"""`gateway-async migrate journal` and `migrate fields`: the rows of a migration, and the fields of a column."""

from contextlib import aclosing
from typing import Annotated, Final

import anyio
import attrs
from rich.text import Text
from typer import Argument, Option

from gateway_async.cli.command import AsJson
from gateway_async.cli.migrate.options import NameOption, open_journal
from gateway_async.cli.output import (
    MAX_SHOWN_ROWS,
    TableColumns,
    TableRow,
    attributes,
    format_time,
    is_terminal,
    print_advice,
    print_rows,
)
from gateway_async.migration import Journal, JournalEntry
from gateway_async.migration.journal.protocol import RowState, iterate_entries
from gateway_async.migration.report import STATES, Totals
from gateway_async.migration.rows.fields import field_list

_KEY: Final = (
    "The key identifies a row in the journal: the column named key or given by --key, else account_vault_api_id. It is "
    "never the card number."
)

ROW_COLORS = {"stored": "green", "rejected": "red", "repeated": "red", "unknown": "yellow", "sending": "yellow"}
_COUNT_COLUMNS: Final[TableColumns] = {
    "state": lambda row: Text(row["state"], style=ROW_COLORS.get(row["state"], "")),
    "rows": lambda row: f"{row['rows']:,}" if is_terminal() else str(row["rows"]),
}
_ROW_COLUMNS: Final[TableColumns] = {
    "key": "key",
    "line": "line",
    "changed at (UTC)": lambda row: format_time(row["changed_at"]),
    "account": lambda row: (
        f"{row['account_vault_id']} {row['brand'] or ''} …{row['last_four']}" if row["account_vault_id"] else None
    ),
    "reasons": lambda row: "; ".join(row["reasons"]),
}
_FIELD_COLUMNS: Final[TableColumns] = {
    "field": "name",
    "required for": "required",
    "length": lambda row: _length(row["minimum"], row["maximum"]),
    "content": "meaning",
}


@attrs.frozen(kw_only=True, repr=False)
class JournalCommand:
    """Count the rows of a migration by state, or list them.

    It sends and changes nothing. Of each card, the journal has only the brand and the last four digits.

    Exit status:
    - 0: the journal was read
    - 1: the journal cannot be used
    - 2: wrong usage, or the journal does not exist
    """

    location: Annotated[str, Argument(metavar="JOURNAL", help="Journal: a file or postgresql://…")]
    state: Annotated[
        RowState | None,
        Option(
            metavar="|".join(RowState),
            help="List the rows in one state. A row in state sending may have been sent; the next run looks it up.",
        ),
    ] = None
    name: NameOption = None
    as_json: AsJson = False

    def run(self) -> None:
        """Count or list the rows."""
        anyio.run(_show, open_journal(self.location, self.name, must_exist=True), self.state, self.as_json)


@attrs.frozen(kw_only=True)
class FieldsCommand:
    """List the fields of an account vault: when each is required, its length and its content.

    A column named like a field needs no --map; case, blanks and dashes do not matter.
    """

    as_json: AsJson = False

    def run(self) -> None:
        """List the fields."""
        print_rows([*map(attrs.asdict, field_list())], _FIELD_COLUMNS, as_json=self.as_json)
        print_advice("" if self.as_json else f"\n{_KEY}")


async def _show(store: Journal, state: RowState | None, as_json: bool) -> None:
    async with aclosing(store), aclosing(iterate_entries(store, state)) as entries:
        if as_json or (state is not None and not is_terminal()):
            async for entry in entries:
                print_rows([_values(entry)], _ROW_COLUMNS, as_json=as_json)
            return
        counts = await store.counts()
        if state is None:
            totals = Totals.from_counts(counts)
            rows = [{"state": name, "rows": getattr(totals, name)} for name in (*STATES, "rows")]
            print_rows(rows, _COUNT_COLUMNS)
            print_advice("\n--state rejected lists the rejected rows.")
            return
        rows = []
        async for entry in entries:
            rows.append(_values(entry))
            if len(rows) == MAX_SHOWN_ROWS:
                break
        print_rows(rows, _ROW_COLUMNS, f"No rows in state {state}.", total=counts.get(state, 0))


def _values(entry: JournalEntry) -> TableRow:
    return {
        **attributes(entry, "key", "state", "line"),
        "reasons": list(entry.reasons),
        "account_vault_id": entry.vault_id,
        "account_vault_api_id": entry.api_id or None,
        **attributes(entry, "last_four", "brand", "run", "changed_at"),
    }


def _length(minimum: int, maximum: int | None) -> str | None:
    if maximum is None:
        return None
    return str(maximum) if minimum == maximum else f"{minimum} to {maximum}"
