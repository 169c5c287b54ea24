"""`gateway-async sandbox`: run the local gateway in the foreground, for any program that uses HTTP."""

import errno
import json
import sqlite3
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import typer
from rich.console import Console

from gateway_async.cli.banner import welcome
from gateway_async.cli.errors import fail

if TYPE_CHECKING:
    from gateway_async.sandbox import SandboxInfo

__all__ = ["sandbox"]

REASONS = {
    errno.EACCES: "not permitted; ports from 1024 are free for all",
    errno.EADDRINUSE: "the port is in use; --port 0 picks a free one",
    errno.EADDRNOTAVAIL: "this is not an address of this machine",
}
"""Error number → why the address cannot be listened on."""

PRIMARY_CODE = 0xFF
"""The bits of an SQLite error code with the primary code; the others are details."""

TROUBLES = {
    sqlite3.SQLITE_BUSY: "another sandbox is using it",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or made; is the folder there, and yours to write to?",
    sqlite3.SQLITE_NOTADB: "it is not a database",
    sqlite3.SQLITE_READONLY: "it is read-only",
}
"""SQLite error code → what is wrong with the data file."""


class Terminals(StrEnum):
    """How a card is presented at a simulated terminal."""

    AUTO = "auto"
    MANUAL = "manual"


def sandbox(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")] = 8080,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Keep credentials, ids and records in this file for the next start; without it, in memory.",
        ),
    ] = None,
    terminals: Annotated[
        Terminals,
        typer.Option(help="auto: a test card comes by itself. manual: you bring it, by calls to /_sandbox/terminals."),
    ] = Terminals.AUTO,
    terminal_delay: Annotated[
        float, typer.Option(min=0, max=300, metavar="SECONDS", help="How long an auto terminal waits for its card.")
    ] = 2.0,
    postback_hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-postback-host",
            metavar="HOST",
            help="Let postbacks go to this host too, not only to this machine. Can be given several times.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON when ready, and nothing else, for programs.")
    ] = False,
) -> None:
    """Serve a gateway of your own until Ctrl-C or SIGTERM, either of which is its normal end (exit status 0).

    It shows its address, throw-away credentials and ids at the start, ready to paste.
    """
    from gateway_async.sandbox import serve

    ready = _print_json if as_json else _welcome(data, terminals, terminal_delay)
    try:
        serve(
            port=port,
            host=host,
            data=data,
            terminals=terminals.value,
            terminal_delay=terminal_delay,
            postback_hosts=postback_hosts or (),
            on_ready=ready,
        )
    except ValueError as error:
        fail(str(error).replace("postback_hosts", "--allow-postback-host"))
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or error)
        fail(f"cannot listen on port {port} of {host}: {reason}")
    except sqlite3.Error as error:
        fail(f"cannot use the data file {data}: {_trouble(error)}")


def _trouble(error: sqlite3.Error) -> object:
    code = getattr(error, "sqlite_errorcode", 0)  # only errors raised by SQLite itself have a code
    return TROUBLES.get(code & PRIMARY_CODE, error)


def _print_json(facts: "SandboxInfo") -> None:
    typer.echo(json.dumps(attrs.asdict(facts)))


def _welcome(data: Path | None, terminals: Terminals, delay: float) -> Callable[["SandboxInfo"], None]:
    kept = "in memory, gone when it ends" if data is None else f"kept in {data}"
    card = f"a test card comes by itself after {delay:g} s" if terminals is Terminals.AUTO else "you bring the card"
    return lambda facts: Console().print(welcome(facts, {"Records": kept, "Terminals": card}), soft_wrap=True)
