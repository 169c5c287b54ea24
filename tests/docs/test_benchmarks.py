"""The page about the benchmarks names every program, and its picture is a drawing of the goals."""

import re
from pathlib import Path

from .documents import read

PAGE = "docs/why/benchmarks.md"
PICTURE = "docs/pictures/benchmarks.svg"
PROGRAMS = Path(__file__).parents[2] / "benchmarks"


def test_programs() -> None:
    """The page has a row for each program, and for nothing else."""
    programs = {path.name for path in PROGRAMS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert set(re.findall(r"^\| `(\w+\.py)` \|", read(PAGE), re.MULTILINE)) == programs - {
        "document.py",
        "run.py",
        "server.py",
    }


def test_picture() -> None:
    """The picture shows goals, and loads nothing from elsewhere; `nox -s benchmarks` draws it again."""
    picture = read(PICTURE)
    assert "Goals" in picture
    assert re.findall(r"url\(|<script|@import|href", picture) == []
