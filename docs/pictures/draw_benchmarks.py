"""Draw benchmarks.svg from the results of `python benchmarks/run.py`: the goals, and the CPU time of a call."""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

PICTURE: Final = Path(__file__).with_name("benchmarks.svg")
RESULTS: Final = (
    Path(__file__).parents[2] / "benchmarks" / "results" / "benchmarks.json"
)

WIDTH: Final = 880
LEFT: Final = 350
RIGHT: Final = 700
LINE: Final = 20
HEADLINE: Final = 44
"""Lengths in the units of the SVG. Names are left of the bars, and figures right of them."""

STYLE: Final = """\
text { font: 12px system-ui, sans-serif; fill: #24292f } .headline { font-weight: 600; font-size: 14px }
.background { fill: #ffffff; stroke: #d0d7de } .met, .ours { fill: #2da44e } .missed { fill: #cf222e }
.theirs { fill: #8c959f } .goal { stroke: #24292f; stroke-dasharray: 3 2 } .spread { stroke: #57606a }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .background { fill: #0d1117; stroke: #30363d } .goal, .spread { stroke: #e6edf3 } }
"""

GOAL_AT: Final = 1
SCALE_ENDS: Final = 1.6
"""The scale of the goals: 1 is the goal, less is better."""


class Bar(NamedTuple):
    """One bar: its name, CSS class, length, spread and figure."""

    name: str
    kind: str
    length: float
    figure: str
    spread: tuple[float, float] | None = None


def goal_bars(rows: list[dict[str, Any]]) -> Iterator[Bar]:
    """Yield one bar for each goal; its length is the share of the goal that is used up."""
    for row in rows:
        if not row["goal"]:
            continue
        value, bound, at_least = (
            row["ratio"] or row["ours"],
            row["goal"]["bound"],
            row["goal"]["at_least"],
        )
        ends = [
            bound / each if at_least else each / bound
            for each in (value["lowest"], value["highest"])
        ]
        middle = bound / value["median"] if at_least else value["median"] / bound
        name = (
            f"{row['subject']}, beside {row['peer']}" if row["peer"] else row["subject"]
        )
        unit = "" if row["ratio"] else f" {row['unit']}"
        figure = f"{value['median']:.2f}{unit} (goal {row['goal_text']})"
        yield Bar(name, row["verdict"].lower(), middle, figure, (min(ends), max(ends)))


def call_bars(rows: list[dict[str, Any]], subject: str) -> Iterator[Bar]:
    """Yield a bar for each client, the shortest first."""
    some = [row for row in rows if row["subject"] == subject]
    if not some:
        return
    ours = Bar("gateway_async", "ours", some[0]["ours"]["median"], "")
    peers = (Bar(row["peer"], "theirs", row["theirs"]["median"], "") for row in some)
    for bar in sorted((ours, *peers), key=lambda bar: bar.length):
        yield bar._replace(figure=f"{bar.length:.3f} ms")


def panel(
    headline: str,
    bars: list[Bar],
    top: int,
    scale_ends: float,
    goal: float | None = None,
) -> Iterator[str]:
    """Draw a headline and its bars."""
    yield f'<text class="headline" x="16" y="{top + 26}">{html.escape(headline)}</text>'
    unit = (RIGHT - LEFT) / scale_ends
    top += HEADLINE
    for number, bar in enumerate(bars):
        y = top + number * LINE
        width = min(bar.length, scale_ends) * unit
        yield f'<text x="{LEFT - 10}" y="{y + 9}" text-anchor="end">{html.escape(bar.name)}</text>'
        yield f'<rect class="{bar.kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="11" rx="2"/>'
        if bar.spread:
            low, high = (LEFT + min(each, scale_ends) * unit for each in bar.spread)
            yield f'<path class="spread" d="M{low:.1f} {y + 5.5}H{high:.1f}"/>'
        yield f'<text x="{RIGHT + 10}" y="{y + 9}">{html.escape(bar.figure)}</text>'
    if goal is not None:
        x = LEFT + goal * unit
        yield f'<path class="goal" d="M{x:.1f} {top - 6}V{top + len(bars) * LINE - 4}"/>'


def draw(rows: list[dict[str, Any]]) -> str:
    """Draw all panels."""
    shapes: list[str] = []
    top = 0
    for method in ("GET", "POST"):
        if bars := list(call_bars(rows, f"{method}, 50 at once")):
            shapes += panel(
                f"CPU time of a {method}, 50 calls at once", bars, top, bars[-1].length
            )
            top += HEADLINE + len(bars) * LINE
    bars = list(goal_bars(rows))
    shapes += panel(
        "Goals: left of the dashed line is better", bars, top, SCALE_ENDS, GOAL_AT
    )
    height = top + HEADLINE + len(bars) * LINE + 12
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>Benchmarks of gateway_async</title><style>{STYLE}</style>",
            f'<rect class="background" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>',
            *shapes,
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    PICTURE.write_text(
        draw(json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]), encoding="utf-8"
    )
