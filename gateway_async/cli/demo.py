"""`gateway-async demo`: what the package does, in under half a minute."""

import asyncio

from rich.console import Console

from gateway_async.cli.failure import fail
from gateway_async.cli.stage import Stage

__all__ = ["demo"]

NEXT = {
    "gateway-async sandbox": "serves such a gateway for a program of your own",
    "gateway-async sandbox --help": "how to keep it in a file, or bring the cards",
    "README.md": "a first call, terminals, lost answers, tests",
}


def demo() -> None:
    """Watch the package at work in under half a minute: a terminal, a decline, a lost answer, 10,000 vaults.

    It starts a sandbox of its own, shows code, runs it, and checks what it says about it: exit status 1 if anything
    is not so.
    """
    from gateway_async.cli.story import tell

    stage = Stage(Console(highlight=False))
    try:
        asyncio.run(tell(stage))
    except Exception as error:  # noqa: BLE001  whatever it is, the chapter in which it happened is named
        fail(f"the demo failed {stage.place}: {_cause(error)}")
    stage.summary()
    stage.after(NEXT)


def _cause(error: Exception) -> str:
    """What went wrong, in words, out of any exception groups."""
    return _cause(error.exceptions[0]) if isinstance(error, ExceptionGroup) else str(error) or type(error).__name__
