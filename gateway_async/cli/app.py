"""The Typer application: all subcommands, and `--version`."""

import importlib.metadata
from typing import Annotated

import typer

from gateway_async.cli.inbox import inbox
from gateway_async.cli.ledger import ledger
from gateway_async.cli.listen import listen
from gateway_async.cli.migrate import migrate
from gateway_async.cli.sandbox import sandbox

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def demo() -> None:
    """Watch the package at work in under half a minute: a terminal, a decline, a lost response, 10,000 vaults.

    It starts a sandbox of its own, shows code, runs it, and checks each statement about it. The exit status is 1 if a
    statement is wrong.
    """
    from gateway_async.cli.demo import run_demo

    run_demo()


app.command()(sandbox)
app.command()(ledger)
app.command()(listen)
app.command()(inbox)
app.add_typer(migrate, name="migrate")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"gateway-async {importlib.metadata.version('gateway-async')}")
        raise typer.Exit


@app.callback()
def gateway_async(
    *,
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run a local payment gateway, and maintain ledgers, inboxes and migrations.

    The local gateway needs no account and no real card, and sends nothing to other hosts. Three commands call the
    gateway that the environment names: `migrate`, `ledger --recover` and `listen --create-configs`. They read
    GATEWAY_BASE_URL, GATEWAY_DEVELOPER_ID, GATEWAY_USER_ID, GATEWAY_USER_API_KEY and GATEWAY_LOCATION_ID.
    GATEWAY_ALLOW_HTTP=1 allows plain http to another host.
    """
