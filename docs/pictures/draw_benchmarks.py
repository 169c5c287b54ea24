"""Draw benchmarks.svg and benchmark-goals.svg from the tables of docs/why/benchmarks.md.

The first picture has what most readers want to know: a call, a page and 5,000 terminals, beside other libraries. The
second has the goals, and beside each that is missed, what the time is spent on.
"""

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).parent
PAGE: Final = FOLDER.parent / "why" / "benchmarks.md"
LOGO: Final = FOLDER.parents[1] / "gateway_async/sandbox/pages/static/logo.svg"
ACCENTS: Final = re.findall(r"stroke: (#\w+)", LOGO.read_text(encoding="utf-8"))
"""The colors of the logo, on light and on dark."""

WIDTH: Final = 480
EDGE: Final = 16
LEFT: Final = 134
RIGHT: Final = 384
LINE: Final = 20
HEADLINE: Final = 44
GOAL_END: Final = 300
GOAL_LINES: Final = 40
TEXT_LINE: Final = 15
"""Lengths in the units of the SVG, which are nearly pixels on a phone."""

STYLE: Final = """\
text { font: 12px system-ui, sans-serif; fill: #24292f } .headline { font-weight: 600; font-size: 14px }
.background { fill: #ffffff; stroke: #d0d7de } .ours, .met { fill: LIGHT } .theirs { fill: #8c959f }
.missed { fill: none; stroke: LIGHT; stroke-width: 1.5 } .goal { stroke: #24292f; stroke-width: 2 }
.note { fill: #57606a } .spread { stroke: #57606a }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .background { fill: #0d1117; stroke: #30363d } .ours, .met { fill: DARK } .note { fill: #9aa4af }
.missed { stroke: DARK } .goal { stroke: #e6edf3 } .spread { stroke: #9aa4af } }
""".replace("LIGHT", ACCENTS[0]).replace("DARK", ACCENTS[1])

SCALE_ENDS: Final = 1.8
"""The scale of the goals: 1 is the goal, less is better."""

REASONS: Final = {
    ("GET, 2000 at once", "50 at once"): "1,900 calls wait for a connection",
    (
        "POST, 50 at once",
        "bare protocol",
    ): "it checks nothing, and returns a dictionary",
    (
        "POST, 50 at once",
        "aiohttp",
    ): "fields are checked and masked, and the response is compared",
    ("instructions of a GET", "aiohttp"): "a checked model instead of a dictionary",
    (
        "instructions of a POST",
        "aiohttp",
    ): "fields are checked and masked, and a lookup is prepared",
    (
        "page of transactions",
        "orjson",
    ): "parsing is faster; amounts, times and unknown fields are added",
    ("page of transactions", "pydantic"): "unknown fields are kept",
    ("page of accountvaults", "orjson"): "as for transactions",
    ("page of accountvaults", "pydantic"): "as for transactions",
    (
        "first GET of a process",
        "httpx",
    ): "all models are loaded before the first call",
}
"""What a missed goal is spent on, by subject and peer; `Where the limits are` says more."""


class Row(NamedTuple):
    """A line of the table of comparisons."""

    subject: str
    unit: str
    ours: float
    peer: str
    theirs: float | None
    ratio: float | None
    lowest: float
    highest: float
    goal: str
    verdict: str


class Bar(NamedTuple):
    """One bar: its name, CSS class, length and figure."""

    name: str
    kind: str
    length: float
    figure: str


def read_tables(page: str) -> tuple[dict[str, dict[str, float]], list[Row]]:
    """Read the CPU time of each call by client, and the comparisons."""
    parts = dict(
        re.findall(r"<!-- printed: (\w+) -->\n\n(.*?)\n\n<!-- end", page, re.DOTALL)
    )
    (_, *clients), _, *calls = map(_cells, parts["calls"].splitlines())
    times = {
        subject: dict(zip(clients, map(float, figures), strict=True))
        for subject, *figures in calls
    }
    return times, [
        _row(*cells) for cells in map(_cells, parts["comparisons"].splitlines()[2:])
    ]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split("|")]


def _row(
    subject: str,
    unit: str,
    ours: str,
    peer: str,
    theirs: str,
    ratio: str,
    spread: str,
    goal: str,
) -> Row:
    lowest, highest = spread.split(" to ")
    bound, _, verdict = goal.partition(": ")
    return Row(
        subject,
        unit,
        _number(ours),
        peer.strip("–"),
        None if theirs == "–" else _number(theirs),
        None if ratio == "–" else float(ratio),
        _number(lowest),
        _number(highest),
        bound.strip("–"),
        verdict,
    )


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def call_bars(times: dict[str, float]) -> list[Bar]:
    """Return a bar for each client, the fastest first."""
    some = {name: time for name, time in times.items() if name != "bare protocol"}
    return _bars(some, "ms")


def peer_bars(rows: Iterable[Row], subject: str) -> list[Bar]:
    """Return a bar for this package and one for each peer that was measured beside it."""
    some = [row for row in rows if row.subject == subject]
    times = {"gateway_async": some[0].ours} | {
        row.peer: row.theirs for row in some if row.theirs
    }
    return _bars(times, some[0].unit)


def _bars(times: dict[str, float], unit: str) -> list[Bar]:
    return [
        Bar(
            name,
            "ours" if name == "gateway_async" else "theirs",
            time,
            f"{time:.3g} {unit}",
        )
        for name, time in sorted(times.items(), key=lambda each: each[1])
    ]


def panel(headline: str, bars: list[Bar], top: int) -> Iterator[str]:
    """Draw a headline and its bars; the longest fills the room."""
    yield f'<text class="headline" x="{EDGE}" y="{top + 26}">{html.escape(headline)}</text>'
    unit = (RIGHT - LEFT) / max(bar.length for bar in bars)
    for number, bar in enumerate(bars):
        y = top + HEADLINE + number * LINE
        yield f'<text x="{LEFT - 10}" y="{y + 9}" text-anchor="end">{html.escape(bar.name)}</text>'
        width = max(bar.length * unit, 1)
        yield f'<rect class="{bar.kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="11" rx="2"/>'
        yield f'<text x="{LEFT + width + 8:.1f}" y="{y + 9}">{html.escape(bar.figure)}</text>'


def draw(page: str) -> str:
    """Draw what most readers want to know."""
    times, rows = read_tables(page)
    shapes: list[str] = []
    top = 0
    for headline, bars in (
        ("CPU time of a read, 50 at once", call_bars(times["GET, 50 at once"])),
        ("CPU time of a payment, 50 at once", call_bars(times["POST, 50 at once"])),
        (
            "CPU time of a page of 5,000 transactions",
            peer_bars(rows, "page of transactions"),
        ),
        (
            "Memory of each of 5,000 waiting terminals",
            peer_bars(rows, "5000 terminals: memory of each"),
        ),
        (
            "Delay of the event loop when 5,000 terminals respond",
            peer_bars(rows, "5000 terminals: loop delay, draining"),
        ),
    ):
        shapes += panel(headline, bars, top)
        top += HEADLINE + len(bars) * LINE
    return _svg(
        "A call, a page and 5,000 terminals, beside other libraries", top + 12, shapes
    )


def draw_goals(page: str) -> str:
    """Draw each goal as a line, what was measured as a bar, and why a goal is missed below its bar."""
    _, rows = read_tables(page)
    unit = (GOAL_END - EDGE) / SCALE_ENDS
    shapes = [
        f'<text class="headline" x="{EDGE}" y="26">Goals: a filled bar ends left of its goal</text>'
    ]
    y = HEADLINE
    for row in (row for row in rows if row.goal):
        value = row.ratio or row.ours
        bound, at_least = float(row.goal[2:]), row.goal.startswith("≥")
        ends = [
            EDGE + unit * min(bound / each if at_least else each / bound, SCALE_ENDS)
            for each in (value, row.lowest, row.highest)
        ]
        name = f"{row.subject}, beside {row.peer}" if row.peer else row.subject
        figure = f"{value:.3g}{'' if row.ratio else f' {row.unit}'}, goal {row.goal}"
        shapes += [
            f'<text x="{EDGE}" y="{y + 9}">{html.escape(name)}</text>',
            f'<rect class="{row.verdict}" x="{EDGE}" y="{y + 14}" width="{ends[0] - EDGE:.1f}" height="11" rx="2"/>',
            f'<path class="spread" d="M{min(ends[1:]):.1f} {y + 19.5}H{max(ends[1:]):.1f}"/>',
            f'<path class="goal" d="M{EDGE + unit:.1f} {y + 12}V{y + 27}"/>',
            f'<text x="{GOAL_END + 10}" y="{y + 24}">{html.escape(figure)}</text>',
        ]
        y += GOAL_LINES
        if row.verdict == "missed":
            shapes.append(
                f'<text class="note" x="{EDGE}" y="{y}">{html.escape(REASONS[row.subject, row.peer])}</text>'
            )
            y += TEXT_LINE
    return _svg("The goals, and what each missed one is spent on", y + 8, shapes)


def _svg(title: str, height: float, shapes: list[str]) -> str:
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" role="img">',
            f"<title>{title}</title><style>{STYLE}</style>",
            f'<rect class="background" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="6"/>',
            *shapes,
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for name, picture in (
        ("benchmarks", draw(text)),
        ("benchmark-goals", draw_goals(text)),
    ):
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")
