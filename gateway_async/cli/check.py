"""`gateway-async check`: find out whether calls to the gateway of the environment can work."""

import http.client
import os
import re
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
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

from gateway_async import AsyncGateway, AuthenticationError, GatewayError, PermissionDeniedError
from gateway_async._http.proxy import Proxy
from gateway_async._text import pluralize
from gateway_async.cli.command import AsJson
from gateway_async.cli.inbox import count_dead
from gateway_async.cli.ledger import count_open
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
    """Check whether calls to the gateway of the environment can work.

    It prints one line for each check: whether the gateway responds, TLS, the difference of the clocks, the credentials,
    the location, its terminals, and a ledger and an inbox if they are named. Nothing is changed.

    Reads the GATEWAY_* variables of the environment.

    Exit status:
    - 0: all is well
    - 1: a check fails
    - 2: a variable is missing or wrong
    - 3: something needs attention
    """

    ledger: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also look for open calls in a ledger: a file or postgresql://…"),
    ] = None
    ledger_table: Annotated[str, typer.Option(metavar="TABLE", help="Table of the ledger in PostgreSQL.")] = (
        "payment_ledger"
    )
    inbox: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also look for dead postbacks in an inbox: a file or postgresql://…"),
    ] = None
    inbox_table: Annotated[str, typer.Option(metavar="TABLE", help="Table of the inbox in PostgreSQL.")] = (
        "postback_inbox"
    )
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
            yield await _check_store("ledger", self.ledger, "open call", count_open(self.ledger, self.ledger_table))
        if self.inbox is not None:
            yield await _check_store("inbox", self.inbox, "dead postback", count_dead(self.inbox, self.inbox_table))


async def _gateway_findings(gateway: AsyncGateway) -> AsyncIterator[_Finding]:
    try:
        proxy, _ = Proxy.parse(address) if (address := os.environ.get("GATEWAY_PROXY")) else (None, "")
        found = await anyio.to_thread.run_sync(probe_address, gateway.base_url, proxy)
    except ProbeError as error:
        yield _Finding(error.check, "failed", str(error))
        return
    for finding in _connection_findings(found):
        yield finding
    credentials = await _check_credentials(gateway)
    yield credentials
    if credentials.state == "ok":
        yield await _check_location(gateway)
        yield await _check_terminals(gateway)


def _connection_findings(found: "Probe") -> Iterator[_Finding]:
    yield _Finding("gateway", "ok", f"{found.address} responds in {found.seconds * 1000:.0f} ms")
    if found.tls is None:
        yield _Finding("tls", "skipped", "plain http")
    else:
        soon = found.certificate_days < _CERTIFICATE_DAYS
        left = round(found.certificate_days)
        days = f"the certificate is valid for {left} {pluralize(left, 'day')}"
        yield _Finding("tls", "attention" if soon else "ok", f"{found.tls}, {days}")
    yield _clock_finding(found.clock_difference)


def _clock_finding(difference: float | None) -> _Finding:
    if difference is None:
        return _Finding("clock", "skipped", "the gateway sends no Date header")
    if not difference:
        return _Finding("clock", "ok", "no difference of more than 1 s")
    ahead = "ahead of" if difference < 0 else "behind"
    state: CheckResult = "attention" if abs(difference) > _CLOCK_SECONDS else "ok"
    return _Finding("clock", state, f"this machine is {abs(difference):.0f} s {ahead} the gateway")


async def _check_credentials(gateway: AsyncGateway) -> _Finding:
    try:
        await gateway.contacts.list().first()
    except PermissionDeniedError:
        return _Finding("credentials", "ok", "accepted, but this user may not list contacts")
    except AuthenticationError as error:
        return _Finding("credentials", "failed", str(error))
    except GatewayError as error:
        return _Finding("credentials", "failed", f"unknown: {error}")
    return _Finding("credentials", "ok", "accepted")


async def _check_location(gateway: AsyncGateway) -> _Finding:
    if gateway.location_id is None:
        return _Finding("location", "skipped", "GATEWAY_LOCATION_ID: is not set (expected for vaults and invoices)")
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
    except typer.BadParameter as error:  # a check must not create a file
        return _Finding(name, "failed", error.message)
    found = f"{display_location(location)} has {number} {pluralize(number, counted)}"
    return _Finding(name, "attention" if number else "ok", found)


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


class ProbeError(Exception):
    """The gateway does not respond; `check` names the part that fails."""

    def __init__(self, check: str, message: str) -> None:
        self.check = check
        super().__init__(message)


@attrs.frozen
class Probe:
    """The result of one request.

    Attributes:
        address: the host and the port.
        seconds: the time until the response, with the connection.
        tls: version of TLS; None for plain http.
        certificate_days: days until the certificate expires.
        clock_difference: how many seconds the gateway's clock is ahead of this machine's; None without `Date` header.
    """

    address: str
    seconds: float
    tls: str | None
    certificate_days: float
    clock_difference: float | None


def probe_address(base_url: str, proxy: Proxy | None = None) -> Probe:
    """Send one request that needs no credentials; every HTTP response counts.

    Raises:
        ProbeError: the host has no address, does not respond, or its certificate is not trusted.
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
        encrypted: Any = connection.sock
        tls = encrypted.version() if url.scheme == "https" else None
        days = _certificate_days(encrypted) if tls else 0.0
        sent_at = time.time()
        connection.request("GET", f"{url.path.rstrip('/')}{_PROBE_PATH}", headers={"connection": "close"})
        response = connection.getresponse()
        received_at = time.time()
    except ssl.SSLCertVerificationError as error:
        raise ProbeError("tls", f"{address}: the certificate is not trusted: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise ProbeError("tls", f"{address}: TLS failed: {error.reason}") from None
    except socket.gaierror:
        raise ProbeError("gateway", f"{proxy.host if proxy else host}: the name has no address") from None
    except TimeoutError:
        raise ProbeError("gateway", f"{address}: no response within {_PROBE_SECONDS:g} s") from None
    except (OSError, http.client.HTTPException) as error:
        raise ProbeError("gateway", f"{address}: {_reason(error)}") from None
    finally:
        connection.close()
    seconds = time.perf_counter() - began
    return Probe(address, seconds, tls, days, _difference(response.getheader("date"), (sent_at + received_at) / 2))


def _reason(error: Exception) -> str:
    """Say why there is no response.

    A proxy's reason phrase is left out, because it may repeat the password.
    """
    refused = _TUNNEL_REFUSED.match(str(error))
    return f"the proxy refused: {refused[1]}" if refused else getattr(error, "strerror", None) or "no HTTP response"


def _connection(scheme: str, host: str, port: int) -> http.client.HTTPConnection:
    if scheme != "https":
        return http.client.HTTPConnection(host, port, timeout=_PROBE_SECONDS)
    context = ssl.create_default_context(cafile=certifi.where())
    return http.client.HTTPSConnection(host, port, timeout=_PROBE_SECONDS, context=context)


def _certificate_days(encrypted: ssl.SSLSocket) -> float:
    certificate: Any = encrypted.getpeercert()
    return (ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) / _DAY


def _difference(header: str | None, now: float) -> float | None:
    """Tell how many seconds a `Date` header is ahead of `now`; its resolution is one second."""
    try:
        sent = parsedate_to_datetime(header or "")
    except ValueError:
        return None
    moment = sent if sent.tzinfo else sent.replace(tzinfo=UTC)
    ahead = moment.timestamp() - now
    return ahead if abs(ahead) > 1 else 0.0
