"""The Typer application: all subcommands, and `--version`."""

import importlib.metadata
from typing import Annotated

import typer

from gateway_async.cli.demo import demo
from gateway_async.cli.inbox import inbox
from gateway_async.cli.ledger import ledger
from gateway_async.cli.listen import listen
from gateway_async.cli.migrate import migrate
from gateway_async.cli.sandbox import sandbox

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(demo)
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
    """A payment gateway on your own machine, to learn, build and test with.

    No account is needed, no real card, and nothing leaves 127.0.0.1; only `migrate`, `ledger --recover` and
    `listen --create-configs` call the gateway of your environment.
    """
