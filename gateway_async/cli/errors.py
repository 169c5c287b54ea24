"""Report expected failures of a command as lines on standard error, without a traceback."""

from typing import TYPE_CHECKING, Final, NoReturn

import typer

from gateway_async.cli.exit_status import ExitStatus

if TYPE_CHECKING:
    from gateway_async.errors import GatewayError

__all__ = ["fail", "fail_with", "print_error", "warn"]


_PREFIX: Final = "gateway-async: "


def fail(message: str, status: int = ExitStatus.FAILED) -> NoReturn:
    """Print a message and end the command."""
    print_error(f"{_PREFIX}{message}", "red")
    raise typer.Exit(status)


def fail_with(error: "GatewayError") -> NoReturn:
    """Print an error, and end the command with the matching status."""
    from gateway_async.errors import InvalidRequestError, OutcomeUnknownError

    if not isinstance(error, InvalidRequestError):
        fail(str(error), ExitStatus.UNKNOWN if isinstance(error, OutcomeUnknownError) else ExitStatus.FAILED)
    for problem in error.problems:
        print_error(f"{_PREFIX}{problem}", "red")
    raise typer.Exit(ExitStatus.WRONG_USAGE)


def warn(message: str) -> None:
    """Print a warning and continue."""
    print_error(f"{_PREFIX}{message}", "yellow")


def print_error(line: str, style: str) -> None:
    """Print a line on standard error, colored where that is allowed."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True).print(Text(line, style=style), soft_wrap=True)
