"""Programs that change what they list, against the sandbox: they reach every record."""

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import anyio
import pytest

from gateway_async import AsyncGateway, Contact, ContactCreate
from gateway_async._execution import pages
from gateway_async.postbacks import Postback, PostbackReceiver
from gateway_async.sandbox import Sandbox
from tests.support.processes import start

pytestmark = pytest.mark.anyio


async def make_contacts(gateway: AsyncGateway, count: int) -> list[str]:
    """Create contacts; return their ids, the oldest first."""
    return [(await gateway.contacts.create(ContactCreate(last_name=f"Old {n}"))).id for n in range(count)]


async def test_catching_up(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Catching up reaches every record, although the handler deletes the contact of each postback."""
    start = datetime.fromtimestamp(int(sandbox.now()), UTC) - timedelta(seconds=1)
    made = await make_contacts(gateway, 60)
    receiver = PostbackReceiver(allow_unauthenticated=True)
    handled: list[str] = []

    @receiver.on("contact")
    async def delete(postback: Postback[Contact]) -> None:
        if postback.record_id in made:
            handled.append(postback.record_id)
            await gateway.contacts.delete(postback.record_id)

    with patch.object(pages, "_PAGE_SIZE", 10):
        await receiver.catch_up(gateway, since=start)
    assert sorted(handled) == sorted(made)


async def test_command(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """`gateway-async list` lists every record, although its reader deletes each contact."""
    made = await make_contacts(gateway, 100)
    printed: list[str] = []
    options = ("list", "contacts", "--last-name", "Old", "--page-size", "10")
    with start(*options, **sandbox.environment()) as process:
        assert process.stdout is not None
        while line := await anyio.to_thread.run_sync(process.stdout.readline):
            printed += [name for name in made if f'"{name}"' in line]
            await gateway.contacts.delete(printed[-1])
        assert (await anyio.to_thread.run_sync(process.collect)).stderr == ""
    assert process.returncode == 0
    assert sorted(printed) == sorted(made)
