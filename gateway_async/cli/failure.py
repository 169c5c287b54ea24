"""How a command ends when something foreseeable went wrong: one line on standard error, no traceback."""

from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

__all__ = ["fail"]


def fail(message: str) -> NoReturn:
    """End the command with exit status 1 and a message."""
    Console(stderr=True).print(Text(f"gateway-async: {message}", style="red"), soft_wrap=True)
    raise typer.Exit(1)
