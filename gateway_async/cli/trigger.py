"""`gateway-async trigger`: change a record in a sandbox, so that it sends a postback."""

import http.client
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import urlencode, urlsplit

import anyio
import anyio.to_thread
import attrs
import typer

from gateway_async import (
    AccountVaultUpdate,
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    ContactUpdate,
    TransactionCreate,
)
from gateway_async.cli.command import AsJson
from gateway_async.cli.output import ExitStatus, fail, print_json, printing

_CARD: Final = "4111111111111111"  # a published test card
_EXPIRY: Final = "1230"
_WAIT_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.1
_CALL_SECONDS: Final = 10.0


async def _change_contact(gateway: AsyncGateway, change: str) -> str:
    contact = await gateway.contacts.create(ContactCreate(last_name="Trigger"))
    if change == "update":
        await gateway.contacts.update(contact.id, ContactUpdate(city="Rome"))
    if change == "delete":
        await gateway.contacts.delete(contact.id)
    return contact.id


async def _change_vault(gateway: AsyncGateway, change: str) -> str:
    contact_id = await _change_contact(gateway, "create")
    new = CardVaultCreate(account_number=_CARD, exp_date=_EXPIRY, contact_id=contact_id)
    vault = await gateway.account_vaults.create(new)
    if change == "update":
        await gateway.account_vaults.update(vault.id, AccountVaultUpdate(title="Triggered"))
    if change == "delete":
        await gateway.account_vaults.delete(vault.id)
    return vault.id


async def _change_transaction(gateway: AsyncGateway, change: str) -> str:
    new = TransactionCreate(action="sale", transaction_amount="1.00", account_number=_CARD, exp_date=_EXPIRY)
    sale = await gateway.transactions.create(new)
    if change == "update":
        await gateway.transactions.void(sale.id)
    return sale.id


async def _change_batch(gateway: AsyncGateway, change: str) -> str:
    """Sell in a new batch. The user's open batch stays as it is."""
    sale_id = await _change_transaction(gateway, "create")
    isolate = partial(SandboxControl(gateway.base_url).isolate_payment, sale_id, settle=change == "update")
    return await anyio.to_thread.run_sync(isolate)


_CHANGES: Final[Mapping[str, tuple[Callable[[AsyncGateway, str], Awaitable[str]], Sequence[str]]]] = {
    "transaction": (_change_transaction, ("create", "update")),
    "transactionbatch": (_change_batch, ("create", "update")),
    "accountvault": (_change_vault, ("create", "update", "delete")),
    "contact": (_change_contact, ("create", "update", "delete")),
}
"""Resource → a function that makes one of the changes to a new record, and returns its id."""

EVENTS: Final = tuple(f"{resource}.{change}" for resource, (_, changes) in _CHANGES.items() for change in changes)


def _complete(incomplete: str) -> list[str]:
    return [event for event in EVENTS if event.startswith(incomplete)]


@attrs.frozen(kw_only=True)
class TriggerCommand:
    """Change a record in a sandbox, and show its postbacks.

    It creates a new record, and whatever the change needs first: transaction.update sells, then voids. It sends nothing
    to a gateway that is not a sandbox.

    Reads the GATEWAY_* variables of the environment.

    Exit status:
    - 0: the postback was delivered
    - 1: the record could not be changed, or the gateway is not a sandbox
    - 2: wrong usage
    - 3: no config asks for the postback, or a receiver did not acknowledge it
    """

    event: Annotated[
        str, typer.Argument(metavar="EVENT", autocompletion=_complete, help=f"One of {', '.join(EVENTS)}.")
    ]
    as_json: AsJson = False

    def run(self) -> None:
        """Make the change, and print the deliveries."""
        if self.event not in EVENTS:
            raise typer.BadParameter(f"EVENT: unknown (expected {', '.join(EVENTS)})")
        try:
            record_id, deliveries = anyio.run(self._run)
        except NotASandboxError:
            fail("GATEWAY_BASE_URL: is not a sandbox (expected the address of gateway-async sandbox)")
        was_delivered = bool(deliveries) and all(each["state"] == "delivered" for each in deliveries)
        status = ExitStatus.DONE if was_delivered else ExitStatus.ATTENTION
        with printing(status, done=f"{self.event} was triggered with {record_id}"):
            if self.as_json:
                print_json([{"event": self.event, "id": record_id, "deliveries": deliveries}])
            else:
                self._print(record_id, deliveries)

    async def _run(self) -> tuple[str, list[dict[str, Any]]]:
        """Make the change, and return the record's id and the deliveries."""
        async with AsyncGateway.from_env() as gateway:
            control = SandboxControl(gateway.base_url)
            await anyio.to_thread.run_sync(control.check)
            resource, _, change = self.event.partition(".")
            record_id = await _CHANGES[resource][0](gateway, change)
            return record_id, await _deliveries(control, record_id, change.upper())

    def _print(self, record_id: str, deliveries: list[dict[str, Any]]) -> None:
        typer.echo(f"{self.event}  {record_id}")
        for each in deliveries:
            typer.echo(f"  → {each['status'] or each['error'] or 'no attempt yet'}  {each['url']}  {each['state']}")
        if not deliveries:
            typer.echo("  no postback config asks for it (expected gateway-async listen --create-configs --resource …)")


async def _deliveries(control: "SandboxControl", record_id: str, change: str) -> list[dict[str, Any]]:
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


class NotASandboxError(Exception):
    """The gateway does not have the control calls of a sandbox."""


@attrs.frozen
class SandboxControl:
    """The control calls of the sandbox at an address.

    Each method raises `NotASandboxError` if another gateway responds, or none.
    """

    base_url: str

    def check(self) -> None:
        """Find out whether a sandbox is there."""
        if "calls" not in self._send("GET", "/_sandbox"):
            raise NotASandboxError

    def postbacks(self, record_id: str) -> list[dict[str, Any]]:
        """List the postbacks about a record, newest last."""
        found: list[dict[str, Any]]
        found = self._send("GET", f"/_sandbox/postbacks?{urlencode({'record_id': record_id})}")["postbacks"]
        return found

    def isolate_payment(self, transaction_id: str, *, settle: bool) -> str:
        """Move a payment to a batch of its own; return its id."""
        batch = self._send("POST", f"/_sandbox/transactions/{transaction_id}/batch", {"settle": settle})
        if "id" not in batch:
            raise NotASandboxError
        return str(batch["id"])

    def _send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        url = urlsplit(self.base_url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=_CALL_SECONDS)
        try:
            connection.request(method, f"{url.path}{path}", None if body is None else json.dumps(body))
            content = json.loads(connection.getresponse().read())
        except (OSError, ValueError, http.client.HTTPException):
            raise NotASandboxError from None
        finally:
            connection.close()
        if not isinstance(content, dict):
            raise NotASandboxError
        return content
