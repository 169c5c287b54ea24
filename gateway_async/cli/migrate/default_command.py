"""The `migrate` command group. Without a subcommand name, `migrate` runs the migration itself."""

from collections.abc import Callable
from inspect import getdoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from gateway_async.cli.migrate.command import run
from gateway_async.cli.migrate.fields import fields
from gateway_async.cli.migrate.journal import journal
from gateway_async.cli.migrate.verify import verify

__all__ = ["migrate"]


class _NamelessContext(typer.Context):
    """A context without a trailing blank in its usage line, for a command without a name."""

    @property
    def command_path(self) -> str:
        return super().command_path.rstrip()


class _DefaultCommand(TyperCommand):
    context_class = _NamelessContext


class _DefaultCommandGroup(TyperGroup):
    """A group that passes its arguments to `run` unless the first is a command's name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command's name."""
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Omit the default command's name in the usage line."""
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == "run" else name, command, rest


def _reflow(command: Callable[..., None]) -> str:
    """Return a command's docstring with one line for each paragraph."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (getdoc(command) or "").split("\n\n"))


migrate = typer.Typer(
    cls=_DefaultCommandGroup, add_completion=False, help="Store a file of cards and bank accounts in the vault."
)
migrate.command(cls=_DefaultCommand, help=_reflow(run))(run)
for _command in (verify, journal, fields):
    migrate.command(help=_reflow(_command))(_command)
