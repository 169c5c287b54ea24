"""The `migrate` command group. Without a subcommand name, `migrate` runs the migration itself."""

from typing import Any

import typer

from gateway_async.cli.help_text import Command, Group, help_of
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


class _DefaultCommand(Command):
    context_class = _NamelessContext


class _DefaultCommandGroup(Group):
    """A group that passes its arguments to `run` unless the first is a command's name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command's name; completion of the first word offers the names of all commands."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the names of commands, and options of the default one."""
        default: Any = self.commands["run"]
        with default.make_context("", [], parent=ctx, resilient_parsing=True) as default_context:
            return [*super().shell_complete(ctx, incomplete), *default.shell_complete(default_context, incomplete)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Omit the default command's name in the usage line."""
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == "run" else name, command, rest


migrate = typer.Typer(
    cls=_DefaultCommandGroup, add_completion=False, help="Store a file of cards and bank accounts in the vault."
)
migrate.command(cls=_DefaultCommand, help=help_of(run))(run)
for _command in (verify, journal, fields):
    migrate.command(cls=Command, help=help_of(_command))(_command)
