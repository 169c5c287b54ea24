"""Report expected failures of a command as lines on standard error, without a traceback."""

from typing import TYPE_CHECKING, NoReturn

import typer

from gateway_async.cli.exit_status import ExitStatus

if TYPE_CHECKING:
    from gateway_async.errors import GatewayError

__all__ = ["fail", "fail_with", "warn"]


def fail(message: str, status: int = ExitStatus.FAILED) -> NoReturn:
    """Print a message and end the command."""
    _print(message, "red")
    raise typer.Exit(status)


def fail_with(error: "GatewayError") -> NoReturn:
    """Print an error, and end the command with the matching status."""
    from gateway_async.errors import InvalidRequestError, OutcomeUnknownError

    if not isinstance(error, InvalidRequestError):
        fail(str(error), ExitStatus.UNKNOWN if isinstance(error, OutcomeUnknownError) else ExitStatus.FAILED)
    for problem in error.problems:
        _print(problem, "red")
    raise typer.Exit(ExitStatus.WRONG_USAGE)


def warn(message: str) -> None:
    """Print a warning and continue."""
    _print(message, "yellow")


def _print(message: str, style: str) -> None:
    typer.secho(f"gateway-async: {message}", fg=style, err=True)
