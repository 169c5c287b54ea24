"""Write the results of `python benchmarks/run.py` into docs/why/benchmarks.md."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "why" / "benchmarks.md"
RESULTS: Final = Path(__file__).with_name("results") / "benchmarks.json"

_CALLS: Final = ("GET", "POST")
_TEXTS: Final = ("ms of CPU time", "measured", "unit", "beside")

PART: Final = re.compile(r"(?<=<!-- printed: )(?P<name>.+?)(?: -->\n\n)(?P<text>[\s\S]*?)(?=\n\n<!-- end -->)")
"""A written part of the page: its name and its text."""


def origin(results: dict[str, Any]) -> str:
    """Say when, where and with which versions the results were measured."""
    peers = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    machine = f"{results['machine']}, {results['cores']} cores"
    return f"{results['date']}, Python {results['python']}, {machine}. Peers: {peers}."


def calls(results: dict[str, Any]) -> str:
    """Return the CPU time of a call: a line for each load, a column for each client."""
    rows = [
        row for row in results["rows"] if row["subject"].startswith(_CALLS) and row["peer"] not in (None, "50 at once")
    ]
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    figures = {(row["subject"], row["peer"]): row["theirs"] for row in rows}
    ours = {row["subject"]: row["ours"] for row in rows}
    lines = (
        (subject, _figure(own["median"]), *(_figure(figures[subject, peer]["median"]) for peer in peers))
        for subject, own in ours.items()
    )
    return _table(("ms of CPU time", "gateway_async", *peers), lines)


def comparisons(results: dict[str, Any]) -> str:
    """Return a line for each other figure, and each with a goal."""
    heads = ("measured", "unit", "ours", "beside", "theirs", "ratio", "lowest to highest", "goal")
    rows = [row for row in results["rows"] if row["goal"] or not row["subject"].startswith(_CALLS)]
    return _table(heads, map(tuple, map(_cells, rows)))


def _cells(row: dict[str, Any]) -> Iterator[str]:
    measured = row["ratio"] or row["ours"]
    yield from (row["subject"], row["unit"], _figure(row["ours"]["median"]), row["peer"] or "–")
    yield _figure(row["theirs"]["median"]) if row["theirs"] else "–"
    yield f"{row['ratio']['median']:.2f}" if row["ratio"] else "–"
    yield f"{_figure(measured['lowest'])} to {_figure(measured['highest'])}"
    yield f"{row['goal_text']}: {row['verdict'].lower()}" if row["goal"] else "–"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, with its figures at the right of their columns."""
    lines = [heads, ["---" if head in _TEXTS else "---:" for head in heads], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


PARTS: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {
    "origin": origin,
    "calls": calls,
    "comparisons": comparisons,
}
"""The written parts of the page, by name."""


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = PART.sub(
        lambda part: f"{part['name']} -->\n\n{PARTS[part['name']](found)}", PAGE.read_text(encoding="utf-8")
    )
    PAGE.write_text(page, encoding="utf-8")
