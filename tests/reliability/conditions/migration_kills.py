"""Migrations that are killed again and again: each row is stored once."""

from functools import partial
from pathlib import Path
from random import Random
from secrets import token_hex
from tempfile import TemporaryDirectory
from threading import Condition as Signal
from time import sleep
from typing import Final, Literal

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.http.request_log import LoggedRequest
from tests.reliability.condition import Condition, Result, add_up
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.worker_programs import migrate, start_worker
from tests.reliability.worker_protections import without
from tests.support.ledgers import ask_postgres
from tests.support.processes import Process
from tests.support.servers import POSTGRES

_KILLS: Final = 10
"""Kills of one migration."""

_REQUESTS: Final = 60
"""The maximum number of requests before a kill; there are as many rows for each."""

_DELAY_SECONDS: Final = 0.005
_POLL_SECONDS: Final = 0.01
_SEED: Final = 20261123


class _Requests:
    """Counts the requests to a sandbox, and waits for one."""

    def __init__(self) -> None:
        self._signal = Signal()
        self._number = 0

    def count(self, _: LoggedRequest) -> None:
        """Count a request; the sandbox calls this in its thread."""
        with self._signal:
            self._number += 1
            self._signal.notify_all()

    def wait_for(self, number: int, worker: Process) -> None:
        """Wait for so many more requests, or for the end of the process that sends them."""
        with self._signal:
            wanted = self._number + number
            while self._number < wanted and worker.poll() is None:
                self._signal.wait(_POLL_SECONDS)


class _KilledMigration:
    """One migration in process after process."""

    def __init__(self, sandbox: Sandbox, requests: _Requests, kills: int, store: str, table: str) -> None:
        self._sandbox = sandbox
        self._requests = requests
        self._kills = kills
        self._rows = kills * _REQUESTS
        self._settings = (sandbox.environment(), self._rows, store, table)

    def kill(self, random: Random) -> int:
        """Kill it at random moments, and return how often it was still running."""
        killed = 0
        for _ in range(self._kills):
            worker = start_worker(migrate, *self._settings)
            self._requests.wait_for(random.randint(1, _REQUESTS), worker)
            sleep(random.uniform(0, _DELAY_SECONDS))
            killed += worker.crash()
            self._sandbox.wait_until_idle()
        return killed

    def finish(self, killed: int) -> Result:
        """Run it to its end, and compare its report with the gateway's records."""
        worker = start_worker(migrate, *self._settings)
        stored, rejected, unknown, skipped = worker.receive()
        worker.crash()
        times = self._sandbox.ledger()["stored"]
        expected = stored + skipped + unknown
        return Result(
            count=killed,
            double=sum(number - 1 for number in times.values()),
            lost=sum(f"k{number}" not in times for number in range(self._rows)) + rejected,
            unknown=unknown,
            problems=() if expected == self._rows else (f"the report counts {expected} of {self._rows} rows",),
        )


def _kill_migrations(kind: Literal["sqlite", "postgres"], count: int) -> Result:
    """Kill migrations until `count` kills have hit a running one."""
    random, requests, results = Random(_SEED), _Requests(), list[Result]()  # noqa: S311  no secret
    with accept_duplicate_ids(), Sandbox(on_request=requests.count) as sandbox, TemporaryDirectory() as folder:
        while (left := count - sum(result.count for result in results)) > 0:
            sandbox.reset()
            name = f"journal_{token_hex(6)}"
            store, table = (POSTGRES, name) if kind == "postgres" else (str(Path(folder, name)), "")
            migration = _KilledMigration(sandbox, requests, min(left, _KILLS), store, table)
            try:
                results.append(migration.finish(migration.kill(random)))
            finally:
                if table:
                    ask_postgres(f"DROP TABLE IF EXISTS {table}, {table}_runs, {table}_not_started")
    return add_up(results)


MIGRATION_KILL_CONDITIONS: Final = (
    Condition(
        key="kill-migration",
        text="`kill -9` of a migration with a journal file",
        count=200,
        short_count=6,
        run=partial(_kill_migrations, "sqlite"),
        protections=without("journal-before-send"),
    ),
    Condition(
        key="kill-migration-postgres",
        text="`kill -9` of a migration with a journal in PostgreSQL",
        count=50,
        short_count=3,
        run=partial(_kill_migrations, "postgres"),
        needs=("GATEWAY_TEST_POSTGRES",),
    ),
)
