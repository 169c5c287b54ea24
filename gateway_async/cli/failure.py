"""How a command ends when something foreseeable went wrong: one line on standard error, no traceback."""

from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

__all__ = ["fail", "warn"]


def fail(message: str) -> NoReturn:
    """End the command with exit status 1 and a message."""
    _say(message, "red")
    raise typer.Exit(1)


def warn(message: str) -> None:
    """Say what did not go well, and go on."""
    _say(message, "yellow")


def _say(message: str, style: str) -> None:
    Console(stderr=True).print(Text(f"gateway-async: {message}", style=style), soft_wrap=True)
