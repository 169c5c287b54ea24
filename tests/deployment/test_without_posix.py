"""The package on a system without the parts of POSIX that Windows lacks, as far as Linux can simulate it."""

from pathlib import Path

from tests.docs.documents import ROOT
from tests.support.processes import run_python


def test_windows(tmp_path: Path) -> None:
    """Every module is imported; a sale, a migration, a receiver and the sandbox work without fork, modes and locks."""
    done = run_python("-W", "error", "-m", "tests.deployment.without_posix", str(tmp_path), PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("modules, no problem\n")
