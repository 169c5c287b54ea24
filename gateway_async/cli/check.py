"""`gateway-async check`: find out whether calls to the configured gateway will work."""

import http.client
import os
import re
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import attrs
import certifi
import typer
from rich.console import Console
from rich.text import Text
from typer import Option

from gateway_async import AsyncGateway, GatewayError
from gateway_async._http.proxy import Proxy
from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson
from gateway_async.cli.inbox import open_inbox
from gateway_async.cli.ledger import open_ledger
from gateway_async.cli.output import ExitStatus, check_location, display_location, print_json

CheckResult = Literal["ok", "skipped", "attention", "failed"]

_COLORS: Final = {"ok": "green", "skipped": "bright_black", "attention": "yellow", "failed": "red"}
_CLOCK_SECONDS: Final = 60.0
"""A greater difference is reported: signatures of requests are refused from five minutes on."""

_CERTIFICATE_DAYS: Final = 14.0
_PROBE_PATH: Final = "/v2/contacts"
_PROBE_SECONDS: Final = 10.0
_DAY: Final = 86_400.0
_TUNNEL_REFUSED: Final = re.compile("Tunnel connection failed: ([0-9]{3})")


@attrs.frozen
class _Finding:
    """The result of one check."""

    check: str
    state: CheckResult
    details: str


@attrs.frozen(kw_only=True)
class CheckCommand:
    """Check whether calls to the configured gateway will work.

    It prints one line for each check: whether the gateway responds, TLS, clock difference, credentials, location,
    terminals, and the ledger and the inbox if you name them. It changes nothing.

    Reads the GATEWAY_* variables of the environment.

    Exit status:
    - 0: all is well
    - 1: a check fails
    - 2: a variable is missing or wrong
    - 3: something needs attention
    """

    ledger: Annotated[
        str | None, Option(metavar="FILE", help="Also look for open calls in a ledger: a file or postgresql://…")
    ] = None
    ledger_table: Annotated[str, Option(metavar="TABLE", help="Table of the ledger in PostgreSQL.")] = "payment_ledger"
    inbox: Annotated[
        str | None, Option(metavar="FILE", help="Also look for dead postbacks in an inbox: a file or postgresql://…")
    ] = None
    inbox_table: Annotated[str, Option(metavar="TABLE", help="Table of the inbox in PostgreSQL.")] = "postback_inbox"
    as_json: AsJson = False

    def run(self) -> None:
        """Run all checks and print their results."""
        check_location("--ledger", self.ledger or "")
        check_location("--inbox", self.inbox or "")
        states = anyio.run(self._run)
        if "failed" in states:
            raise typer.Exit(ExitStatus.FAILED)
        if "attention" in states:
            raise typer.Exit(ExitStatus.ATTENTION)

    async def _run(self) -> set[CheckResult]:
        states = set[CheckResult]()
        async with AsyncGateway.from_env() as gateway, aclosing(self._findings(gateway)) as findings:
            async for finding in findings:
                _print(finding, self.as_json)
                states.add(finding.state)
        return states

    async def _findings(self, gateway: AsyncGateway) -> AsyncGenerator[_Finding]:
        async for finding in _gateway_findings(gateway):
            yield finding
        if self.ledger is not None:
            yield await _check_store("ledger", self.ledger, "open call", _count_open(self.ledger, self.ledger_table))
        if self.inbox is not None:
            yield await _check_store("inbox", self.inbox, "dead postback", _count_dead(self.inbox, self.inbox_table))


async def _gateway_findings(gateway: AsyncGateway) -> AsyncIterator[_Finding]:
    proxy, _ = Proxy.parse(address) if (address := os.environ.get("GATEWAY_PROXY")) else (None, "")
    found = await anyio.to_thread.run_sync(probe_address, gateway.base_url, proxy)
    for finding in found:
        yield finding
    if any(finding.state == "failed" for finding in found):
        return
    credentials = await _check_credentials(gateway)
    yield credentials
    if credentials.state == "ok":
        yield await _check_location(gateway)
        yield await _check_terminals(gateway)


async def _check_credentials(gateway: AsyncGateway) -> _Finding:
    found = await gateway.check(timeout=_PROBE_SECONDS)
    problem = found.credentials_problem or (found.gateway_problem and f"unknown: {found.gateway_problem}")
    return _Finding("credentials", "failed" if problem else "ok", problem or "accepted")


async def _check_location(gateway: AsyncGateway) -> _Finding:
    if gateway.location_id is None:
        return _Finding("location", "skipped", "GATEWAY_LOCATION_ID: is not set (required for vaults and invoices)")
    try:
        location = await gateway.locations.get(gateway.location_id)
    except GatewayError as error:
        return _Finding("location", "failed", f"GATEWAY_LOCATION_ID: {error}")
    return _Finding("location", "ok", location.name or gateway.location_id)


async def _check_terminals(gateway: AsyncGateway) -> _Finding:
    filters = {} if gateway.location_id is None else {"location_id": gateway.location_id}
    try:
        number = await gateway.terminals.list(filters).count()
    except GatewayError as error:
        return _Finding("terminals", "attention", f"cannot be listed: {error}")
    return _Finding("terminals", "ok" if number else "skipped", f"{number} in the location")


async def _check_store(name: str, location: str, counted: str, count: Awaitable[int]) -> _Finding:
    try:
        number = await count
    except (GatewayError, ModuleNotFoundError) as error:
        return _Finding(name, "failed", str(error))
    found = f"{display_location(location)} has {number} {pluralize(number, counted)}"
    return _Finding(name, "attention" if number else "ok", found)


async def _count_open(location: str, table: str) -> int:
    async with aclosing(open_ledger(location, table)) as ledger:
        return len(await ledger.open_intents())


async def _count_dead(location: str, table: str) -> int:
    async with aclosing(open_inbox(location, table)) as inbox:
        return (await inbox.health()).dead


def _print(finding: _Finding, as_json: bool) -> None:
    if as_json:
        print_json([attrs.asdict(finding)])
        return
    console = Console()
    if not console.is_terminal:
        typer.echo(f"{finding.check}\t{finding.state}\t{finding.details}")
        return
    state = Text(f"{finding.state:9}", style=_COLORS[finding.state])
    console.print(Text.assemble(f"{finding.check:11}  ", state, f"  {finding.details}"), soft_wrap=True)


# --- one request without credentials


def probe_address(base_url: str, proxy: Proxy | None = None) -> list[_Finding]:
    """Send one request that needs no credentials, and say what it shows of connection, TLS and clock.

    Every HTTP response counts.
    """
    url = urlsplit(base_url)
    host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    address = f"{host}:{port}"
    connection = _connection(url.scheme, *((host, port) if proxy is None else (proxy.host, proxy.port)))
    if proxy is not None:
        connection.set_tunnel(host, port, proxy.headers)
    began = time.perf_counter()
    try:
        connection.connect()
        encrypted = connection.sock if url.scheme == "https" else None
        tls = _tls_finding(encrypted)
        sent_at = time.time()
        connection.request("GET", f"{url.path.rstrip('/')}{_PROBE_PATH}", headers={"connection": "close"})
        date = connection.getresponse().getheader("date")
        clock = _clock_finding(date, (sent_at + time.time()) / 2)
    except (OSError, http.client.HTTPException) as error:
        return [_failure(error, address, proxy.host if proxy else host)]
    finally:
        connection.close()
    milliseconds = (time.perf_counter() - began) * 1000
    return [_Finding("gateway", "ok", f"{address} responds in {milliseconds:.0f} ms"), tls, clock]


def _failure(error: Exception, address: str, host: str) -> _Finding:
    match error:
        case ssl.SSLCertVerificationError():
            return _Finding("tls", "failed", f"{address}: the certificate is not trusted: {error.verify_message}")
        case ssl.SSLError():
            return _Finding("tls", "failed", f"{address}: TLS failed: {error.reason}")
        case socket.gaierror():
            return _Finding("gateway", "failed", f"{host}: the name has no address")
        case TimeoutError():
            return _Finding("gateway", "failed", f"{address}: no response within {_PROBE_SECONDS:g} s")
        case _ if refused := _TUNNEL_REFUSED.match(str(error)):  # the proxy's reason phrase may repeat the password
            return _Finding("gateway", "failed", f"{address}: the proxy refused: {refused[1]}")
        case _:
            return _Finding("gateway", "failed", f"{address}: {getattr(error, 'strerror', None) or 'no HTTP response'}")


def _connection(scheme: str, host: str, port: int) -> http.client.HTTPConnection:
    if scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=_PROBE_SECONDS)
    context = ssl.create_default_context(cafile=certifi.where())
    return http.client.HTTPSConnection(host, port, timeout=_PROBE_SECONDS, context=context)


def _tls_finding(encrypted: Any) -> _Finding:
    if encrypted is None:
        return _Finding("tls", "skipped", "plain http")
    days = (ssl.cert_time_to_seconds(encrypted.getpeercert()["notAfter"]) - time.time()) / _DAY
    left = f"the certificate is valid for {round(days)} {pluralize(round(days), 'day')}"
    return _Finding("tls", "attention" if days < _CERTIFICATE_DAYS else "ok", f"{encrypted.version()}, {left}")


def _clock_finding(header: str | None, now: float) -> _Finding:
    """Compare the gateway's `Date` header, whose resolution is one second, with the time of this machine."""
    try:
        sent = parsedate_to_datetime(header or "")
    except ValueError:
        return _Finding("clock", "skipped", "the gateway sends no Date header")
    difference = (sent if sent.tzinfo else sent.replace(tzinfo=UTC)).timestamp() - now
    if abs(difference) <= 1:
        return _Finding("clock", "ok", "no difference of more than 1 s")
    ahead = "ahead of" if difference < 0 else "behind"
    state: CheckResult = "attention" if abs(difference) > _CLOCK_SECONDS else "ok"
    return _Finding("clock", state, f"this machine is {abs(difference):.0f} s {ahead} the gateway")
