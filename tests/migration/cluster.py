"""A Dask cluster of real processes, forked from one that has imported Dask."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

from gateway_async import AsyncGateway
from gateway_async.observe import CallEnded, Event
from tests.support.processes import ENVIRONMENT, Process, start_function

STAMPS = "TEST_STAMPS"
WITHIN = 20


class Cluster:
    """A scheduler and its workers, each a process with one thread.

    Attributes:
        address: of the scheduler.
        folder: where the workers run.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._environment = {**ENVIRONMENT, **environment, STAMPS: str(folder)}
        self._file = folder / "scheduler.json"
        self._log = (folder / "log").open("w")
        self._scheduler = self._start("dask_scheduler", "--port", "0")
        self._workers: list[Process] = []
        self.address: str = self._wait_for_file()["address"]

    def add_worker(self) -> None:
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder))
        self._workers.append(self._start("dask_worker", *options))

    def kill_worker(self) -> None:
        """Kill the oldest one without a word (SIGKILL)."""
        worker = self._workers.pop(0)
        assert worker.poll() is None, "it ended by itself"
        worker.kill()
        worker.communicate(timeout=WITHIN)

    def end(self) -> None:
        for process in (*self._workers, self._scheduler):
            process.kill()
            process.communicate(timeout=WITHIN)
        self._log.close()

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def stamps(self) -> list[float]:
        """When each call of a client of `stamping_gateway` ended, in order."""
        return sorted(float(line) for file in self.folder.glob("*.stamps") for line in file.read_text().splitlines())

    def _start(self, command: str, *options: str) -> Process:
        common = ("--scheduler-file", str(self._file), "--host", "127.0.0.1", "--no-dashboard")
        return start_function(
            *(run_dask, command, str(self.folder), [*common, *options]),
            modules=(f"distributed.cli.{command}", "gateway_async.migration.dask"),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env=self._environment,
        )

    def _wait_for_file(self) -> dict[str, Any]:
        until = time.monotonic() + WITHIN
        while time.monotonic() < until:
            try:
                said: dict[str, Any] = json.loads(self._file.read_text())
            except (FileNotFoundError, ValueError):
                time.sleep(0.05)
            else:
                return said
        raise TimeoutError(self.log())


def run_dask(command: str, folder: str, options: list[str]) -> None:
    """Run `dask_scheduler` or `dask_worker` in a folder, until the process that started it ends, even by SIGKILL."""
    Thread(target=_end_with_input, daemon=True).start()
    os.chdir(folder)
    import_module(f"distributed.cli.{command}").main(options)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


@contextmanager
def cluster_of(folder: Path, environment: Mapping[str, str], workers: int = 2) -> Iterator[Cluster]:
    """A cluster with so many workers, for as long as the block runs."""
    cluster = Cluster(folder, environment)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.end()


def stamping_gateway() -> AsyncGateway:
    """A client, as the workers make it, that notes when each of its calls ended."""

    def observe(event: Event) -> None:
        if isinstance(event, CallEnded):
            _stamps().write(f"{time.time()}\n")

    return AsyncGateway.from_env(observers=[observe])


@cache
def _stamps() -> TextIO:
    return Path(os.environ[STAMPS], f"{os.getpid()}.stamps").open("a", buffering=1)
