"""Progress of a call at a terminal, for a till's display."""

import asyncio
from functools import partial
from typing import Any

import anyio
import httpx
import pytest
import trio

from gateway_async import InvalidRequestError, RouterAccountVaultCreate, RouterTransactionCreate, TerminalBusyError
from gateway_async.observe import (
    CallEnded,
    CallStarted,
    TerminalProgress,
    TerminalState,
    TerminalWaitEnded,
    TerminalWaitStarted,
)
from tests.support.scripted_transport import (
    APPROVED,
    LOST,
    NOT_THERE,
    SALE_AT_TERMINAL,
    Script,
    listed,
    record,
    sell_at_terminal,
    silent,
)

from .test_lease_holder import Lease

pytestmark = pytest.mark.anyio


class ProgressReporter:
    def __init__(self) -> None:
        self.shown: list[TerminalProgress] = []

    def __call__(self, progress: TerminalProgress) -> None:
        self.shown.append(progress)

    @property
    def changes(self) -> list[tuple[str, str, float]]:
        """Each state when it was first shown, with its holder and the second."""
        first: dict[tuple[str, str], float] = {}
        for each in self.shown:
            first.setdefault((each.state.value, each.holder), round(each.waited, 3))
        return [(*names, second) for names, second in first.items()]


async def slow(_: httpx.Request) -> httpx.Response:
    """A customer who takes two and a half seconds."""
    await anyio.sleep(2.5)
    return APPROVED


async def test_ticks() -> None:
    """In line, then at the terminal, with the seconds that have gone and those that are left; then nothing more."""
    screen = ProgressReporter()
    async with Script(post=[slow]).gateway(terminal_timeout=60) as gateway:
        await anyio.sleep(10)
        await sell_at_terminal(gateway, on_progress=screen)
        await anyio.sleep(10)
    assert [(each.state, each.waited, each.left) for each in screen.shown] == [
        (TerminalState.QUEUED, 0, None),
        (TerminalState.AT_TERMINAL, 0, 60),
        (TerminalState.AT_TERMINAL, 1, 59),
        (TerminalState.AT_TERMINAL, 2, 58),
    ]
    assert {(each.terminal_id, each.api_id, each.holder) for each in screen.shown} == {("t", "mine", "")}


async def test_holder() -> None:
    """Another call of this client, or another till by name."""
    screen = ProgressReporter()
    await Script(post=[slow]).run(lambda g: sell_at_terminal(g, on_progress=screen), terminal_lease=Lease(others=4))
    assert [change[:2] for change in screen.changes] == [("queued", ""), ("held", "till-8"), ("at the terminal", "")]


async def test_time_left() -> None:
    """`left` counts down to the `TerminalBusyError`, with which the event of the wait ends."""
    screen, script = ProgressReporter(), Script(post=[slow])
    verb = partial(sell_at_terminal, on_progress=screen)
    busy = await script.fail(verb, TerminalBusyError, match="till-8", terminal_lease=Lease(others=9, wait=3))
    assert [event.error for event in script.events_of(TerminalWaitEnded)] == [busy]
    held = [each for each in screen.shown if each.state is TerminalState.HELD]
    assert [(each.waited, each.left) for each in held][:3] == [(0, 3), (1, 2), (2, 1)]


async def test_line_and_lookup() -> None:
    """The second call waits for the first, loses its response, and is looked up."""
    screen = ProgressReporter()
    script = Script(post=[slow, LOST], get=[NOT_THERE, APPROVED])
    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create, SALE_AT_TERMINAL)
        await anyio.wait_all_tasks_blocked()
        await sell_at_terminal(gateway, on_progress=screen)
    assert screen.changes == [("queued", "", 0), ("at the terminal", "", 2.5), ("looking up", "", 2.5)]


async def test_wait_events() -> None:
    """A call's wait for its terminal, its attempt and its end have the same id."""
    script = Script(post=[slow])
    async with script.gateway() as gateway, anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.router_transactions.create, SALE_AT_TERMINAL)
        await anyio.sleep(1)
        await sell_at_terminal(gateway)
    assert [event.seconds for event in script.events_of(TerminalWaitEnded)] == [0, 1.5]
    assert [event.error for event in script.events_of(TerminalWaitEnded)] == [None, None]
    ids = [event.call_id for event in script.events_of(TerminalWaitStarted)]
    assert len(set(ids)) == 2
    for kind in (TerminalWaitEnded, CallStarted, CallEnded):
        assert [event.call_id for event in script.events_of(kind)] == ids


async def test_a_screen_is_told_of_the_lookup_after_a_cancellation() -> None:
    screen = ProgressReporter()
    await Script(post=[silent], get=[silent]).cancel(lambda g: sell_at_terminal(g, on_progress=screen), 4.5)
    looking = [(each.waited, each.left) for each in screen.shown if each.state is TerminalState.LOOKING_UP]
    assert looking == [(4.5, 10), *((second, 14.5 - second) for second in range(5, 15))]
    assert trio.current_time() == 14.5


async def test_a_stored_card_has_a_screen_too() -> None:
    screen = ProgressReporter()
    store = RouterAccountVaultCreate(terminal_id="t", contact_id="c")
    script = Script(post=[record("accountvault", last_four="1111")], get=[listed("accountvaults")])
    await script.run(lambda g: g.router_account_vaults.create(store, on_progress=screen))
    assert [each.state.value for each in screen.shown] == ["queued", "at the terminal"]


async def later(_: TerminalProgress) -> None:
    """Do nothing, if anybody awaits it."""


def later_too(progress: TerminalProgress) -> object:
    return later(progress)


class Later:
    """Is called as `later` is."""

    async def __call__(self, _: TerminalProgress) -> None:
        """Do nothing."""


def broken(_: TerminalProgress) -> None:
    raise RuntimeError("no screen")


def cancelled(_: TerminalProgress) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("screen", [broken, cancelled, later_too])
async def test_broken_screen(screen: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Log and ignore every exception of a callback, and a coroutine that it returns."""
    assert (await Script(post=[slow]).run(lambda g: sell_at_terminal(g, on_progress=screen))).approved
    assert caplog.messages == ["on_progress failed"] * 4


@pytest.mark.parametrize("screen", [later, partial(later), Later(), 5])
async def test_an_async_callback_is_refused_before_anything_is_sent(screen: Any) -> None:
    script = Script(post=[APPROVED])
    with pytest.raises(InvalidRequestError, match="on_progress: must be a plain function, not an async one"):
        await script.run(lambda g: sell_at_terminal(g, on_progress=screen))
    assert script.methods == []


@pytest.mark.parametrize("options", [{}, {"on_progress": print}])
async def test_a_call_without_a_screen_has_no_task(options: dict[str, Any]) -> None:
    async with Script(post=[silent], get=[APPROVED]).gateway() as gateway, anyio.create_task_group() as tasks:
        before = trio.lowlevel.current_statistics().tasks_living
        for number in range(20):
            sale = RouterTransactionCreate(action="sale", terminal_id=f"t{number}", transaction_amount="1.00")
            tasks.start_soon(partial(gateway.router_transactions.create, sale, **options))
        await anyio.wait_all_tasks_blocked()
        each = (trio.lowlevel.current_statistics().tasks_living - before) / 20
        assert each == (2 if options else 1)
        tasks.cancel_scope.cancel()


def test_line() -> None:
    """The state, who holds it, and the seconds."""
    held = TerminalProgress(
        terminal_id="t", api_id=None, state=TerminalState.HELD, holder="till-8", waited=12.3, left=None
    )
    asked = TerminalProgress(terminal_id="t", api_id=None, state=TerminalState.AT_TERMINAL, waited=3, left=57.4)
    assert [str(held), str(asked)] == ["held by till-8, 12 s", "at the terminal, 3 s, 57 s left"]
