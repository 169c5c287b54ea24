"""Options of an input file that several commands share, and the input that they define."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import typer

from gateway_async._secrets import is_address
from gateway_async.errors import InvalidRequestError
from gateway_async.migration import Columns, read_rows

__all__ = ["CreateInput", "Input", "add_input_options"]

_PANEL = "Input"


@attrs.frozen
class Input:
    """A file and how to read it.

    Attributes:
        location: its path; `-` for standard input.
        reading: further arguments of `read_rows`.
    """

    location: str
    reading: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def path(self) -> Path | None:
        """Return its path; None for standard input."""
        return None if self.location == "-" else Path(self.location)

    @property
    def columns(self) -> Columns:
        """Return the mapping of columns to fields."""
        columns: Columns = self.reading["columns"]
        return columns

    def rows(self) -> Any:
        """Return its rows, not read yet."""
        return read_rows(self.path or "-", **self.reading)

    def check_has_rows(self, has_rows: bool) -> None:
        """Reject an input without rows, such as an export that failed.

        Raises:
            InvalidRequestError: it has none.
        """
        if not has_rows:
            name = "standard input" if self.path is None else self.location
            raise InvalidRequestError(f"source: {name} has no rows (expected at least one)")


def create_input(
    location: str,
    *,
    columns: Annotated[
        Path | None,
        typer.Option(
            "--columns",
            metavar="TOML",
            exists=True,
            dir_okay=False,
            rich_help_panel=_PANEL,
            help="A file with all column options: the tables columns and constants, key and ignore.",
        ),
    ] = None,
    mapped: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="COLUMN=FIELD", rich_help_panel=_PANEL, help="Map a column to a field. Repeatable."
        ),
    ] = None,
    constants: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            rich_help_panel=_PANEL,
            help="Set a field to the same value in every row. Repeatable.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="COLUMN",
            rich_help_panel=_PANEL,
            help="The column with the key of a row, never a card number; by default key, else account_vault_api_id.",
        ),
    ] = None,
    ignored: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="COLUMN", rich_help_panel=_PANEL, help="Leave out a column. Repeatable."),
    ] = None,
    kind: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        typer.Option(
            "--format",
            metavar="csv|jsonl|parquet",
            rich_help_panel=_PANEL,
            help="Format of the input, if the file name does not show it.",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding", metavar="NAME", rich_help_panel=_PANEL, help="Encoding of the input; by default UTF-8."
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            rich_help_panel=_PANEL,
            help="Delimiter of CSV; by default detected in the header.",
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            rich_help_panel=_PANEL,
            help="Only the I-th of N parts of the file, for N processes that share a journal.",
        ),
    ] = None,
) -> Input:
    """Return the input that a command's options define.

    Raises:
        BadParameter: the file does not exist, or an option has the wrong form.
        InvalidRequestError: a column is mapped to a field that the contract does not have.
    """
    if is_address(location):
        raise typer.BadParameter("FILE: must be a file, not an address")
    if location != "-" and not Path(location).exists():
        raise typer.BadParameter(f"file '{location}' does not exist")
    if location != "-" and not Path(location).is_file():
        raise typer.BadParameter(f"'{location}' is not a file (expected - for a pipe to standard input)")
    if location == "-" and kind is None:
        raise typer.BadParameter("--format required with standard input")
    given = {"format": kind, "encoding": encoding, "delimiter": _unescape(delimiter), "shard": shard}
    reading = {name: value for name, value in given.items() if value is not None}
    from_file = Columns.from_toml(columns) if columns else Columns()
    mapping = Columns(
        names={**from_file.names, **_pairs("--map", mapped)},
        constants={**from_file.constants, **_pairs("--set", constants)},
        key=key or from_file.key,
        ignore=(*from_file.ignore, *(ignored or ())),
    )
    return Input(location, {**reading, "columns": mapping})


CreateInput = Callable[[str], Input]


def add_input_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `create_input` by the options of that function."""
    _, *options = signature(create_input).parameters.values()

    @wraps(command)
    def run(**values: Any) -> None:
        given = {option.name: values.pop(option.name) for option in options}
        command(**values, create_input=partial(create_input, **given))

    parameters = [*signature(command).parameters.values()]
    at = next(index for index, parameter in enumerate(parameters) if parameter.name == "create_input")
    parameters[at : at + 1] = options
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def _pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    pairs = [text.rpartition("=") if option == "--map" else text.partition("=") for text in texts or ()]
    if not all(name and sign for name, sign, _ in pairs):
        raise typer.BadParameter(f"{option} must have the form NAME=VALUE")
    named = {name.strip(): value.strip() for name, _, value in pairs}
    if len(named) < len(pairs):
        raise typer.BadParameter(f"{option} has a name more than once")
    return named


def _unescape(delimiter: str | None) -> str | None:
    r"""Return the delimiter. `\t` and `tab` mean a tab, which is hard to type."""
    return "\t" if delimiter in ("\\t", "tab") else delimiter
