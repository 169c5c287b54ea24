"""A receiver of postbacks on a free port, and a till in a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from gateway_async.postbacks import PostbackReceiver
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.server import Listener

__all__ = ["crash_while_selling", "serve_receiver"]

_ENVIRONMENT: Final = ("base_url", "developer_id", "user_id", "user_api_key", "location_id")
_PAUSE: Final = 0.02
_SECONDS: Final = 20.0


@asynccontextmanager
async def serve_receiver(receiver: PostbackReceiver) -> AsyncIterator[str]:
    """Serve a receiver for a block, and yield its address."""
    listener = Listener(receiver.asgi, "127.0.0.1", 0)
    await listener.bind()
    await listener.open()
    try:
        yield f"{listener.url}/"
    finally:
        await listener.close()


def crash_while_selling(sandbox: Sandbox, file: Path, api_id: str) -> int:
    """Let another process charge a card, and kill it without a response.

    Returns:
        The exit status of the process.

    Raises:
        TimeoutError: the process did not charge the card in time.
    """
    sandbox.fault("POST /v2/transactions", "silence")
    with _start_till(sandbox, file, api_id) as process:
        ends_at = time.monotonic() + _SECONDS
        while not sandbox.ledger()["charged"].get(api_id):
            if time.monotonic() > ends_at or process.poll() is not None:
                raise TimeoutError("the other process did not charge the card")
            time.sleep(_PAUSE)
        process.kill()
        return process.wait()


@contextmanager
def _start_till(sandbox: Sandbox, file: Path, api_id: str) -> Iterator["subprocess.Popen[bytes]"]:
    variables = {f"GATEWAY_{name.upper()}": str(getattr(sandbox, name)) for name in _ENVIRONMENT}
    command = [sys.executable, "-m", "gateway_async.cli.demo.crashing_till", str(file), api_id]
    with subprocess.Popen(command, env=os.environ | variables) as process:  # noqa: S603  a module of this package
        try:
            yield process
        finally:
            process.kill()
