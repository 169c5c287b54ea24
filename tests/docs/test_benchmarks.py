"""The page about the benchmarks names every program, and its picture is a drawing of the goals."""

import re
import runpy

from .documents import ROOT, read

PAGE = "docs/why/benchmarks.md"
PEN = ROOT / "docs/pictures/draw_benchmarks.py"
PROGRAMS = ROOT / "benchmarks"


def test_programs() -> None:
    """The page has a row for each program, and for nothing else."""
    programs = {path.name for path in PROGRAMS.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert set(re.findall(r"^\| `(\w+\.py)` \|", read(PAGE), re.MULTILINE)) == programs - {
        "document.py",
        "run.py",
        "server.py",
    }


def test_pictures() -> None:
    """Both show the figures of the page, and load nothing; `python docs/pictures/draw_benchmarks.py` draws them."""
    pen = runpy.run_path(str(PEN))
    for name, draw in (("benchmarks", pen["draw"]), ("benchmark-goals", pen["draw_goals"])):
        picture = read(f"docs/pictures/{name}.svg")
        assert picture == draw(read(PAGE))
        assert re.findall(r"url\(|<script|@import|href", picture) == []


def test_each_missed_goal_has_its_reason_in_the_picture() -> None:
    pen = runpy.run_path(str(PEN))
    _, rows = pen["read_tables"](read(PAGE))
    missed = {(row.subject, row.peer) for row in rows if row.verdict == "missed"}
    assert missed <= set(pen["REASONS"])
    assert missed != set()
