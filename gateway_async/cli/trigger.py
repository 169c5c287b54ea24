"""`gateway-async trigger`: change a record in a sandbox, so that it sends a postback."""

import http.client
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, Literal, get_args
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
    settles = {"settle": change == "update"}
    return str(await _call_sandbox(gateway, "id", "POST", f"/transactions/{sale_id}/batch", settles))


_CHANGES: Final[Mapping[str, Callable[[AsyncGateway, str], Awaitable[str]]]] = {
    "transaction": _change_transaction,
    "transactionbatch": _change_batch,
    "accountvault": _change_vault,
    "contact": _change_contact,
}
"""Resource → a function that makes a change to a new record, and returns its id."""

TriggerEvent = Literal[
    "transaction.create",
    "transaction.update",
    "transactionbatch.create",
    "transactionbatch.update",
    "accountvault.create",
    "accountvault.update",
    "accountvault.delete",
    "contact.create",
    "contact.update",
    "contact.delete",
]
EVENTS: Final = get_args(TriggerEvent)


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

    event: Annotated[TriggerEvent, typer.Argument(metavar="EVENT", help=f"One of {', '.join(EVENTS)}.")]
    as_json: AsJson = False

    def run(self) -> None:
        """Make the change, and print the deliveries."""
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
            await _call_sandbox(gateway, "calls", "GET", "")
            resource, _, change = self.event.partition(".")
            record_id = await _CHANGES[resource](gateway, change)
            return record_id, await _deliveries(gateway, record_id, change.upper())

    def _print(self, record_id: str, deliveries: list[dict[str, Any]]) -> None:
        typer.echo(f"{self.event}  {record_id}")
        for each in deliveries:
            typer.echo(f"  → {each['status'] or each['error'] or 'no attempt yet'}  {each['url']}  {each['state']}")
        if not deliveries:
            typer.echo("  no postback config asks for it (expected gateway-async listen --create-configs --resource …)")


async def _deliveries(gateway: AsyncGateway, record_id: str, change: str) -> list[dict[str, Any]]:
    """Return the last delivery to each config, after its first attempt."""
    ends_at = time.monotonic() + _WAIT_SECONDS
    while True:
        found = await _call_sandbox(gateway, "postbacks", "GET", f"/postbacks?{urlencode({'record_id': record_id})}")
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


async def _call_sandbox(gateway: AsyncGateway, key: str, method: str, path: str, body: Any = None) -> Any:
    """Make a control call of a sandbox, and return the value of a key of its response.

    Raises:
        NotASandboxError: another gateway responds, or none.
    """
    url = urlsplit(gateway.base_url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=_CALL_SECONDS)

    def call() -> Any:
        connection.request(method, f"{url.path}/_sandbox{path}", None if body is None else json.dumps(body))
        return json.loads(connection.getresponse().read())[key]

    try:
        return await anyio.to_thread.run_sync(call)
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        raise NotASandboxError from None
    finally:
        connection.close()
