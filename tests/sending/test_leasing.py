"""Leases: waited for, prolonged, given back; without one nothing is sent, and what was sent goes on without one."""

from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
import trio

from gateway_async import NotSentError, RouterTransactionCreate, TerminalBusyError
from gateway_async.observe import Event, LeaseInDoubt

from .script import NOT_THERE, Script, record, silent

pytestmark = pytest.mark.anyio

SALE = RouterTransactionCreate(action="sale", terminal_id="t", transaction_amount="1.00", transaction_api_id="mine")
APPROVED = record("transaction", status_id=101)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Virtual time: 300 seconds pass at once."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


class Lease:
    """Leases of which somebody else has the first `others` seconds; notes what it is asked, and when."""

    owner = "till-7"
    seconds = 30.0

    def __init__(self, others: float = 0.0, wait: float | None = None) -> None:
        self.others = others
        self.wait = wait
        self.asked: list[tuple[str, float]] = []
        self.away: Callable[[], bool] = lambda: False
        self.closed = False

    async def take(self, _terminal_id: str, _token: str) -> str | None:
        """Somebody else has it, or it is the client's."""
        self.asked.append(("take", trio.current_time()))
        if self.away():
            raise OSError("no route to the store")
        return "till-8" if trio.current_time() < self.others else None

    async def release(self, _terminal_id: str, _token: str) -> None:
        """Note it."""
        self.asked.append(("release", trio.current_time()))

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True

    def times(self, what: str) -> list[float]:
        """When it was asked for `what`."""
        return [time for name, time in self.asked if name == what]


async def slow(_: httpx.Request) -> httpx.Response:
    """A customer who takes 35 seconds."""
    await anyio.sleep(35)
    return APPROVED


async def test_a_lease_is_prolonged_while_the_call_waits_and_then_given_back() -> None:
    """Taken once, then after each third of its time; the client closes the store in the end."""
    lease = Lease()
    async with Script(post=[slow]).gateway(terminal_lease=lease) as gateway:
        assert (await gateway.router_transactions.create(SALE)).approved
        assert lease.asked == [("take", 0), ("take", 10), ("take", 20), ("take", 30), ("release", 35)]
    assert lease.closed


async def test_others_are_waited_for() -> None:
    """It asks a few times a second, and nothing is sent before the terminal is the client's."""
    lease, script = Lease(others=100), Script(post=[APPROVED])
    async with script.gateway(terminal_lease=lease) as gateway:
        assert (await gateway.router_transactions.create(SALE)).approved
    assert 100 <= trio.current_time() < 100.4
    assert 250 < len(lease.times("take")) < 500


@pytest.mark.parametrize("wait", [0, 5, 7.5])
async def test_a_bounded_wait_ends_in_an_error_that_says_who(wait: float) -> None:
    """`wait` seconds, 0 is at once; the place in the line is given up, and nothing was sent."""
    lease, script = Lease(others=100, wait=wait), Script(post=[APPROVED])
    async with script.gateway(terminal_lease=lease) as gateway:
        with pytest.raises(TerminalBusyError, match="terminal t is busy: till-8 holds it") as caught:
            await gateway.router_transactions.create(SALE)
    assert (caught.value.terminal_id, caught.value.holder) == ("t", "till-8")
    assert (trio.current_time(), lease.times("release"), script.methods) == (wait, [wait], [])


async def test_waiting_for_a_lease_does_not_count() -> None:
    """The `terminal_timeout` begins when the call has the terminal."""
    async with Script(post=[slow]).gateway(terminal_lease=Lease(others=1000), terminal_timeout=60) as gateway:
        assert (await gateway.router_transactions.create(SALE)).approved


async def test_without_a_store_nothing_is_sent() -> None:
    """A lease that cannot be had leaves the call unsent, and says why."""
    lease, script = Lease(), Script(post=[APPROVED])
    lease.away = lambda: True
    async with script.gateway(terminal_lease=lease) as gateway:
        with pytest.raises(NotSentError, match="the terminal's lease cannot be had: OSError: no route to the store"):
            await gateway.router_transactions.create(SALE)
    assert script.methods == []


async def test_a_store_that_hangs_is_given_a_third_of_the_lease() -> None:
    """Nobody waits for ever for a store that says nothing."""

    class Hanging(Lease):
        async def take(self, _terminal_id: str, _token: str) -> str | None:
            await trio.sleep_forever()

    script = Script(post=[APPROVED])
    async with script.gateway(terminal_lease=Hanging()) as gateway:
        with pytest.raises(NotSentError, match="TimeoutError"):
            await gateway.router_transactions.create(SALE)
    assert (script.methods, trio.current_time()) == ([], 10)


async def test_a_call_goes_on_without_its_store() -> None:
    """Once sent, it is not stopped and not sent again; observers learn once that the lease is in doubt."""
    events: list[Event] = []
    lease, script = Lease(), Script(post=[slow])
    lease.away = lambda: trio.current_time() > 5
    async with script.gateway(terminal_lease=lease, observers=[events.append]) as gateway:
        assert (await gateway.router_transactions.create(SALE)).approved
    doubts = [event for event in events if isinstance(event, LeaseInDoubt)]
    assert [(each.api_id, each.terminal_id, each.reason) for each in doubts] == [
        ("mine", "t", "OSError: no route to the store")
    ]
    assert script.methods == ["POST"]


async def test_a_lease_that_somebody_took_over_is_told_once() -> None:
    """It ran out, and another till has it: the call goes on, observers learn who."""
    events: list[Event] = []
    lease = Lease()

    async def taken_over(request: httpx.Request) -> httpx.Response:
        lease.others = 1000
        return await slow(request)

    async with Script(post=[taken_over]).gateway(terminal_lease=lease, observers=[events.append]) as gateway:
        assert (await gateway.router_transactions.create(SALE)).approved
    assert [event.reason for event in events if isinstance(event, LeaseInDoubt)] == ["till-8 has it"]


async def test_a_store_that_cannot_take_a_lease_back_costs_two_seconds() -> None:
    """The result is not held up for it: the lease runs out by itself."""

    class Clinging(Lease):
        async def release(self, _terminal_id: str, _token: str) -> None:
            await trio.sleep_forever()

    async with Script(post=[APPROVED]).gateway(terminal_lease=Clinging()) as gateway:
        assert (await gateway.router_transactions.create(SALE)).approved
    assert trio.current_time() == 2


async def test_who_gives_up_leaves_the_line() -> None:
    """A call that is cancelled while it waits for others gives back its place."""
    lease = Lease(others=100)
    async with Script(post=[APPROVED]).gateway(terminal_lease=lease) as gateway:
        with anyio.move_on_after(3):
            await gateway.router_transactions.create(SALE)
    assert lease.times("release") == [3]


async def test_the_lease_of_a_call_without_a_known_outcome_runs_out() -> None:
    """The customer may still be at the device, so other tills do not get it at once; prolonged during the lookup."""
    lease = Lease()
    script = Script(post=[silent, APPROVED], get=[NOT_THERE])
    async with script.gateway(terminal_lease=lease) as gateway:
        with anyio.move_on_after(9):
            await gateway.router_transactions.create(SALE)
        assert lease.asked == [("take", 0), ("take", 10)]
        script.answers["get"] = [record("transaction", transaction_api_id="mine", status_id=101)]
        await gateway.router_transactions.create(SALE)
    assert len(lease.times("release")) == 1


async def test_one_client_asks_in_one_name() -> None:
    """Its next call takes what an earlier one has left, without waiting for it to run out."""
    tokens: list[str] = []

    class Noting(Lease):
        async def take(self, _terminal_id: str, _token: str) -> str | None:
            tokens.append(_token)

    async with Script(post=[APPROVED]).gateway(terminal_lease=Noting()) as gateway:
        for _ in range(2):
            await gateway.router_transactions.create(SALE)
    assert len(tokens) == 2
    assert len({*tokens}) == 1


async def test_errors_come_out_as_they_are() -> None:
    """What runs beside a call wraps its error in no group, and loses no cause of it."""
    boom: list[Any] = [httpx.Response(422, json={"errors": {"terminal_id": ["Terminal not found"]}})]
    async with Script(post=boom).gateway(terminal_lease=Lease()) as gateway:
        with pytest.raises(Exception, match="Terminal not found") as caught:
            await gateway.router_transactions.create(SALE, on_progress=print)
    assert type(caught.value).__name__ == "ValidationError"
