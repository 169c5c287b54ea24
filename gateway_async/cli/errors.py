"""Report expected failures of a command as lines on standard error, without a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.standard_streams import OutputError, discard_output, flush_output
from gateway_async.errors import GatewayError, InvalidRequestError, OutcomeUnknownError

__all__ = ["fail", "fail_with", "print_error", "printing", "warn"]


_PREFIX: Final = "gateway-async: "


def fail(message: str, status: int = ExitStatus.FAILED) -> NoReturn:
    """Print a message and end the command."""
    print_error(f"{_PREFIX}{message}", "red")
    raise typer.Exit(status)


def fail_with(error: GatewayError) -> NoReturn:
    """Print an error, and end the command with the matching status."""
    if not isinstance(error, InvalidRequestError):
        fail(str(error), ExitStatus.UNKNOWN if isinstance(error, OutcomeUnknownError) else ExitStatus.FAILED)
    for problem in error.problems:
        print_error(f"{_PREFIX}{problem}", "red")
    raise typer.Exit(ExitStatus.WRONG_USAGE)


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


def warn(message: str) -> None:
    """Print a warning and continue."""
    print_error(f"{_PREFIX}{message}", "yellow")


def print_error(line: str, style: str) -> None:
    """Print a line on standard error, colored where that is allowed."""
    Console(stderr=True).print(Text(line, style=style), soft_wrap=True)
