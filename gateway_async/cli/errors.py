"""Report expected failures of a command as one line on standard error, without a traceback."""

from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

__all__ = ["fail", "warn"]


def fail(message: str) -> NoReturn:
    """Print a message and end the command with exit status 1."""
    _print(message, "red")
    raise typer.Exit(1)


def warn(message: str) -> None:
    """Print a warning and continue."""
    _print(message, "yellow")


def _print(message: str, style: str) -> None:
    Console(stderr=True).print(Text(f"gateway-async: {message}", style=style), soft_wrap=True)
