"""The Typer application: all commands, each imported when it is called, and `--version`."""

import importlib.metadata
import platform
import re
import sqlite3
import ssl
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import attrs
import typer

from gateway_async.cli.command import Group, help_of, make_command


@attrs.frozen
class _Entry:
    """A command that is not imported yet.

    Attributes:
        module: the module of `gateway_async.cli` that has it.
        kind: its class there, or the group of commands.
        summary: the first line of its help.
    """

    module: str
    kind: str
    summary: str


COMMANDS: Final[Mapping[str, _Entry]] = {
    "demo": _Entry("demo", "DemoCommand", "Watch the package at work in under 15 seconds."),
    "sandbox": _Entry("sandbox", "SandboxCommand", "Serve a local gateway until Ctrl-C or SIGTERM."),
    "check": _Entry("check", "CheckCommand", "Check whether calls to the configured gateway will work."),
    "get": _Entry("records", "GET", "Print a record as JSON."),
    "list": _Entry("records", "LIST", "Print the records that match the filters, one line of JSON each."),
    "create": _Entry("records", "CREATE", "Create a record, and print it as JSON."),
    "update": _Entry("records", "UPDATE", "Change a record, and print it as JSON."),
    "delete": _Entry("records", "DELETE", "Delete a record."),
    "listen": _Entry("listen", "ListenCommand", "Print the postbacks that a gateway sends, until Ctrl-C or SIGTERM."),
    "trigger": _Entry("trigger", "TriggerCommand", "Change a record in a sandbox, and show its postbacks."),
    "ledger": _Entry("ledger", "LedgerCommand", "List the calls in a ledger whose outcome is unknown."),
    "inbox": _Entry("inbox", "InboxCommand", "List the waiting and dead postbacks of an inbox, or replay them."),
    "migrate": _Entry("migrate", "MigrateCommand", "Store a file of cards and bank accounts in the vault."),
    "migrate verify": _Entry("migrate.verify", "VerifyCommand", "Read back what a migration stored, and compare it."),
    "migrate journal": _Entry(
        "migrate.journal", "JournalCommand", "Count the rows of a migration by state, or list them."
    ),
    "migrate fields": _Entry(
        "migrate.journal",
        "FieldsCommand",
        "List the fields of an account vault: when each is required, its length and its content.",
    ),
}
"""All commands, in the order of the help."""

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "token_normalize_func": lambda name: name.replace("_", "-")}
"""Settings of all commands. The names of options may be written with underscores, as the fields of the client are."""

_PACKAGE: Final = "gateway-async"
_EXTRAS: Final = ("cli", "sandbox", "postgres", "redis", "parquet", "dask")


class _Commands(Group):
    def __init__(self, **options: Any) -> None:
        super().__init__({name: entry.summary for name, entry in COMMANDS.items()}, **options)

    def make(self, name: str) -> Any:
        """Import the module of a command."""
        entry = COMMANDS[name]
        found = getattr(import_module(f"gateway_async.cli.{entry.module}"), entry.kind)
        return found if isinstance(found, Group) else make_command(name, found)


app = typer.Typer(
    cls=_Commands, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, context_settings=CONTEXT
)


def _show_versions(asked: bool) -> None:
    if asked:
        for line in _versions():
            typer.echo(line)
        raise typer.Exit


def _versions() -> Iterator[str]:
    yield f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"system {platform.platform()}"
    yield ssl.OPENSSL_VERSION
    yield f"SQLite {sqlite3.sqlite_version}"
    yield from (f"{name} {version}" for name, version in sorted({*_libraries()}))


def _libraries() -> Iterator[tuple[str, str]]:
    """Yield the dependencies that are installed, including the extras'."""
    for requirement in importlib.metadata.requires(_PACKAGE) or ():
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if name == _PACKAGE or (extra and extra[1] not in _EXTRAS):
            continue
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def gateway_async(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-v",
            is_eager=True,
            callback=_show_versions,
            help="Show the versions that a bug report needs, and exit.",
        ),
    ] = False,
) -> None:
    """Run a local payment gateway, or call a gateway from a shell.

    The local gateway (`sandbox`) needs no account and no real card, and sends nothing to other hosts. `check`, `get`,
    `list`, `create`, `update`, `delete`, `trigger`, `migrate`, `ledger --recover` and `listen --create-configs` call
    the gateway that the environment names: GATEWAY_BASE_URL, GATEWAY_DEVELOPER_ID, GATEWAY_USER_ID,
    GATEWAY_USER_API_KEY and GATEWAY_LOCATION_ID. GATEWAY_ALLOW_HTTP=1 allows plain http to other hosts.

    Exit status of every command:
    - 0: done
    - 1: failed
    - 2: wrong usage, nothing was sent
    - 3: done, and something needs attention
    - 4: the outcome of a write is unknown
    - 5: stopped at a limit
    - 6: done, but the output could not be written
    - 130, 141, 143: stopped by Ctrl-C, a closed pipe, SIGTERM
    """


app.callback(help=help_of(gateway_async))(gateway_async)
