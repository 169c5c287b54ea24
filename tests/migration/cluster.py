"""A Dask cluster of real processes, and a file of rows for them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from gateway_async import AsyncGateway
from gateway_async.observe import CallEnded, Event

ROOT = Path(__file__).parents[2]
CARD = "4111111111111111"
OTHER_CARD = "5555555555554444"
STAMPS = "TEST_STAMPS"
WITHIN = 20
RUN_UNTIL_INPUT_ENDS = """
import os, runpy, sys, threading
def wait():
    sys.stdin.read()
    os._exit(1)
threading.Thread(target=wait, daemon=True).start()
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__")
"""
"""Runs a module as `python -m` does, until the process that started it ends, even by SIGKILL."""


class Cluster:
    """A scheduler and its workers, each a process with one thread.

    Attributes:
        address: of the scheduler.
        folder: where the workers run.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._environment = {**os.environ, **environment, "PYTHONPATH": path, STAMPS: str(folder)}
        self._file = folder / "scheduler.json"
        self._log = (folder / "log").open("w")
        self._scheduler = self._start("dask_scheduler", "--port", "0")
        self._workers: list[subprocess.Popen[bytes]] = []
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

    def _start(self, module: str, *options: str) -> subprocess.Popen[bytes]:
        common = ("--scheduler-file", str(self._file), "--host", "127.0.0.1", "--no-dashboard")
        command = [sys.executable, "-c", RUN_UNTIL_INPUT_ENDS, f"distributed.cli.{module}", *common, *options]
        pipe, log = subprocess.PIPE, self._log
        return subprocess.Popen(command, stdin=pipe, stderr=log, env=self._environment, cwd=self.folder)  # noqa: S603

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


def row(key: str, number: str = CARD) -> dict[str, str]:
    return {"key": key, "account_number": number, "exp_date": "1230"}


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path
