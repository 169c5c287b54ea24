"""Terminals: one call at a time each, and no place lost to a cancellation."""

import json

import anyio
import anyio.lowlevel
import attrs
import httpx
import pytest

from gateway_async import RouterAccountVaultCreate, RouterTransactionCreate, TerminalBusyError, ValidationError
from tests.support.scripted_transport import APPROVED, Script, listed, record, refusal, refused

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]


class Counter:
    """Responds when told, and knows how many wait."""

    def __init__(self) -> None:
        self.waiting = 0
        self.most = 0
        self.go_on = anyio.Event()

    async def __call__(self, _: httpx.Request) -> httpx.Response:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.go_on.wait()
        self.waiting -= 1
        return APPROVED


def sale(terminal: str) -> RouterTransactionCreate:
    return RouterTransactionCreate(action="sale", terminal_id=terminal, transaction_amount=1)


async def test_no_second_request_reaches_a_terminal_during_a_call() -> None:
    counter = Counter()
    script = Script(post=[counter])
    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(gateway.router_transactions.create, sale("one"))
        await anyio.wait_all_tasks_blocked()
        assert counter.waiting == 1
        counter.go_on.set()
    assert (counter.most, len(script.asked)) == (1, 3)


async def test_order() -> None:
    """Queue two thousand calls for one terminal in order; a third is cancelled."""
    served: list[str] = []

    async def serve(request: httpx.Request) -> httpx.Response:
        served.append(json.loads(request.content)["routertransaction"]["transaction_api_id"])
        await anyio.lowlevel.checkpoint()
        return APPROVED

    async def stand(name: str) -> None:
        with anyio.CancelScope() as given_up[name]:
            await gateway.router_transactions.create(attrs.evolve(sale("one"), transaction_api_id=name))

    names = [f"sale-{number}" for number in range(2000)]
    given_up: dict[str, anyio.CancelScope] = {}
    async with Script(post=[serve]).gateway() as gateway, anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(stand, name)
            await anyio.lowlevel.checkpoint()
        for name in names[::3]:
            given_up[name].cancel()
    cancelled = set(names[::3])
    assert [name for name in served if name not in cancelled] == [name for name in names if name not in cancelled]


async def test_max_terminals() -> None:
    """As many terminals work at once; the others wait for a place, without a time-out of their own."""
    counter = Counter()
    script = Script(post=[counter])
    async with script.gateway(max_terminals=2) as gateway, anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(gateway.router_transactions.create, sale(str(number)))
        await anyio.wait_all_tasks_blocked()
        assert counter.waiting == 2
        counter.go_on.set()
    assert len(script.asked) == 6


async def test_cancelled_waiters() -> None:
    """After a hundred cancellations, in the queue and at the terminal, the next call goes through."""
    counter = Counter()
    async with Script(post=[counter], get=[record("transaction")]).gateway(max_terminals=3) as gateway:
        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(gateway.router_transactions.create, sale(str(number % 7)))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        counter.go_on.set()
        for number in range(7):
            assert (await gateway.router_transactions.create(sale(str(number)))).approved
        assert gateway._executor._terminals._queues == {}


async def test_cancelled_winner() -> None:
    """Cancelled in the moment in which the call before has left, it lets the one behind it in."""
    counter = Counter()
    script = Script(post=[counter])
    giving_up = anyio.CancelScope()
    async with script.gateway() as gateway:

        async def go_first() -> None:
            await gateway.router_transactions.create(sale("one"))
            giving_up.cancel()

        async def give_up() -> None:
            with giving_up:
                await gateway.router_transactions.create(sale("one"))

        async with anyio.create_task_group() as tasks:
            for call in (go_first, give_up):
                tasks.start_soon(call)
                await anyio.wait_all_tasks_blocked()
            tasks.start_soon(gateway.router_transactions.create, sale("one"))
            await anyio.wait_all_tasks_blocked()
            counter.go_on.set()
        assert giving_up.cancelled_caught
        assert gateway._executor._terminals._queues == {}
    assert len(script.asked) == 2


async def test_stored_card() -> None:
    """The terminal's response comes under `accountvault`, with `active` as the text "1"."""
    before = listed("accountvaults")
    script = Script(post=[record("accountvault", last_four="1111", active="1", exp_date="1221")], get=[before])
    vault = await script.run(
        lambda g: g.router_account_vaults.create(
            RouterAccountVaultCreate(terminal_id="t", contact_id="c", location_id="here")
        )
    )
    assert (vault.last_four, vault.active) == ("1111", True)
    assert script.bodies("POST") == [
        {
            "routeraccountvault": {
                "payment_method": "cc",
                "action": "store",
                "terminal_id": "t",
                "contact_id": "c",
                "location_id": "here",
            }
        }
    ]


BUSY = [
    refused(terminal_id="Terminal is busy."),
    refused(terminal_id="is currently in use"),
    refusal(409, "The terminal is in use by another request"),
    refusal(403, "Terminal 11 busy"),
]
NOT_BUSY = [
    refused(terminal_id="Terminal not found"),
    refused(terminal_id="Terminal is not in use."),
    refused(transaction_amount="The system is busy."),
    refused(terminal_id="Terminal Id cannot be blank.", description="busy"),
]


@pytest.mark.parametrize("response", BUSY, ids=range(len(BUSY)))
async def test_busy(response: httpx.Response) -> None:
    """A refusal that says so of the terminal in plain words is `TerminalBusyError`, with the refusal as its cause."""
    error = await Script(post=[response]).fail(
        lambda g: g.router_transactions.create(sale("one")), TerminalBusyError, match="terminal one is busy"
    )
    assert getattr(error.__cause__, "status_code", None) == response.status_code


@pytest.mark.parametrize("response", NOT_BUSY, ids=range(len(NOT_BUSY)))
async def test_any_other_refusal_stays_what_it_is(response: httpx.Response) -> None:
    await Script(post=[response]).fail(lambda g: g.router_transactions.create(sale("one")), ValidationError)
