"""`Worker`: a process that runs a program of `worker_programs` and is killed by a condition.

A server process imports the modules once and forks each worker, which takes milliseconds instead of a second.
"""

import multiprocessing
import os
from contextlib import suppress
from typing import Any, Final

from tests.reliability.worker_programs import Program, run
from tests.reliability.worker_protections import WITHOUT

__all__ = ["Worker"]

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    # the others are imported on first use, which would be in each worker
    ["tests.reliability.worker_programs", "gateway_async._http.asyncio_connection", "cattrs", "tenacity"]
)

_RESPONSE_SECONDS: Final = 60.0


class Worker:
    """A worker process that has been started.

    Args:
        program: the program that it runs.
        arguments: its arguments.
    """

    def __init__(self, program: Program, *arguments: Any) -> None:
        self._receiver, sender = _CONTEXT.Pipe(duplex=False)
        settings = (program, os.environ.get(WITHOUT, ""), sender, *arguments)
        self._process = _CONTEXT.Process(target=run, args=settings, daemon=True)
        self._process.start()
        sender.close()

    @property
    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.is_alive()

    def receive(self) -> Any:
        """Wait for an object that the program sends.

        Raises:
            EOFError: the process has ended without sending one.
            TimeoutError: it has sent nothing for a minute.
        """
        if not self._receiver.poll(_RESPONSE_SECONDS):
            raise TimeoutError("a worker process sends nothing")
        return self._receiver.recv()

    def kill(self) -> bool:
        """Kill the process (SIGKILL), and return whether it was still running."""
        was_running = self.is_running
        with suppress(ProcessLookupError):
            self._process.kill()
        self._process.join()
        self._process.close()
        self._receiver.close()
        return was_running
