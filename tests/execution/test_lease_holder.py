"""Leases: waited for, prolonged, given back; without one nothing is sent, and what was sent goes on without one."""

import sys
from collections.abc import Callable
from typing import Any

import anyio
import attrs
import httpx
import pytest
import trio

from gateway_async import NotSentError, OutcomeUnknownError, TerminalBusyError, UserApiKey, ValidationError
from gateway_async.observe import LeaseRenewalFailed
from tests.support.scripted_transport import (
    APPROVED,
    FOUND,
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    SALE_AT_TERMINAL,
    Script,
    echo,
    error_of,
    refused,
    sell_at_terminal,
    silent,
)

from .test_ledger import LedgerScript

pytestmark = pytest.mark.anyio


class Lease:
    """Leases that another client has for the first `others` seconds; records its calls."""

    owner = "till-7"
    seconds = 30.0

    def __init__(self, others: float = 0.0, wait: float | None = None) -> None:
        self.others = others
        self.wait = wait
        self.asked: list[tuple[str, float]] = []
        self.away: Callable[[], bool] = lambda: False
        self.hangs: Callable[[], bool] = lambda: False
        self.closed = False

    async def acquire(self, _terminal_id: str, _token: str, seconds: float | None = None) -> str | None:
        self.asked.append(("take" if seconds is None else f"take for {seconds:g} s", trio.current_time()))
        if self.hangs():
            await trio.sleep_forever()
        if self.away() or self.closed:
            raise OSError("no route to the store")
        return "till-8" if trio.current_time() < self.others else None

    async def release(self, _terminal_id: str, _token: str) -> None:
        self.asked.append(("release", trio.current_time()))

    async def aclose(self) -> None:
        self.closed = True

    def times(self, what: str) -> list[float]:
        return [time for name, time in self.asked if name == what]


async def slow(_: httpx.Request) -> httpx.Response:
    """A customer who takes 35 seconds."""
    await anyio.sleep(35)
    return APPROVED


async def test_renewal() -> None:
    """Taken once, then after each third of its time; the client closes the store in the end."""
    lease = Lease()
    async with Script(post=[slow]).gateway(terminal_lease=lease) as gateway:
        assert (await sell_at_terminal(gateway)).approved
        assert lease.asked == [("take", 0), ("take", 10), ("take", 20), ("take", 30), ("release", 35)]
    assert lease.closed


async def test_foreign_lease() -> None:
    """Poll a few times a second, and send nothing before the lease is acquired; the wait takes no time of the call."""
    lease, script = Lease(others=100), Script(post=[slow])
    assert (await script.run(sell_at_terminal, terminal_lease=lease, terminal_timeout=60)).approved
    assert 135 <= trio.current_time() < 135.4
    assert 250 < len(lease.times("take")) < 500


@pytest.mark.parametrize("wait", [0, 5, 7.5])
async def test_bounded_wait(wait: float) -> None:
    """A wait ends after `wait` seconds, 0 is at once; the place in the line is given up, and nothing was sent."""
    lease, script = Lease(others=100, wait=wait), Script(post=[APPROVED])
    error = await script.fail(
        sell_at_terminal, TerminalBusyError, match="terminal t is busy; holder: till-8", terminal_lease=lease
    )
    assert (error.terminal_id, error.holder) == ("t", "till-8")
    assert (trio.current_time(), lease.times("release"), script.methods) == (wait, [wait], [])


async def test_missing_store() -> None:
    """A lease that cannot be had leaves the call unsent, and says why."""
    lease, script = Lease(), Script(post=[APPROVED])
    lease.away = lambda: True
    with pytest.raises(NotSentError, match="the terminal's lease is not available: OSError: no route to the store"):
        await script.run(sell_at_terminal, terminal_lease=lease)
    assert script.methods == []


async def test_a_store_that_hangs_is_given_a_third_of_the_lease() -> None:
    lease, script = Lease(), Script(post=[APPROVED])
    lease.hangs = lambda: True
    await script.fail(sell_at_terminal, NotSentError, match="TimeoutError", terminal_lease=lease)
    assert (script.methods, trio.current_time()) == ([], 10)


async def test_lost_store() -> None:
    """Once sent, it is not stopped and not sent again; observers learn once that the lease is in doubt."""
    lease, script = Lease(), Script(post=[slow])
    lease.away = lambda: trio.current_time() > 5
    assert (await script.run(sell_at_terminal, terminal_lease=lease)).approved
    doubts = script.events_of(LeaseRenewalFailed)
    assert [(each.api_id, each.terminal_id, each.reason) for each in doubts] == [
        ("mine", "t", "OSError: no route to the store")
    ]
    assert script.methods == ["POST"]


async def test_lost_lease() -> None:
    """Continue the call after the lease was lost, and report the new holder."""
    lease = Lease()

    async def taken_over(request: httpx.Request) -> httpx.Response:
        lease.others = 1000
        return await slow(request)

    script = Script(post=[taken_over])
    assert (await script.run(sell_at_terminal, terminal_lease=lease)).approved
    assert [event.reason for event in script.events_of(LeaseRenewalFailed)] == ["held by till-8"]


async def test_slow_release() -> None:
    """The result is not held up for it: the lease runs out by itself."""

    class Clinging(Lease):
        async def release(self, _terminal_id: str, _token: str) -> None:
            await trio.sleep_forever()

    assert (await Script(post=[APPROVED]).run(sell_at_terminal, terminal_lease=Clinging())).approved
    assert trio.current_time() == 2


async def test_a_call_cancelled_while_it_waits_leaves_the_line() -> None:
    lease = Lease(others=100)
    await Script(post=[APPROVED]).cancel(sell_at_terminal, 3, terminal_lease=lease)
    assert lease.times("release") == [3]


async def test_lease_of_doubt() -> None:
    """The customer may still be at the device: no other till gets it until nothing of the call can arrive."""
    lease = Lease()
    script = Script(post=[silent, APPROVED], get=[NOT_THERE])
    async with script.gateway(terminal_lease=lease) as gateway:
        with anyio.move_on_after(9):
            await sell_at_terminal(gateway)
        assert lease.asked == [("take", 0), ("take", 10), ("take for 409 s", 11)]
        script.responses["get"] = [FOUND]
        await sell_at_terminal(gateway)
    assert len(lease.times("release")) == 1


async def test_resolved_doubt() -> None:
    """`resolve()` finds the sale, so other tills need not wait for the rest of the doubt."""
    lease = Lease()
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(terminal_lease=lease) as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        assert lease.asked[-1] == ("take for 410 s", 10)
        assert not lease.times("release")
        script.responses["get"] = [FOUND]
        await error.resolve()
        assert lease.asked[-1] == ("release", 10)
        await error.resolve()
        assert len(lease.times("release")) == 1


async def test_next_call() -> None:
    """The outcome becomes known while the client's next call has the terminal: that call keeps the lease."""
    lease = Lease()
    script = Script(post=[LOST, slow], get=[NOT_THERE])
    async with script.gateway(terminal_lease=lease) as gateway, anyio.create_task_group() as tasks:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        script.responses["get"] = [FOUND]
        tasks.start_soon(gateway.router_transactions.create, attrs.evolve(SALE_AT_TERMINAL, transaction_api_id="next"))
        await anyio.sleep(5)
        await error.resolve()
        assert not lease.times("release")
    assert lease.times("release") == [45]


async def test_shortened_lease() -> None:
    """If the process exits while it looks the earlier call up, no other till gets the terminal before its time."""
    lease = Lease()
    lease.seconds = 24.0  # renewed every 8 s: not at the moment in which the call ends
    async with Script(post=[LOST], get=[NOT_THERE]).gateway(terminal_lease=lease) as gateway:
        await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
        await anyio.sleep(5)
        await error_of(sell_at_terminal(gateway), TerminalBusyError)
    assert lease.asked[-4:] == [
        ("take for 410 s", 10),
        ("take for 405 s", 15),
        ("take for 397 s", 23),
        ("take for 395 s", 25),
    ]


async def test_closed_client() -> None:
    """The connection is cut, the customer is still asked, and the store is open until the lease says so."""
    lease = Lease()
    cut = anyio.Event()

    class Closed(Script):
        async def aclose(self) -> None:
            cut.set()

    async def wait_for_the_end(_: httpx.Request) -> Exception:
        await cut.wait()
        return LOST

    script = Closed(post=[wait_for_the_end], get=[NOT_THERE])
    gateway = script.gateway(terminal_lease=lease)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(error_of, sell_at_terminal(gateway), OutcomeUnknownError)
        await anyio.sleep(5)
        await gateway.aclose()
    assert lease.asked == [("take", 0), ("take for 415 s", 5)]
    assert lease.closed
    assert not script.events_of(LeaseRenewalFailed)


async def test_failed_extension() -> None:
    """The store is away when the call ends: another till may get the terminal, and observers learn it."""
    lease = Lease()
    script = Script(post=[LOST], get=[NOT_THERE])
    async with script.gateway(terminal_lease=lease) as gateway:
        lease.away = lambda: trio.current_time() > 9
        await error_of(sell_at_terminal(gateway), OutcomeUnknownError)
    assert [event.reason for event in script.events_of(LeaseRenewalFailed)] == ["OSError: no route to the store"] * 2


async def test_one_holder() -> None:
    """Its next call takes what an earlier one has left, without waiting for it to run out; another client cannot."""
    tokens: list[str] = []

    class Noting(Lease):
        async def acquire(self, _terminal_id: str, _token: str, seconds: float | None = None) -> str | None:  # noqa: ARG002  stores are given it
            tokens.append(_token)
            return None

    for _ in range(2):
        async with Script(post=[APPROVED]).gateway(terminal_lease=Noting()) as gateway:
            for _ in range(2):
                await sell_at_terminal(gateway)
    assert (tokens[0], tokens[2], len({*tokens})) == (tokens[1], tokens[3], 2)


async def test_raised_errors() -> None:
    """Raise a call's error without a group, with its causes."""
    script = Script(post=[refused(terminal_id="Terminal not found")])
    with pytest.raises(ValidationError, match="Terminal not found"):
        await script.run(lambda g: sell_at_terminal(g, on_progress=print), terminal_lease=Lease())


# --- right before sending


class Prepared:
    """The time between the lease and the request: a key is fetched."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def key(self) -> str:
        await anyio.sleep(self._seconds)
        return "key"

    def options(self, lease: Lease) -> dict[str, Any]:
        return {"terminal_lease": lease, "credentials": UserApiKey("user", self.key)}


async def test_slots() -> None:
    """With `max_terminals=1`, the lease of the second terminal is taken when its call can start."""
    lease = Lease()
    options = {"terminal_lease": lease, "max_terminals": 1}
    async with Script(post=[slow]).gateway(**options) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(sell_at_terminal, gateway)
        await anyio.sleep(1)
        other = attrs.evolve(SALE_AT_TERMINAL, terminal_id="u", transaction_api_id="other")
        tasks.start_soon(gateway.router_transactions.create, other)
    renewals = [("take", 10), ("take", 20), ("take", 30)]
    assert lease.asked[:6] == [("take", 0), *renewals, ("release", 35), ("take", 35)]


@pytest.mark.parametrize(
    ("seconds", "away_after", "is_sent"),
    [(0.5, 0, True), (29, 0, True), (30, 0, False), (45, 0, False), (49, 20, True), (50, 20, False)],
)
async def test_expired_lease(seconds: float, away_after: float, *, is_sent: bool) -> None:
    """The store is away after the lease was taken or renewed: from then, it lasts 30 seconds."""
    lease, script = Lease(), LedgerScript(post=[echo("routertransaction", status_id=101)])
    lease.away = lambda: trio.current_time() > away_after
    options = Prepared(seconds).options(lease)
    if is_sent:
        assert (await script.run(sell_at_terminal, **options)).approved
        return
    reason = "was not sent: the terminal's lease was lost: OSError: no route to the store"
    await script.fail(sell_at_terminal, NotSentError, match=reason, **options)
    assert script.methods == []
    assert ("record_outcome", "not_sent", None) in script.ledger.notes
    assert trio.current_time() == seconds  # it is not tried again


async def test_a_lease_that_was_not_renewed_for_long_is_renewed_once() -> None:
    lease, script = Lease(), Script(post=[APPROVED])
    lease.away = lambda: 0 < trio.current_time() < 44
    assert (await script.run(sell_at_terminal, **Prepared(45).options(lease))).approved
    assert lease.times("take") == [0, 10, 20, 30, 40, 45]


@pytest.mark.parametrize("seconds", [5, 15], ids=["before its renewal", "after its renewal"])
async def test_foreign_terminal(seconds: float) -> None:
    """The store has lost the lease, and another client has it now: nothing is sent, though its time is not over."""
    lease, script = Lease(), Script(post=[APPROVED])
    options = Prepared(seconds).options(lease)
    async with script.gateway(**options) as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(error_of, sell_at_terminal(gateway), NotSentError)
        await anyio.sleep(1)
        lease.others = 1000
    assert script.methods == []
    assert lease.asked[-2:] == [("take", seconds), ("release", seconds)]


async def test_a_store_that_hangs_right_before_sending_keeps_the_call_unsent() -> None:
    lease, script = Lease(), Script(post=[APPROVED])
    lease.hangs = lambda: trio.current_time() > 0
    reason = "the terminal's lease was lost: TimeoutError: the store did not respond within 10 s"
    await script.fail(sell_at_terminal, NotSentError, match=reason, **Prepared(25).options(lease))
    assert (script.methods, trio.current_time()) == ([], 35)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such clock")
@pytest.mark.parametrize(
    ("seconds", "change", "reason"),
    [(3600.0, {"away": lambda: True}, "the terminal's lease was lost"), (15.0, {"others": 1000}, "held by till-8")],
)
async def test_sleeping_machine(
    monkeypatch: pytest.MonkeyPatch, seconds: float, change: dict[str, Any], reason: str
) -> None:
    """The event loop's clock stood still, and another client came: after half the lease's time the store is asked."""
    lease, script = Lease(), Script(post=[APPROVED])

    def wake() -> str:
        monkeypatch.setattr("time.clock_gettime", lambda _: seconds)
        vars(lease).update(change)
        return "key"

    monkeypatch.setattr("time.clock_gettime", lambda _: 0.0)
    options = {"terminal_lease": lease, "credentials": UserApiKey("user", wake)}
    await script.fail(sell_at_terminal, NotSentError, match=reason, **options)
    assert script.methods == []


async def test_second_attempt() -> None:
    """The first one found no gateway; the lease is lost before the second."""
    lease, script = Lease(), Script(post=[NEVER_LEFT, APPROVED])

    async def refuse(_: httpx.Request) -> Exception:
        lease.others = 1000
        await anyio.sleep(3)
        return NEVER_LEFT

    script.responses["post"].insert(0, refuse)
    await script.fail(sell_at_terminal, NotSentError, match="held by till-8", terminal_lease=lease)
    assert script.methods == ["POST"]
