"""The service of docs/guides/deployment.md, started with the commands of that document."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Thread

import anyio.to_thread
import httpx

from tests.docs.documents import ROOT, blocks
from tests.support.waiting import PATIENCE, until

SERVERS = ("uvicorn", "gunicorn")
_OVERRIDES = {
    "uvicorn": ["--app-dir", str(ROOT / "examples"), "--port", "0"],
    "gunicorn": ["--chdir", str(ROOT / "examples"), "--bind", "127.0.0.1:0"],
}
_GRACE = {"uvicorn": "--timeout-graceful-shutdown", "gunicorn": "--graceful-timeout"}
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class Service:
    """A supervisor with two workers.

    Args:
        command: the command line.
        environment: variables to add to those of the tests.

    Attributes:
        process: the supervisor.
        log: the lines of standard error.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(  # noqa: S603  our own example
            command,
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,  # so that `end` reaches the workers too
        )
        self.log: list[str] = []
        self._reader = Thread(target=self._read)
        self._reader.start()

    @property
    def url(self) -> str:
        """The address from the log; "" before the server listens."""
        found = _ADDRESS.search("".join(self.log))
        return found[0] if found else ""

    def count(self, text: str) -> int:
        """Count the lines of the log that contain a text."""
        return sum(text in line for line in self.log)

    async def until_started(self) -> None:
        """Wait until both workers serve."""
        await until(lambda: self.count("Application startup complete") == 2 or self.process.poll() is not None)
        assert self.process.poll() is None, "".join(self.log)

    async def until_stopping(self) -> None:
        """Send SIGTERM, and wait until a worker waits for its open connection."""
        self.process.send_signal(signal.SIGTERM)
        await until(lambda: self.count("Waiting for connections to close"))

    async def exit_status(self) -> int:
        """Wait for the end of the supervisor."""
        return await anyio.to_thread.run_sync(self.process.wait, PATIENCE)

    def end(self) -> None:
        """Kill the supervisor and its workers, and read the rest of the log."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        self._reader.join()
        if self.process.stderr:
            self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr
        self.log.extend(iter(self.process.stderr.readline, ""))


@asynccontextmanager
async def serving(
    server: str, folder: Path, environment: Mapping[str, str], grace: int | None = None
) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    """Run the service until the end of the block, and yield it with a till's connection.

    `grace` replaces the seconds of the document's command.
    """
    words = [*_command(server), *_OVERRIDES[server], *(() if grace is None else (_GRACE[server], str(grace)))]
    service = Service([sys.executable, "-m", *words], {"HOME": str(folder), **environment})
    try:
        await service.until_started()
        async with httpx.AsyncClient(base_url=service.url, timeout=PATIENCE, trust_env=False) as till:
            yield service, till
    finally:
        await anyio.to_thread.run_sync(service.end)


def _command(server: str) -> list[str]:
    """Return the words of the document's command for a server."""
    text = "".join(block.text for block in blocks("docs/guides/deployment.md", "console")).replace("\\\n", " ")
    lines = (shlex.split(line.removeprefix("$ ")) for line in text.splitlines())
    return next(words for words in lines if words[0] == server)
