"""Many writes on a bad day, as `benchmarks/faults.py` makes them: money moves once, and the client knows.

`GATEWAY_WRITES=10000 pytest tests/end_to_end/test_ten_thousand_writes.py -s` makes so many, with terminal sales and
with faults of the lookups too.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "faults.py"
WRITES = os.environ.get("GATEWAY_WRITES")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_no_write_is_doubled_or_lost(backend: str) -> None:
    """While each fault strikes 2 % of them, whatever the client calls done is in the sandbox's ledger, once."""
    options = ["--writes", WRITES] if WRITES else ["--writes", "150", "--quick"]
    command = [sys.executable, str(PROGRAM), "--backend", backend, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own program
    print(done.stdout)  # noqa: T201  seen with -s
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("0 double, 0 lost\n")
