"""Programs that change what they list, against the sandbox: they reach every record."""

import anyio
import pytest

from gateway_async import AsyncGateway, ContactCreate
from gateway_async.sandbox import Sandbox
from tests.support.processes import start

pytestmark = pytest.mark.anyio


async def make_contacts(gateway: AsyncGateway, count: int) -> list[str]:
    """Create contacts; return their ids, the oldest first."""
    return [(await gateway.contacts.create(ContactCreate(last_name=f"Old {n}"))).id for n in range(count)]


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
