"""Worker processes of the crash test that are forked from a process that has loaded the package."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import pytest

from tests.support.processes import ENVIRONMENT, start_program


class _Pipe(anyio.abc.ByteSendStream, anyio.abc.ByteReceiveStream):
    """An end of a pipe."""

    def __init__(self, file: Any) -> None:
        self._file = file

    async def send(self, item: bytes) -> None:
        self._file.write(item)
        self._file.flush()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        data = await anyio.to_thread.run_sync(os.read, self._file.fileno(), max_bytes, abandon_on_cancel=True)
        if not data:
            raise anyio.EndOfStream
        return data

    async def aclose(self) -> None:
        self._file.close()


class _Worker:
    """What the crash test uses of `anyio.abc.Process`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], **options: Any) -> None:
        own = {name: value for name, value in env.items() if ENVIRONMENT.get(name) != value}
        own.pop("PYTHONPATH", None)  # the server has it
        modules = ("gateway_async.crash_testing.worker", "tests.crash_testing.scenarios")
        self._process = start_program(command[1:], own, modules, encoding=None, **options)
        self.stdin, self.stdout = _Pipe(self._process.stdin), _Pipe(self._process.stdout)

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self._process.crash)


async def _open_process(command: Sequence[str], **options: Any) -> _Worker:
    return _Worker(command, **options)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the processes of scenarios, which saves the start of Python."""
    monkeypatch.setattr(anyio, "open_process", _open_process)
