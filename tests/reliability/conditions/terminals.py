"""Thousands of terminals that wait for a card, beside ordinary payments."""

import resource
from typing import Final

import anyio

from gateway_async.sandbox import Sandbox
from tests.reliability.condition import Condition, Result
from tests.reliability.traffic import Traffic, compare

_CARD_AFTER: Final = 250.0
"""Seconds of the sandbox's clock after which cards are presented; the clock is moved there."""


def _apply(count: int) -> Result:
    """Let `count` terminals wait while as many ordinary writes are sent."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Sandbox(terminal_delay=_CARD_AFTER) as sandbox:
        return anyio.run(_send, sandbox, count)


async def _send(sandbox: Sandbox, count: int) -> Result:
    terminals = [sandbox.add_terminal() for _ in range(count)]
    async with sandbox.gateway(max_terminals=count, terminal_timeout=600.0) as gateway:
        till, ordinary = Traffic(gateway, terminals), Traffic(gateway, prefix="ordinary")
        async with anyio.create_task_group() as tasks:
            for number, terminal in enumerate(terminals):
                tasks.start_soon(till.sell_at, terminal, f"terminal-{number}")
            await _wait_for_calls(sandbox, count)
            await ordinary.run(count)
            sandbox.advance(_CARD_AFTER)
    return compare([*till.writes, *ordinary.writes], sandbox, count)


async def _wait_for_calls(sandbox: Sandbox, count: int) -> None:
    """Return when a call waits at each terminal."""
    while sum(bool(terminal["waiting"]) for terminal in sandbox.terminals()) < count:
        await anyio.sleep(0.2)


TERMINAL_CONDITIONS: Final = (
    Condition(
        key="terminals",
        text="terminals wait for cards at once, beside as many ordinary writes",
        count=5000,
        short_count=100,
        run=_apply,
    ),
)
