"""Sandboxes for tests: in the same process, or in one of their own."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from gateway_async import AsyncGateway
from gateway_async.sandbox import Sandbox
from tests.support.killed_programs import gateway_of
from tests.support.processes import Process, start
from tests.support.waiting import PATIENCE


def manual_sandbox() -> Iterator[Sandbox]:
    """A sandbox in which a person presses the keys of the terminals, for fixtures."""
    with Sandbox(terminals="manual") as sandbox:
        yield sandbox


def quick_sandbox() -> Iterator[Sandbox]:
    """A sandbox whose terminals present cards without delay, for fixtures."""
    with Sandbox(terminal_delay=0.0) as sandbox:
        yield sandbox


@attrs.frozen
class SandboxProcess:
    """A sandbox, which can be stopped with its sockets open.

    Attributes:
        facts: the address, credentials and ids that it has printed.
    """

    process: Process
    facts: dict[str, Any]

    def freeze(self) -> None:
        """Stop the process (SIGSTOP), and wait until it is stopped."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def thaw(self) -> None:
        """Continue the process."""
        os.kill(self.process.pid, signal.SIGCONT)

    def gateway(self, **options: Any) -> AsyncGateway:
        """Make a client of it."""
        return gateway_of(self.facts, **options)

    def stop(self) -> None:
        """End the process and wait for that, so that its database is closed."""
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextmanager
def sandbox_process(*options: str) -> Iterator[SandboxProcess]:
    """Start `gateway-async sandbox` with these options, and end it by its process id."""
    with start("sandbox", "--port", "0", "--json", *options) as process:
        yield SandboxProcess(process, next(process.events()))


def resident_kib(process_id: int | str = "self") -> int:
    """Return the current memory of a process, in KiB."""
    lines = Path(f"/proc/{process_id}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])
