"""Serve a sandbox in the foreground of its own process."""

import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType

from gateway_async.sandbox.http.request_log import OnRequest
from gateway_async.sandbox.runtime.gateway import SandboxInfo
from gateway_async.sandbox.runtime.postback_delivery import PostbackFormat
from gateway_async.sandbox.sandbox import Sandbox
from gateway_async.sandbox.schema.kinds import DEFAULT_CURRENCY
from gateway_async.sandbox.simulators.terminals import Mode

_CONNECTIONS = 10_240
_WAIT_SECONDS = 0.5
"""Maximum seconds of one wait. On Windows, a signal handler runs only after it (until Python 3.14)."""


def serve(
    port: int = 8080,
    host: str = "127.0.0.1",
    data: str | Path | None = None,
    *,
    terminals: Mode = "auto",
    terminal_delay: float = 2.0,
    postback_hosts: Collection[str] = (),
    on_ready: Callable[[SandboxInfo], None] | None = None,
    strict: bool = False,
    on_request: OnRequest | None = None,
    allowed_hosts: Collection[str] = (),
    postback_format: PostbackFormat = "json",
    currency: str = DEFAULT_CURRENCY,
) -> None:
    """Serve a sandbox until SIGINT or SIGTERM.

    Call it from the main thread, because it installs signal handlers. It takes the arguments of `Sandbox`, and
    `on_ready` is called with the address, the credentials and the ids when the sandbox accepts requests.

    Raises:
        InvalidRequestError: As `Sandbox` raises it.
        OSError: The port is taken.
        sqlite3.DatabaseError: The data file is not a database, or another sandbox uses it.
    """
    received: SimpleQueue[int] = SimpleQueue()  # a signal handler may put something into it at any moment

    def end(number: int, _frame: FrameType | None) -> None:
        received.put(number)

    _allow_many_connections()
    with (
        handle_signals(end),
        Sandbox(
            port,
            host,
            data,
            terminals=terminals,
            terminal_delay=terminal_delay,
            postback_hosts=postback_hosts,
            strict=strict,
            on_request=on_request,
            allowed_hosts=allowed_hosts,
            postback_format=postback_format,
            currency=currency,
        ) as sandbox,
    ):
        if on_ready:
            on_ready(sandbox.info)
        _wait_for_signal(received)


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Let a function handle SIGINT and SIGTERM during the block."""
    former = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, former_handler in former.items():
            signal.signal(number, former_handler)


def _wait_for_signal(received: "SimpleQueue[int]") -> None:
    while True:
        with suppress(Empty):
            received.get(timeout=_WAIT_SECONDS)
            return


def _allow_many_connections() -> None:
    if sys.platform != "win32":
        import resource

        usual, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(usual, min(allowed, _CONNECTIONS)), allowed))
