"""`gateway-async trigger`: change a record in a sandbox, so that it sends a postback."""

import json
import time
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
import typer

from gateway_async import AsyncGateway, GatewayError
from gateway_async.cli.errors import fail, fail_with, printing
from gateway_async.cli.exit_status import ExitStatus
from gateway_async.cli.sandbox_control import NotASandboxError, SandboxControl
from gateway_async.cli.sandbox_events import EVENTS

__all__ = ["trigger"]

_WAIT_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1


def _complete(incomplete: str) -> list[str]:
    return [event for event in EVENTS if event.startswith(incomplete)]


def trigger(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", autocompletion=_complete, help=f"One of {', '.join(EVENTS)}.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Change a record in a sandbox, and show its postbacks.

    The records are new ones, so that the change comes after what it needs: transaction.update sells and voids. It
    calls a sandbox only: nothing is sent to another gateway.

    Exit status: 0 if the postback was delivered, 3 if no config asks for it or a receiver did not acknowledge it.
    Reads the GATEWAY_* variables of the environment.
    """
    if event not in EVENTS:
        raise typer.BadParameter(f"EVENT: unknown (expected {', '.join(EVENTS)})")
    try:
        record_id, deliveries = anyio.run(_run, event)
    except GatewayError as error:
        fail_with(error)
    except NotASandboxError:
        fail("GATEWAY_BASE_URL: is not a sandbox (expected the address of gateway-async sandbox)")
    was_delivered = bool(deliveries) and all(each["state"] == "delivered" for each in deliveries)
    status = ExitStatus.DONE if was_delivered else ExitStatus.ATTENTION
    with printing(status, done=f"{event} was triggered with {record_id}"):
        _print(event, record_id, deliveries, as_json=as_json)


async def _run(event: str) -> tuple[str, list[dict[str, Any]]]:
    """Make the change, and return the record's id and the deliveries."""
    async with AsyncGateway.from_env() as gateway:
        control = SandboxControl(gateway.base_url)
        await anyio.to_thread.run_sync(control.check)
        record_id = await EVENTS[event](gateway)
        return record_id, await _deliveries(control, record_id, event.partition(".")[2].upper())


async def _deliveries(control: SandboxControl, record_id: str, change: str) -> list[dict[str, Any]]:
    """Return the last delivery to each config, after its first attempt."""
    ends_at = time.monotonic() + _WAIT_SECONDS
    while True:
        found = await anyio.to_thread.run_sync(control.postbacks, record_id)
        last = {each["config_id"]: each for each in found if each["type"] == change}
        if all(each["attempts"] for each in last.values()) or time.monotonic() > ends_at:
            return [_delivery(each) for each in last.values()]
        await anyio.sleep(_POLL_SECONDS)


def _delivery(postback: dict[str, Any]) -> dict[str, Any]:
    attempts = postback["attempts"] or [{}]
    names = ("status", "error")
    return {"url": postback["url"], "state": postback["state"], **{name: attempts[-1].get(name) for name in names}}


def _print(event: str, record_id: str, deliveries: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"event": event, "id": record_id, "deliveries": deliveries}))
        return
    typer.echo(f"{event}  {record_id}")
    for each in deliveries:
        typer.echo(f"  → {each['status'] or each['error'] or 'no attempt yet'}  {each['url']}  {each['state']}")
    if not deliveries:
        typer.echo("  no postback config asks for it (expected gateway-async listen --create-configs --resource …)")
