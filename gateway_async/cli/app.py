"""The Typer application: all commands, each imported when it is called, and `--version`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import attrs
import typer
from typer.core import TyperCommand
from typer.main import get_command

from gateway_async.cli.help_text import Command, Group, help_of
from gateway_async.cli.versions import version_lines

__all__ = ["app"]


@attrs.frozen
class _Command:
    """A command that is not imported yet.

    Attributes:
        module: the module of `gateway_async.cli` that has it, under its own name or in its `COMMANDS`.
        summary: the first line of its help.
    """

    module: str
    summary: str


COMMANDS: Final[Mapping[str, _Command]] = {
    "demo": _Command("demo", "Watch the package at work in under 15 seconds."),
    "sandbox": _Command("sandbox", "Serve a local gateway until Ctrl-C or SIGTERM."),
    "check": _Command("check", "Check whether calls to the gateway of the environment can work."),
    "get": _Command("records", "Print a record as JSON."),
    "list": _Command("records", "Print the records that match the filters, one line of JSON each."),
    "create": _Command("records", "Create a record, and print it as JSON."),
    "update": _Command("records", "Change a record, and print it as JSON."),
    "delete": _Command("records", "Delete a record."),
    "listen": _Command("listen", "Print the postbacks that a gateway sends, until Ctrl-C or SIGTERM."),
    "trigger": _Command("trigger", "Change a record in a sandbox, and show its postbacks."),
    "ledger": _Command("ledger", "List the calls of a ledger whose outcome is unknown."),
    "inbox": _Command("inbox", "List the waiting and dead postbacks of an inbox, or replay them."),
    "migrate": _Command("migrate", "Store a file of cards and bank accounts in the vault."),
}
"""All commands, in the order of the help."""

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "token_normalize_func": lambda name: name.replace("_", "-")}
"""Settings of all commands. The names of options may be written with underscores, as the fields of the client are."""


class _LazyGroup(Group):
    """A group that imports the module of a command when the command is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  Typer's signature
        """Return the names of all commands, in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  Typer's signature
        """Return a command, or None if no command has this name."""
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands without importing them."""
        self._add_summaries()
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command without importing any."""
        self._add_summaries()
        return super().shell_complete(ctx, incomplete)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the arguments; a misspelled name gets the nearest ones as a hint."""
        if args and args[0] not in COMMANDS:
            self._add_summaries()
        return super().resolve_command(ctx, args)

    def _add_summaries(self) -> None:
        """Add commands with a name and a summary only, to be listed."""
        for name, command in COMMANDS.items():
            self.commands.setdefault(name, TyperCommand(name, help=command.summary))


def _load(name: str) -> Any:
    """Import a command: a function, a Typer application, or one of the module's `RECORD_COMMANDS`."""
    module = import_module(f"gateway_async.cli.{COMMANDS[name].module}")
    if name in (made := getattr(module, "RECORD_COMMANDS", {})):
        return made[name]
    found: typer.Typer | Callable[..., Any] = getattr(module, name)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False)
        single.command(name, cls=Command, help=help_of(found))(found)
        found = single
    command = get_command(found)
    command.name = name
    return command


app = typer.Typer(
    cls=_LazyGroup, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, context_settings=CONTEXT
)


def _show_version(asked: bool) -> None:
    if asked:
        for line in version_lines():
            typer.echo(line)
        raise typer.Exit


def gateway_async(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-v",
            is_eager=True,
            callback=_show_version,
            help="Show the versions that a bug report needs, and exit.",
        ),
    ] = False,
) -> None:
    """Run a local payment gateway, or call a gateway from a shell.

    Other commands maintain ledgers, inboxes and migrations. The local gateway needs no account and no real card,
    and sends nothing to other hosts. The commands `check`, `get`, `list`, `create`, `update`, `delete`, `trigger`,
    `migrate`, `ledger --recover` and `listen --create-configs` call the gateway that the environment names. They
    read GATEWAY_BASE_URL, GATEWAY_DEVELOPER_ID, GATEWAY_USER_ID, GATEWAY_USER_API_KEY and GATEWAY_LOCATION_ID.
    GATEWAY_ALLOW_HTTP=1 allows plain http to another host.

    Exit status of every command: 0 done. 1 failed. 2 wrong usage, nothing was sent. 3 done, and something needs
    attention. 4 the outcome of a write is unknown. 5 stopped at a limit. 6 done, but the output could not be written.
    130 Ctrl-C. 141 the reader of the output has left. 143 SIGTERM.
    """


app.callback(help=help_of(gateway_async))(gateway_async)
