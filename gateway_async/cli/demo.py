"""`gateway-async demo`: a tour of the package in less than half a minute."""

import asyncio

from rich.console import Console

from gateway_async.cli.errors import fail
from gateway_async.cli.stage import DemoStage

__all__ = ["demo"]

NEXT = {
    "gateway-async sandbox": "serves such a gateway for a program of your own",
    "gateway-async sandbox --help": "how to keep it in a file, or bring the cards",
    "README.md": "a first call, terminals, lost answers, tests",
}


def demo() -> None:
    """Watch the package at work in under half a minute: a terminal, a decline, a lost response, 10,000 vaults.

    It starts a sandbox of its own, shows code, runs it, and checks each statement about it. The exit status is 1 if a
    statement is wrong.
    """
    from gateway_async.cli.story import tell

    stage = DemoStage(Console(highlight=False))
    try:
        asyncio.run(tell(stage))
    except Exception as error:  # noqa: BLE001  any error is reported with its chapter
        fail(f"the demo failed {stage.place}: {_cause(error)}")
    stage.summary()
    stage.after(NEXT)


def _cause(error: Exception) -> str:
    """Return the message of an error, or of the first error in an exception group."""
    return _cause(error.exceptions[0]) if isinstance(error, ExceptionGroup) else str(error) or type(error).__name__
