"""`gateway-async check`: find out whether calls to the gateway of the environment can work."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Annotated, Final, Literal

import anyio
import anyio.to_thread
import attrs
import typer
from rich.console import Console
from rich.text import Text

from gateway_async import AsyncGateway, AuthenticationError, GatewayError, PermissionDeniedError
from gateway_async._http.proxy import Proxy
from gateway_async._text import pluralize
from gateway_async.cli.errors import fail_with
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.inbox import read_dead
from gateway_async.cli.ledger import count_open
from gateway_async.cli.probe import Probe, ProbeError, probe_address
from gateway_async.cli.store_location import check_location, display_location

__all__ = ["check"]

CheckResult = Literal["ok", "skipped", "attention", "failed"]

_COLORS: Final = {"ok": "green", "skipped": "bright_black", "attention": "yellow", "failed": "red"}
_CLOCK_SECONDS: Final = 60.0
"""A greater difference is reported: signatures of requests are refused from five minutes on."""

_CERTIFICATE_DAYS: Final = 14.0


@attrs.frozen
class _Finding:
    """The result of one check."""

    check: str
    state: CheckResult
    details: str


def check(
    *,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also check a ledger, a file or postgresql://…: calls with unknown outcome."),
    ] = None,
    ledger_table: Annotated[
        str, typer.Option(metavar="TABLE", help="Table of the ledger in PostgreSQL.")
    ] = "payment_ledger",
    inbox: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also check an inbox, a file or postgresql://…: dead postbacks.")
    ] = None,
    inbox_table: Annotated[
        str, typer.Option(metavar="TABLE", help="Table of the inbox in PostgreSQL.")
    ] = "postback_inbox",
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each check.")] = False,
) -> None:
    """Check whether calls to the gateway of the environment can work.

    It prints one line for each check: whether it responds, TLS, the difference of the clocks, the credentials, the
    location, its terminals, and a ledger and an inbox if they are named. Nothing is changed.

    Exit status: 0 if all is well, 3 if something needs attention, 1 if a check fails, 2 if a variable is missing or
    wrong. Reads the GATEWAY_* variables of the environment.
    """
    try:
        for option, location in (("--ledger", ledger), ("--inbox", inbox)):
            check_location(option, location or "")
        findings = anyio.run(_check_gateway, as_json)
    except GatewayError as error:
        fail_with(error)
    for finding in (
        *([] if ledger is None else [_check_ledger(ledger, ledger_table)]),
        *([] if inbox is None else [_check_inbox(inbox, inbox_table)]),
    ):
        _print(finding, as_json)
        findings.append(finding)
    states = {finding.state for finding in findings}
    if "failed" in states:
        raise typer.Exit(ExitStatus.FAILED)
    if "attention" in states:
        raise typer.Exit(ExitStatus.ATTENTION)


async def _check_gateway(as_json: bool) -> list[_Finding]:
    findings: list[_Finding] = []
    async with AsyncGateway.from_env() as gateway:
        async for finding in _gateway_findings(gateway):
            _print(finding, as_json)
            findings.append(finding)
    return findings


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


def _connection_findings(found: Probe) -> Iterator[_Finding]:
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


def _check_ledger(location: str, table: str) -> _Finding:
    return _check_store("ledger", location, "open call", partial(count_open, location, table))


def _check_inbox(location: str, table: str) -> _Finding:
    return _check_store("inbox", location, "dead postback", lambda: len(read_dead(location, table)))


def _check_store(name: str, location: str, counted: str, count: Callable[[], int]) -> _Finding:
    try:
        number = count()
    except (GatewayError, ModuleNotFoundError) as error:
        return _Finding(name, "failed", str(error))
    except typer.BadParameter as error:  # a check must not create a file
        return _Finding(name, "failed", error.message)
    found = f"{display_location(location)} has {number} {pluralize(number, counted)}"
    return _Finding(name, "attention" if number else "ok", found)


def _print(finding: _Finding, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(attrs.asdict(finding)))
        return
    console = Console()
    if not console.is_terminal:
        typer.echo(f"{finding.check}\t{finding.state}\t{finding.details}")
        return
    state = Text(f"{finding.state:9}", style=_COLORS[finding.state])
    console.print(Text.assemble(f"{finding.check:11}  ", state, f"  {finding.details}"), soft_wrap=True)
