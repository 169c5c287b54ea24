"""Output of the commands: exit statuses, errors, tables, JSON, and commands to copy.

No card number, password or other secret is printed.
"""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import unquote

import typer
from rich.console import Console
from rich.text import Text

from gateway_async._secrets import MASK, is_address, is_confidential, mask_passwords, mask_text
from gateway_async._storage.postgres import Address
from gateway_async.cli.standard_streams import OutputError, discard_output, flush_output
from gateway_async.errors import GatewayError, InvalidRequestError, OutcomeUnknownError

# --- the end of a command


class ExitStatus(IntEnum):
    """The exit statuses; the first that applies is used. Ctrl-C exits with 130, SIGTERM with 143.

    A command that only reads exits with 141 if the reader of its output has left, and otherwise with 1.
    """

    DONE = 0
    """Done, and nothing is left to do."""
    FAILED = 1
    """The gateway or a file does not respond, refuses, or cannot be used."""
    WRONG_USAGE = 2
    """An option, a variable or a field is wrong. Nothing was sent."""
    ATTENTION = 3
    """Done, and something needs attention: a decline, open calls, dead postbacks, rejected rows, differences."""
    UNKNOWN = 4
    """A write may have been executed, and no lookup found it. Repeat it only under the same integrator id."""
    STOPPED = 5
    """A migration stopped at a limit that you set."""
    OUTPUT_LOST = 6
    """Done, but standard output could not be written. Standard error says what was done."""


def fail(message: str, status: int = ExitStatus.FAILED) -> NoReturn:
    """Print an error and end the command."""
    _print_error(f"{_PREFIX}{message}", "red")
    raise typer.Exit(status)


def fail_with(error: GatewayError) -> NoReturn:
    """Print an error, and end the command with the matching status."""
    if not isinstance(error, InvalidRequestError):
        fail(str(error), ExitStatus.UNKNOWN if isinstance(error, OutcomeUnknownError) else ExitStatus.FAILED)
    for problem in error.problems:
        _print_error(f"{_PREFIX}{problem}", "red")
    raise typer.Exit(ExitStatus.WRONG_USAGE)


def warn(message: str) -> None:
    """Print a warning and continue."""
    _print_error(f"{_PREFIX}{message}", "yellow")


def print_usage_error(error: typer.TyperException) -> None:
    """Print what is wrong with the arguments, and where the help is."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help
        typer.echo(error.format_message(), err=True)
        return
    is_ours = isinstance(error, typer.BadParameter) and error.param is None
    message = error.message if is_ours else error.format_message().replace("Value error, ", "")  # Pydantic's prefix
    warn(mask_usage(" ".join(message.split())))
    context = getattr(error, "ctx", None)
    if context is not None:
        _print_error(f"Help: {context.command_path} --help", "dim")


_PREFIX: Final = "gateway-async: "


def _print_error(line: str, style: str) -> None:
    Console(stderr=True).print(Text(line, style=style), soft_wrap=True)


@contextmanager
def printing(status: int = ExitStatus.DONE, *, done: str = "") -> Iterator[None]:
    """Print a result, and end the command with its status.

    Args:
        status: the status of the result.
        done: what was executed, with the ids of the records; "" if the command only reads. If the output cannot be
            written, standard error says it, and the status is `OUTPUT_LOST` unless `status` names a problem.

    Raises:
        OutputError: the output of a command that only reads cannot be written.
    """
    try:
        yield
        flush_output()
    except OutputError as error:
        if not done:
            raise
        discard_output()
        fail(f"{done}, but {error}", status or ExitStatus.OUTPUT_LOST)
    if status:
        raise typer.Exit(status)


# --- results

TableRow = dict[str, Any]
TableColumns = Mapping[str, str | Callable[[TableRow], str | Text | None]]
"""Heading → the name of a value of a row, or a function that returns the cell."""

NONE = "–"
"""The text of a cell without a value; in a pipe it is empty."""

MAX_SHOWN_ROWS = 500
"""The most rows that a table on a terminal shows; other output has no limit."""

_GAP = "  "


def is_terminal() -> bool:
    """Whether a person reads the standard output."""
    return Console().is_terminal


def print_json(rows: Iterable[Any]) -> None:
    """Print one JSON object on each line, with times in ISO 8601."""
    for row in rows:
        typer.echo(json.dumps(row, default=datetime.isoformat))


def attributes(value: object, *names: str) -> TableRow:
    """Return some attributes of an object as a row."""
    return {name: getattr(value, name) for name in names}


_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Replace what a terminal would interpret, and what is no Unicode."""
    return _CONTROLS.sub("?", text)


def format_time(moment: datetime) -> str:
    """Format a time for a cell; its heading says that it is in UTC."""
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def print_rows(
    rows: Sequence[TableRow],
    columns: TableColumns,
    nothing: str = "",
    *,
    as_json: bool = False,
    total: int | None = None,
) -> None:
    """Print rows as a table on a terminal, as tab-separated values without headings in a pipe, or as JSON.

    Ids are whole at any width: a terminal wraps long lines itself.

    Args:
        rows: the rows.
        columns: the columns of the table; JSON has all values of the rows.
        nothing: the line on a terminal without rows.
        as_json: whether to print a JSON object for each row.
        total: the number of rows, if `rows` has only the first of them.
    """
    if as_json:
        print_json(rows)
    elif not is_terminal():
        for row in rows:
            texts = (cell.plain for cell in _cells(row, columns))
            sys.stdout.write("\t".join("" if text == NONE else text for text in texts) + "\n")
    elif not rows:
        Console().print(Text(nothing, style="green"), soft_wrap=True)
    else:
        head = [Text(heading, style="bold") for heading in columns]
        _print_aligned([head, *(_cells(row, columns) for row in rows[:MAX_SHOWN_ROWS])])
        more = (total or len(rows)) - min(len(rows), MAX_SHOWN_ROWS)
        if more > 0:
            Console().print(f"… and {more:,} more (--json lists all)")


def print_advice(advice: str) -> None:
    """Print a remark for a person, if there is one; nothing in a pipe."""
    if advice and is_terminal():
        Console().print(Text(advice, style="dim"), soft_wrap=True)


def _cells(row: TableRow, columns: TableColumns) -> list[Text]:
    found = (row.get(column) if isinstance(column, str) else column(row) for column in columns.values())
    return [cell if isinstance(cell, Text) else _cell(cell) for cell in found]


def _cell(value: Any) -> Text:
    """Return a value as a cell. A tab or a line break in it would make it two."""
    return Text(printable(" ".join(str(value).split())) if value not in (None, "") else NONE)


def _print_aligned(lines: list[list[Text]]) -> None:
    widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        for cell, width in zip(line[:-1], widths, strict=False):
            cell.pad_right(width - cell.cell_len)
        Console().print(Text(_GAP).join(line), soft_wrap=True)


# --- stores


ALL_DAYS: Final = 36_500.0
"""`keep_days` of an opened ledger or inbox, so that listing deletes nothing."""


def check_location(name: str, location: str, *, must_exist: bool = False) -> None:
    """Reject an unusable file or address of a ledger, an inbox or a journal before anything is done.

    Args:
        name: what the message begins with.
        location: a file's path or a database's address.
        must_exist: whether a file must hold something. Listing must not turn an empty file into a store.

    Raises:
        InvalidRequestError: the address is invalid, or the file does not exist or is empty.
    """
    if is_address(location):
        if problem := Address.parse(location)[1]:
            raise InvalidRequestError(f"{name}: {problem}")
    elif must_exist and not Path(location).exists():
        raise InvalidRequestError(f"{name}: {location} does not exist")
    elif must_exist and not Path(location).stat().st_size:
        raise InvalidRequestError(f"{name}: {location} is empty")


def display_location(location: str) -> str:
    """Show the file or address of a store, without a password."""
    if not is_address(location):
        return location
    address, problem = Address.parse(location)
    return problem if address is None else address.shown


# --- commands that users copy

_NAME: Final = "gateway-async"


def command_name() -> str:
    """The command as it was called: `gateway-async`, its path, or `python -m gateway_async`."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        python = Path(sys.executable).name.removesuffix(".exe")
        return f"{_shortest(python, sys.executable)} -m gateway_async"
    if called.name.removesuffix(".exe") != _NAME:
        return _NAME  # another program, such as pytest
    return _shortest(_NAME, sys.argv[0])


def command_line(arguments: Sequence[str], remark: str = "") -> str:
    """Write a command for a shell, with a remark as a comment. Secrets in the arguments are masked."""
    masked = mask_arguments(arguments)
    remarks = [remark] if remark else []
    if masked != list(arguments):
        remarks.append(f"{MASK} hides a secret: write it there, or take a database's password from PGPASSWORD")
    comment = f"   # {'; '.join(remarks)}" if remarks else ""
    return f"{command_name()} {shlex.join(masked)}{comment}"


def without_option(arguments: Sequence[str], name: str) -> list[str]:
    """Leave an option and its value out of the arguments of a command."""
    kept: list[str] = []
    given = iter(arguments)
    for argument in given:
        option, has_value, _ = argument.replace("_", "-").partition("=")
        if option != name:
            kept.append(argument)
        elif not has_value:
            next(given, None)
    return kept


def _shortest(name: str, path: str) -> str:
    """Return `name` if it leads to this program, otherwise the path."""
    found = shutil.which(name)
    if found is not None and Path(found).absolute() == Path(path).absolute():
        return name
    return shlex.quote(path)


# --- masking

_ID: Final = re.compile(r"(?=[0-9]*[a-f])[0-9a-f]{24}")
"""An id of the gateway: hexadecimal, with a letter. Its digits may look like a card number by chance."""

_QUERY_OPTION: Final = re.compile(r"(?<=[?&])([^=&]+)=[^&]*")
_FIELD: Final = re.compile(r"((?:--set=)?([^=]+))=.*", re.DOTALL)
_NAMED_VALUE: Final = re.compile(
    r"""(?:"([^"]+)"\s*:\s*|(?<![\w-])-*([\w.-]+)=)(?:"(?:[^"\\]|\\.)*"|[^\s,}&:{\["=]++(?!=))"""
)
"""A value with its name, in JSON or as NAME=VALUE."""


def mask_shown(text: str) -> str:
    """Mask card numbers in a text. An id of the gateway stays whole, so that it can be copied."""
    return text if _ID.fullmatch(text) else mask_text(text)


def mask_arguments(arguments: Sequence[str]) -> list[str]:
    """Mask the arguments of a command, among them `--set ssn4=…`."""
    masked = [_mask_argument(argument) for argument in arguments]
    for index, argument in enumerate(arguments):
        is_field = argument.startswith("--set=") or (index > 0 and arguments[index - 1] == "--set")
        found = _FIELD.fullmatch(argument) if is_field else None
        if found is not None and is_confidential(found[2]):
            masked[index] = f"{found[1]}={MASK}"
    return masked


def mask_usage(message: str) -> str:
    """Mask what a message about wrong usage repeats of the arguments: passwords, card numbers, confidential fields."""
    return mask_text(_NAMED_VALUE.sub(_mask_named_value, mask_passwords(message)))


def _mask_argument(argument: str) -> str:
    """Mask the password of an address, and card numbers."""
    if "://" in argument:
        argument = _QUERY_OPTION.sub(_mask_query_option, mask_passwords(argument))
    return mask_text(argument)


def _mask_query_option(option: re.Match[str]) -> str:
    return f"{option[1]}={MASK}" if is_confidential(unquote(option[1])) else option[0]


def _mask_named_value(found: re.Match[str]) -> str:
    name = found[1] or found[2]
    return f"{name}={MASK}" if is_confidential(name) else found[0]
