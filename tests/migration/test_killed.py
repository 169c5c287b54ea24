"""A migration that is killed again and again: each row is stored once, and what is stored is not sent again.

    GATEWAY_KILLS=100 GATEWAY_ROWS=30000 pytest -s --timeout 1200 tests/migration/test_killed.py

kills a hundred times instead of three.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from gateway_async.sandbox import Sandbox
from tests.support.sandbox_environment import environment_of

KILLS = int(os.environ.get("GATEWAY_KILLS", "3"))
ROWS = int(os.environ.get("GATEWAY_ROWS", str(200 * KILLS)))
SEED = 20261121
PROGRAM = Path(__file__).with_name("migrating.py")


class Killed:
    """A migration in a process, one after the other.

    Attributes:
        again: where a process notes what was sent though it was stored.
        kills: how often one was killed.
    """

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._journal = folder / "cards.journal"
        self.again = folder / "again"
        self._arguments = (str(PROGRAM), str(ROWS), str(self._journal), str(self.again))
        self._environment = {**os.environ, **environment_of(sandbox)}
        self._chance = random.Random(SEED)  # noqa: S311  no secret
        self.kills = 0

    def start(self) -> subprocess.Popen[str]:
        """Start it, or go on with it."""
        command, pipe = [sys.executable, *self._arguments], subprocess.PIPE
        return subprocess.Popen(command, env=self._environment, stdout=pipe, stderr=pipe, text=True)  # noqa: S603  ours

    def kill_after(self, rows: int) -> None:
        """Start the process, and kill it (SIGKILL) at a random moment after it has stored some rows."""
        rows = max(rows, self.stored() + 1)
        with self.start() as process:
            while self.stored() < rows and process.poll() is None:
                time.sleep(0.002)
            time.sleep(self._chance.uniform(0, 0.05))
            self.kills += process.poll() is None
            process.kill()

    def stored(self) -> int:
        """How many rows are stored, by the journal; seen from beside it."""
        return self._count("stored")

    def sending(self) -> int:
        """How many rows are to be looked up by the next process."""
        return self._count("sending")

    def _count(self, state: str) -> int:
        if not self._journal.is_file():
            return 0
        with closing(sqlite3.connect(f"{self._journal.as_uri()}?mode=ro", uri=True, timeout=10)) as file:
            if not file.execute("SELECT 1 FROM sqlite_master WHERE name = 'vaults'").fetchone():
                return 0
            (count,) = file.execute("SELECT count(*) FROM vaults WHERE state = ?", (state,)).fetchone()
            return int(count)


@pytest.mark.timeout(1200)
def test_every_row_once(sandbox: Sandbox, tmp_path: Path) -> None:
    """Although the process is killed (kill -9) at any moment and started again."""
    # A request of a killed process could be executed between the lookup and the request of the next process. Then the
    # gateway would reject the second one, which would count as sent again. Only a slow gateway can do that.
    killed, begun, looked_up = Killed(sandbox, tmp_path), time.monotonic(), 0
    for number in range(KILLS):
        killed.kill_after(number * ROWS // (KILLS + 1) + 1)
        looked_up += killed.sending()
    with killed.start() as process:
        output, errors = process.communicate(timeout=600)
    stored, rejected, unknown, skipped = json.loads(output)
    ledger = sandbox.ledger()["stored"]
    again = killed.again.read_text().split() if killed.again.exists() else []
    print(  # noqa: T201  figures, for those who ask with -s
        f"\n{ROWS} rows, {killed.kills} kills, {looked_up} rows looked up, {len(again)} sent though they were stored, "
        f"{len(ledger)} ids stored, {sum(count > 1 for count in ledger.values())} of them twice, "
        f"{time.monotonic() - begun:.0f} s"
    )
    assert errors == ""
    assert ledger == {f"k{number}": 1 for number in range(ROWS)}
    assert (stored + skipped, rejected, unknown) == (ROWS, 0, 0)
    assert again == []
    assert killed.kills > KILLS * 0.9
    assert not killed.sending()
