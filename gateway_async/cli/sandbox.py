"""`gateway-async sandbox`: run the local gateway in the foreground, for any program that uses HTTP."""

import errno
import logging
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from textwrap import indent
from typing import Annotated, Final, NoReturn

import attrs
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text
from typer import BadParameter, Option

from gateway_async._arguments import is_loopback
from gateway_async._secrets import is_address, mask_text
from gateway_async._storage.sqlite import describe_sqlite_error
from gateway_async.cli.command import HostOption, PortOption
from gateway_async.cli.output import fail, print_json, warn
from gateway_async.cli.standard_streams import OutputError, discard_output
from gateway_async.errors import InvalidRequestError
from gateway_async.sandbox import SandboxInfo, serve
from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.sandbox.runtime.gateway import IN_ENVIRONMENT
from gateway_async.sandbox.runtime.postback_delivery import PostbackFormat
from gateway_async.sandbox.simulators.terminals import Mode

_LISTEN_PROBLEMS: Final = {
    errno.EACCES: "not permitted (expected port 1024 or higher)",
    errno.EADDRINUSE: "the port is in use (--port 0 picks a free one)",
    errno.EADDRNOTAVAIL: "not an address of this machine",
}
"""Error number → why the address cannot be listened on."""

_REFUSED: Final = 400

_FIRST_CALL: Final = """\
curl -H "developer-id: $GATEWAY_DEVELOPER_ID" \\
     -H "user-id: $GATEWAY_USER_ID" \\
     -H "user-api-key: $GATEWAY_USER_API_KEY" \\
     "$GATEWAY_BASE_URL/v2/contacts\""""


@attrs.frozen(kw_only=True)
class SandboxCommand:
    """Serve a local gateway until Ctrl-C or SIGTERM.

    It first prints its address, throw-away credentials and ids, ready to paste. Then it logs each request in one line:
    time, method, path, status and duration, but no query strings, bodies or credentials.
    """

    host: HostOption = "127.0.0.1"
    port: PortOption = 8080
    data: Annotated[
        Path | None,
        Option(
            metavar="FILE", dir_okay=False, help="Keep credentials, ids and records in this file for the next start."
        ),
    ] = None
    terminals: Annotated[
        Mode, Option(metavar="auto|manual", help="auto presents a test card; manual waits for /_sandbox/terminals.")
    ] = "auto"
    terminal_delay: Annotated[
        float, Option(min=0, max=300, metavar="SECONDS", help="Seconds until an auto terminal gets its card.")
    ] = 2.0
    postback_format: Annotated[
        PostbackFormat, Option(metavar="json|form", help="Send postbacks as JSON or, as some gateways do, as forms.")
    ] = "json"
    currency: Annotated[str, Option(metavar="CODE", help="Currency on pages and in messages (ISO 4217).")] = "USD"
    postback_hosts: Annotated[
        list[str] | None,
        Option(
            "--allow-postback-host",
            metavar="HOST",
            help="Allow postbacks to this host, besides this machine. Repeatable.",
        ),
    ] = None
    allowed_hosts: Annotated[
        list[str] | None,
        Option(
            "--allow-host",
            metavar="NAME",
            help="Serve pages and /_sandbox/ under this host name, besides localhost and IP addresses. Repeatable.",
        ),
    ] = None
    strict: Annotated[
        bool, Option("--strict", help="Reject unknown fields and parameters with 422. Default: ignore and log them.")
    ] = False
    as_json: Annotated[bool, Option("--json", help="Print one line of JSON when ready, and nothing else.")] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help="Print no request log.")] = False

    def run(self) -> None:
        """Serve until a signal."""
        if self.data is not None and is_address(str(self.data)):
            raise BadParameter("--data: must be a file, not an address")
        if not is_loopback(self.host):
            warn(f"--host: every machine that reaches {self.host} can use this sandbox and its /_sandbox/ calls")
        if not self.as_json:
            _show_ignored_fields(quiet=self.quiet)
        try:
            serve(
                port=self.port,
                host=self.host,
                data=self.data,
                terminals=self.terminals,
                terminal_delay=self.terminal_delay,
                postback_format=self.postback_format,
                postback_hosts=self.postback_hosts or (),
                strict=self.strict,
                currency=self.currency,
                on_ready=self._print_ready,
                allowed_hosts=self.allowed_hosts or (),
                on_request=None if self.quiet or self.as_json else _print_request,
            )
        except InvalidRequestError as error:
            fail("; ".join(error.problems).replace("postback_hosts", "--allow-postback-host"))
        except OSError as error:
            fail_to_listen(self.host, self.port, error)
        except sqlite3.Error as error:
            fail(f"cannot use the data file {self.data}: {describe_sqlite_error(error, 'a database')}")

    def _print_ready(self, info: SandboxInfo) -> None:
        if self.as_json:
            print_json([attrs.asdict(info)])
            return
        delay = f"a test card is presented after {self.terminal_delay:g} s"
        settings = {
            "Records": "in memory, deleted at the end" if self.data is None else f"kept in {self.data}",
            "Terminals": delay if self.terminals == "auto" else "you present the card",
        }
        Console().print(_banner(info, settings), soft_wrap=True)


def fail_to_listen(host: str, port: int, error: OSError) -> NoReturn:
    """Print why an address cannot be listened on, and end the command."""
    reason = _LISTEN_PROBLEMS.get(error.errno or 0, error.strerror or error)
    fail(f"cannot listen on port {port} of {host}: {reason}")


class _LogPrinter(logging.Handler):
    """Prints log messages as lines of the request log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        _print_line(Text(mask_text(record.getMessage()), style="yellow"))


def _show_ignored_fields(*, quiet: bool) -> None:
    """Print the fields that the sandbox ignores in the request log."""
    logger = logging.getLogger("gateway_async.sandbox.ignored_fields")
    logger.addHandler(logging.NullHandler() if quiet else _LogPrinter())
    logger.propagate = False


def _print_request(request: LoggedRequest) -> None:
    status = "no response" if request.status_code is None else str(request.status_code)
    line = Text.assemble(
        f"{request.method:6} {mask_text(request.path)}  ",
        (status, "green" if request.status_code and request.status_code < _REFUSED else "red"),
        (f"  {request.seconds * 1000:.0f} ms", "dim"),
        f"  {mask_text(request.problem)}" if request.problem else "",
    )
    _print_line(line)


def _print_line(line: Text) -> None:
    """Print a line of the request log. The sandbox goes on if it cannot be written."""
    time = Text(f"{datetime.now().astimezone():%H:%M:%S}  ", style="dim")
    try:
        Console(highlight=False).print(time + line, soft_wrap=True)
    except OutputError:
        discard_output()


def _banner(info: SandboxInfo, settings: Mapping[str, str]) -> RenderableType:
    """Build the banner of a running sandbox.

    It shows the sandbox's throw-away credentials on purpose. It has no frame and no padding on the right, because both
    would be copied with the lines and break them.
    """
    values = attrs.asdict(info)
    exports = "\n".join(f"export GATEWAY_{name.upper()}={values[name]}" for name in IN_ENVIRONMENT)
    others = {name: value for name, value in values.items() if name not in IN_ENVIRONMENT}
    return Group(
        Rule(Text(f"The sandbox gateway is ready at {info.base_url}", style="bold green"), align="left"),
        _table(settings),
        _part("Paste into your shell, for AsyncGateway.from_env():", Text(indent(exports, "  "), style="cyan")),
        _part("A first call:", Text(indent(_FIRST_CALL, "  "), style="cyan")),
        _part("Other values:", _table(others)),
        _part("In a browser: requests, records, terminals, payment pages and more:", Text(f"  {info.base_url}/")),
        _part("The same for programs, without credentials:", Text(f"  {info.base_url}/_sandbox/")),
        Rule(),
        Text("Press Ctrl-C to stop.", style="dim"),
    )


def _part(headline: str, content: Text) -> Text:
    return Text.assemble("\n", (headline, "bold"), "\n", content)


def _table(values: Mapping[str, str]) -> Text:
    width = max(map(len, values))
    return Text("\n").join(
        Text.assemble("  ", (f"{name:{width}}", "dim"), "  ", value) for name, value in values.items()
    )
