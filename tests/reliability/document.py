"""The tables of docs/why/reliability.md, from recorded runs."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.reliability.conditions import CONDITIONS
from tests.reliability.runner import Run

PAGE: Final = Path(__file__).parents[2] / "docs" / "why" / "reliability.md"

PART: Final = re.compile(r"(?<=<!-- printed: )(?P<name>.+?)(?: -->\n\n)(?P<text>[\s\S]*?)(?=\n\n<!-- end -->)")
"""A generated part of the page: its name and its text."""

_TEXTS: Final = {condition.key: condition.text for condition in CONDITIONS}
_MINUTE: Final = 60


def write_document(runs: Iterable[Run]) -> None:
    """Write the tables into the page, from the largest and newest run of each condition."""
    newest: dict[tuple[str, str], Run] = {}
    for run in runs:
        earlier = newest.get((run.key, run.without))
        if run.key in _TEXTS and (earlier is None or run.planned >= earlier.planned):
            newest[run.key, run.without] = run
    order = list(_TEXTS)
    shown = sorted(newest.values(), key=lambda run: (order.index(run.key), run.without))
    page = PAGE.read_text(encoding="utf-8")
    written = PART.sub(lambda part: f"{part['name']} -->\n\n{PARTS[part['name']](shown)}", page)
    PAGE.write_text(written, encoding="utf-8")


def _origin(runs: Sequence[Run]) -> str:
    """Say when, where and with which version the rows were produced."""
    dates = sorted({run.date for run in runs})
    period = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    versions = " and ".join(sorted({run.version for run in runs}))
    machines = "; ".join(sorted({run.machine for run in runs}))
    return f"Version {versions}, {period}, {machines}."


def _rows(runs: Sequence[Run]) -> str:
    heads = ("condition", "count", "double", "lost", "unknown", "time", "memory", "result")
    lines = [
        (
            f"`{run.key}`: {_TEXTS[run.key]}",
            *(f"{number:,}" for number in (run.result.count, run.result.double, run.result.lost, run.result.unknown)),
            _duration(run.seconds),
            f"{run.peak_mib} MiB",
            "passed" if run.result.passed else "failed",
        )
        for run in runs
        if not run.without
    ]
    return _table(heads, lines, "|---" + "|---:" * 6 + "|---|")


def _protections(runs: Sequence[Run]) -> str:
    heads = ("protection", "row", "what the row shows when it is switched off", "result without it")
    lines = [
        (f"`{run.without}`", f"`{run.key}`", _damage(run), "failed" if run.is_right else "not shown")
        for run in runs
        if run.without
    ]
    return _table(heads, sorted(lines), "|---" * 4 + "|")


def _damage(run: Run) -> str:
    counts = [
        f"{number:,} {name}" for name, number in (("double", run.result.double), ("lost", run.result.lost)) if number
    ]
    return "; ".join([*counts, *run.result.problems[:1]]).replace("|", "\\|")


def _figures(runs: Sequence[Run]) -> str:
    notes = (f"- `{run.key}`: {note}" for run in runs if not run.without for note in run.result.notes)
    return "\n".join(dict.fromkeys(notes))  # processes of one row may have equal notes


def _duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{minutes} min {rest} s"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], alignment: str) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], alignment, *lines[1:]])


PARTS: Final[Mapping[str, Callable[[Sequence[Run]], str]]] = {
    "origin": _origin,
    "rows": _rows,
    "figures": _figures,
    "protections": _protections,
}
"""The generated parts of the page, by name."""
