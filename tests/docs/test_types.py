"""The programs of the page about types are accepted by both type checkers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .documents import ROOT, blocks

pytestmark = [
    pytest.mark.skipif(not os.environ.get("GATEWAY_TEST_TYPES"), reason="`nox -s types` sets GATEWAY_TEST_TYPES"),
    pytest.mark.timeout(300),
]
CHECKERS = {"mypy": ("mypy", "--strict"), "pyright": ("pyright",)}


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_blocks_have_no_type_errors(checker: str, tmp_path: Path) -> None:
    """Each block is a module without an error."""
    files = [
        str(tmp_path / f"block_{number}.py") for number, _ in enumerate(blocks("docs/reference/types.md", "python"))
    ]
    for file, block in zip(files, blocks("docs/reference/types.md", "python"), strict=True):
        Path(file).write_text(block.placed, encoding="utf-8")
    command = [sys.executable, "-m", *CHECKERS[checker], *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert done.returncode == 0, done.stdout
