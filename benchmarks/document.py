"""Write the results of `python benchmarks/run.py` into docs/why/benchmarks.md."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "why" / "benchmarks.md"
RESULTS: Final = Path(__file__).with_name("results") / "benchmarks.json"

PART: Final = re.compile(r"(?<=<!-- printed: )(?P<name>.+?)(?: -->\n\n)(?P<text>[\s\S]*?)(?=\n\n<!-- end -->)")
"""A written part of the page: its name and its text."""


def origin(results: dict[str, Any]) -> str:
    """Say when, where and with which versions the results were measured."""
    peers = ", ".join(f"{name} {version}" for name, version in results["peers"].items())
    machine = f"{results['machine']}, {results['cores']} cores"
    return f"{results['date']}, Python {results['python']}, {machine}. Peers: {peers}."


def table(results: dict[str, Any]) -> str:
    """Return a table with a line for each figure and peer."""
    heads = ("measured", "unit", "ours", "beside", "theirs", "ratio", "lowest to highest", "goal")
    lines = [heads, ("---",) * len(heads), *map(tuple, map(_cells, results["rows"]))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: dict[str, Any]) -> Iterator[str]:
    judged = row["ratio"] or row["ours"]
    yield from (row["subject"], row["unit"], _figure(row["ours"]["median"]), row["peer"] or "–")
    yield _figure(row["theirs"]["median"]) if row["theirs"] else "–"
    yield f"{row['ratio']['median']:.2f}" if row["ratio"] else "–"
    yield f"{_figure(judged['lowest'])} to {_figure(judged['highest'])}"
    yield f"{row['goal_text']}: {row['verdict'].lower()}" if row["goal"] else "–"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


PARTS: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {"origin": origin, "results": table}
"""The written parts of the page, by name."""


if __name__ == "__main__":
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = PART.sub(
        lambda part: f"{part['name']} -->\n\n{PARTS[part['name']](found)}", PAGE.read_text(encoding="utf-8")
    )
    PAGE.write_text(page, encoding="utf-8")
