"""The options of a migration: of its input, its output files, its speed and its limits. Each is a field, said once."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import attrs
import typer

from gateway_async import AsyncGateway
from gateway_async._secrets import is_address
from gateway_async._text import pluralize
from gateway_async._wire.json_text import is_utf8
from gateway_async.cli.command import split_pairs
from gateway_async.cli.migrate.window import Window
from gateway_async.cli.output import check_location
from gateway_async.errors import InvalidRequestError
from gateway_async.migration import Columns, Journal, PostgresJournal, Report, SqliteJournal, read_rows
from gateway_async.migration.output.files import check_output

_DEFAULT_CONNECTIONS: Final = 100

_input_option = partial(typer.Option, rich_help_panel="Input")
_output_option = partial(typer.Option, rich_help_panel="Output files")
_speed_option = partial(typer.Option, rich_help_panel="Speed")
_limit_option = partial(typer.Option, rich_help_panel="Limits")
_cluster_option = partial(typer.Option, rich_help_panel="Several machines")


NameOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the migration; required with a journal in PostgreSQL.")
]


@attrs.frozen
class Input:
    """A file and how to read it.

    Attributes:
        location: its path; `-` for standard input.
        columns: how its columns become fields.
        reading: further arguments of `read_rows`.
    """

    location: str
    columns: Columns
    reading: Mapping[str, Any]

    @property
    def path(self) -> Path | None:
        """Its path; None for standard input."""
        return None if self.location == "-" else Path(self.location)

    def rows(self) -> Any:
        """Return its rows, not read yet."""
        return read_rows(self.path or "-", columns=self.columns, **self.reading)

    def check_has_rows(self, has_rows: bool) -> None:
        """Reject an input without rows, such as an export that failed. A part of the file may have none.

        Raises:
            InvalidRequestError: it has none.
        """
        if not (has_rows or "shard" in self.reading):
            name = "standard input" if self.path is None else self.location
            raise InvalidRequestError(f"source: {name} has no rows (expected at least one)")


@attrs.frozen(kw_only=True, repr=False)
class InputOptions:
    """The options of an input file, for each command that reads one."""

    columns: Annotated[
        Path | None,
        _input_option(
            metavar="TOML",
            exists=True,
            dir_okay=False,
            help="File with all column options: the tables columns and constants, key and ignore.",
        ),
    ] = None
    mapped: Annotated[
        list[str] | None, _input_option("--map", metavar="COLUMN=FIELD", help="Map a column to a field. Repeatable.")
    ] = None
    constants: Annotated[
        list[str] | None,
        _input_option("--set", metavar="FIELD=VALUE", help="Set a field to the same value in every row. Repeatable."),
    ] = None
    key: Annotated[
        str | None,
        _input_option(
            metavar="COLUMN",
            help="Column that identifies a row, never a card number. Default: key, else account_vault_api_id.",
        ),
    ] = None
    ignored: Annotated[
        list[str] | None, _input_option("--ignore", metavar="COLUMN", help="Ignore a column. Repeatable.")
    ] = None
    format: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        _input_option(metavar="csv|jsonl|parquet", help="Input format, if the file name does not show it."),
    ] = None
    encoding: Annotated[str | None, _input_option(metavar="NAME", help="Input encoding. Default: UTF-8.")] = None
    delimiter: Annotated[
        str | None, _input_option(metavar="CHARACTER", help="CSV delimiter. Default: detected in the header.")
    ] = None
    shard: Annotated[
        str | None,
        _input_option(metavar="I/N", help="Read only the I-th of N parts of the file; N processes share a journal."),
    ] = None

    def input_at(self, location: str) -> Input:
        """Choose the input at a path; `-` is standard input.

        Raises:
            BadParameter: it is an address or a folder, or an option has the wrong form.
            InvalidRequestError: a column is mapped to a field that the contract does not have.
        """
        if is_address(location):
            raise typer.BadParameter("FILE: must be a file, not an address")
        if Path(location).exists() and not Path(location).is_file():
            raise typer.BadParameter(f"FILE: {location} is not a file (expected - for a pipe to standard input)")
        given = {
            "format": self.format,
            "encoding": self.encoding,
            "delimiter": _unescape(self.delimiter),
            "shard": self.shard,
        }
        from_file = Columns.from_toml(self.columns) if self.columns else Columns()
        mapped = split_pairs("--map", self.mapped or (), at_last=True)
        constants = split_pairs("--set", self.constants or ())
        columns = Columns(
            names={**from_file.names, **{name: field.strip() for name, field in mapped.items()}},
            constants={**from_file.constants, **{name: value.strip() for name, value in constants.items()}},
            key=self.key or from_file.key,
            ignore=(*from_file.ignore, *(self.ignored or ())),
        )
        return Input(location, columns, {name: value for name, value in given.items() if value is not None})


def _complete_command(incomplete: str) -> list[str]:
    """Complete the second word of the other commands, where the file would be."""
    return [word for word in ("verify", "journal", "fields") if word.startswith(incomplete)]


@attrs.frozen(kw_only=True, repr=False)
class MigrationOptions(InputOptions):
    """The options of one run. A plan needs no journal and writes nothing."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            autocompletion=_complete_command,
            help="Input: CSV, JSON Lines or Parquet; - is standard input.",
        ),
    ]
    journal: Annotated[
        str | None,
        _output_option(
            metavar="FILE",
            help="Journal from which the next run continues: a file or postgresql://… Default: the input's name with "
            ".journal.",
        ),
    ] = None
    out: Annotated[
        Path | None, _output_option(metavar="FILE", help="Write the vault id of each key: .csv, .tsv or .jsonl.")
    ] = None
    rejects: Annotated[
        Path | None,
        _output_option(
            metavar="FILE",
            help="Write the rows that are not stored, with their problems, in the input's format. Card numbers are "
            "masked.",
        ),
    ] = None
    rejects_with_card_numbers: Annotated[
        bool,
        _output_option(
            "--rejects-with-card-numbers",
            help="Write the rows of --rejects unmasked, so that you can correct them. Only you can read the file.",
        ),
    ] = False
    report: Annotated[Path | None, _output_option(metavar="FILE", help="Write the report as an HTML page.")] = None
    report_json: Annotated[Path | None, _output_option(metavar="FILE", help="Write the report as JSON.")] = None
    force: Annotated[bool, _output_option("--force", help="Replace files that this command did not write.")] = False
    plan: Annotated[
        bool, typer.Option("--plan", help="Read the whole input and show what would be sent. Send nothing.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON every second, and one at the end.")] = (
        False
    )
    serve: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Show the progress in a browser, at this port of 127.0.0.1; 0 picks a free one.",
        ),
    ] = None
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the migration; rows without an id get one derived from it. Default: the journal's name.",
        ),
    ] = None
    retry_rejected: Annotated[
        bool, typer.Option("--retry-rejected", help="Send unchanged rows again that the gateway rejected before.")
    ] = False
    concurrency: Annotated[
        int, _speed_option(min=1, metavar="N", help="Maximum concurrent calls; fewer while the gateway is slow.")
    ] = 64
    rate: Annotated[float | None, _speed_option(min=0.001, metavar="N", help="Maximum calls per second.")] = None
    window: Annotated[
        str | None, _limit_option(metavar="22:00-06:00", help="Run only at this time of day (local time).")
    ] = None
    wait_for_window: Annotated[bool, _limit_option("--wait-for-window", help="Wait until the window opens.")] = False
    max_seconds: Annotated[float | None, _limit_option(min=0.001, metavar="N", help="Stop after N seconds.")] = None
    max_rows: Annotated[int | None, _limit_option(min=1, metavar="N", help="Store at most N rows in this run.")] = None
    max_rejected: Annotated[
        int | None, _limit_option(min=0, metavar="N", help="Stop when more than N rows are rejected or repeated.")
    ] = None
    dask: Annotated[
        str | None, _cluster_option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
    ] = None
    redis: Annotated[
        str | None, _cluster_option(metavar="URL", help="Redis through which the workers share --rate.")
    ] = None

    @cached_property
    def input(self) -> Input:
        """The input file."""
        return self.input_at(self.file)

    @cached_property
    def times(self) -> Window | None:
        """The time of day in which it may run; None for any."""
        return Window.parse(self.window) if self.window else None

    def reason_to_stop(self, report: Report, now: datetime) -> str | None:
        """Describe the limit that is reached, or return None. Repeated rows count as rejected."""
        seconds, most = self.max_seconds, self.max_rejected
        if self.times and not self.times.contains(now):
            return f"the window {self.times} has closed"
        if seconds and report.seconds >= seconds:
            return f"maximum of {seconds:g} {pluralize(seconds, 'second')} reached"
        if most is not None and report.rejected + report.repeated > most:
            return f"more than {most:,} {pluralize(most, 'row was', 'rows were')} rejected"
        return None

    @cached_property
    def journal_location(self) -> str:
        """The file or the address of the journal."""
        return self.journal or default_journal(self.input.path)

    def create_journal(self) -> Journal:
        """Create an object for the journal, which is opened at its first use.

        Raises:
            InvalidRequestError: its folder does not exist, or a database needs the migration's name.
        """
        return open_journal(self.journal_location, self.name)

    def check(self) -> None:
        """Reject options that contradict each other, and files that cannot be used, before anything is sent.

        Raises:
            BadParameter: the input is not a file, or an option has the wrong form.
            InvalidRequestError: an option is wrong, or two options contradict each other.
        """
        source, window = self.input.path, self.times
        if not self.plan:
            self._check_paths(source)
        elif self.serve is not None:
            raise InvalidRequestError("serve: not allowed with --plan")
        if self.wait_for_window and not window:
            raise InvalidRequestError("wait-for-window: only allowed with --window")
        if self.dask:
            self._check_cluster()
        elif self.redis:
            raise InvalidRequestError("redis: only allowed with --dask")

    def _check_paths(self, source: Path | None) -> None:
        location = self.journal_location
        others = {"the input": source, "the journal": None if is_address(location) else Path(location)}
        paths = {"out": self.out, "rejects": self.rejects, "report": self.report, "report-json": self.report_json}
        for name, path in paths.items():
            for role, other in others.items():
                if path and other and _is_same_file(path, other):
                    raise InvalidRequestError(f"{name}: {path} is {role}")
            others[f"--{name}"] = path
            if path:
                check_output(name, path, source=source, force=self.force)
        if self.rejects and self.shard:
            raise InvalidRequestError(
                "rejects: not allowed with --shard (expected in the run over the whole file, which writes all of them)"
            )
        if self.rejects_with_card_numbers and not self.rejects:
            raise InvalidRequestError("rejects-with-card-numbers: only allowed with --rejects")
        self.create_journal()  # checks only
        if not is_utf8(self.name or Path(location).stem):
            raise InvalidRequestError("name: the journal's file name is not valid UTF-8 (expected --name)")

    def _check_cluster(self) -> None:
        if self.input.path is None:
            raise InvalidRequestError(
                "dask: not allowed with standard input (expected a file that all workers can read)"
            )
        if self.shard:
            raise InvalidRequestError("shard: not allowed with --dask, which divides the file itself")
        if not (self.journal and is_address(self.journal) and self.name):
            raise InvalidRequestError(
                "dask: --journal and --name required (expected --journal postgresql://… that all workers can reach)"
            )


def default_journal(input_path: Path | None) -> str:
    """The default path of the journal: the input with the suffix .journal.

    Raises:
        InvalidRequestError: the input is standard input.
    """
    if input_path is None:
        raise InvalidRequestError("journal: required with standard input")
    return str(input_path.with_suffix(".journal"))


def open_journal(location: str, name: str | None, *, must_exist: bool = False) -> Journal:
    """Open the journal at a file's path or a database's address; it is created at its first use.

    Raises:
        InvalidRequestError: it or its folder does not exist, or a database needs the migration's name or a valid
            address.
    """
    check_location("journal", location, must_exist=must_exist)
    if is_address(location):
        if name is None:
            raise InvalidRequestError("name: required with a journal in PostgreSQL")
        return PostgresJournal(location, name)
    folder = Path(location).absolute().parent
    if not folder.is_dir():
        raise InvalidRequestError(f"journal: folder {folder} does not exist")
    return SqliteJournal(location)


def client_factory(concurrency: int) -> Callable[[], AsyncGateway]:
    """Build a function that makes clients and can be sent to other processes."""
    return partial(AsyncGateway.from_env, max_connections=max(concurrency, _DEFAULT_CONNECTIONS))


def _is_same_file(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


def _unescape(delimiter: str | None) -> str | None:
    r"""Return the delimiter. `\t` and `tab` mean a tab, which is hard to type."""
    return "\t" if delimiter in ("\\t", "tab") else delimiter
