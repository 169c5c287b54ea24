"""Draw the diagrams of sequences and states in diagrams/ as SVG, each beside its source.

The sources are a part of Mermaid's language: participants, messages and notes. `->>` is a request, `-->>` a response,
and `--x` a response that is lost. A note that begins with ✕ is a failure. In a diagram of states,
comments place them: each `%%` is a row, and `.` an empty place. `<-->` goes both ways.
"""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise, product
from pathlib import Path
from textwrap import wrap
from typing import Final, NamedTuple

FOLDER: Final = Path(__file__).with_name("diagrams")

WIDTH: Final = 360
SHOWN_WIDTH: Final = 440
"""The units of the SVG, and the pixels that they take on a wide screen. On a phone, a unit is nearly a pixel."""

EDGE: Final = 6
LINE: Final = 15
CHARACTER: Final = 6.8
"""The height of a line of text and the width of a character, in units of the SVG. Most fonts are narrower."""

ROW: Final = 100
BOX: Final = 84 + 52j
"""The height of a row of states, and the size of a state: width and height."""

TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    '<path class="tip" d="M0 0l8 4-8 4z"/></marker>'
)
MIN_LABEL: Final = 124
HEAD: Final = 42
_LOGO: Final = FOLDER.parents[2] / "gateway_async/sandbox/pages/static/logo.svg"
ACCENTS: Final = re.findall(r"stroke: (#\w+)", _LOGO.read_text(encoding="utf-8"))
"""The colors of the logo, on light and on dark."""

STYLE: Final = """\
text { font: 12px system-ui, sans-serif; fill: #24292f; text-anchor: middle }
.head { font-weight: 600 } .label { stroke: #ffffff; stroke-width: 4px; paint-order: stroke; stroke-linejoin: round }
.background { fill: #ffffff; stroke: #d0d7de } .life { stroke: #afb8c1; stroke-dasharray: 2 3 }
.message, .response, .lost { stroke: #24292f; stroke-width: 1.3; fill: none } .response, .lost { stroke-dasharray: 5 3 }
.tip { fill: #24292f } .participant { fill: #e6f4f1; stroke: LIGHT } .note { fill: #f6f8fa; stroke: #d0d7de }
.failure { fill: #ffebe9; stroke: #cf222e } .lost { stroke: #cf222e } .cross { stroke: #cf222e; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .label { stroke: #131416 } .background { fill: #131416; stroke: #30363d }
.life { stroke: #57606a } .message, .response { stroke: #e6edf3 } .tip { fill: #e6edf3 }
.participant { fill: #10312d; stroke: DARK } .note { fill: #21262d; stroke: #444c56 }
.failure { fill: #3c1618; stroke: #ff7b72 } .lost, .cross { stroke: #ff7b72 } }
""".replace("LIGHT", ACCENTS[0]).replace("DARK", ACCENTS[1])

_STATE: Final = re.compile(r'state "(.+)" as (\w+)')
_TRANSITION: Final = re.compile(r"(\w+) (<?)--> (\w+)(?:: (.+))?")
_PARTICIPANT: Final = re.compile(r"participant (\w+)(?: as (.+))?")
_NOTE: Final = re.compile(r"Note over (\w+)(?:,(\w+))?: (.+)")
_MESSAGE: Final = re.compile(r"(\w+)(->>|-->>|--x)(\w+): (.+)")


class Message(NamedTuple):
    """An arrow from one participant to another."""

    sender: str
    arrow: str
    receiver: str
    text: str


class Note(NamedTuple):
    """A text in a box, over the participants from the first to the last."""

    first: str
    last: str
    text: str


class Diagram(NamedTuple):
    """The content of a source: title, participants, and what happens between them."""

    title: str
    participants: dict[str, str]
    steps: list[Message | Note]


class Transition(NamedTuple):
    """An arrow from one state to another, or both ways; its text may be empty."""

    before: str
    after: str
    text: str
    both_ways: bool


Curve = tuple[complex, complex, complex]
"""The start, the control point and the end of an arrow."""


class StateDiagram(NamedTuple):
    """The content of a source about states: title, the rows of states, their names, and transitions."""

    title: str
    rows: list[list[str]]
    names: dict[str, str]
    transitions: list[Transition]


def read(source: str) -> Diagram | StateDiagram:
    """Read a source; a line that is not in its language raises `ValueError`."""
    is_states = source.startswith("stateDiagram")
    return _read_states(source) if is_states else _read_sequence(source)


def _read_states(source: str) -> StateDiagram:
    title, rows, names = "", list[list[str]](), dict[str, str]()
    transitions = list[Transition]()
    for line in map(str.strip, source.splitlines()[1:]):
        if line.startswith("accTitle: "):
            title = line.removeprefix("accTitle: ")
        elif line.startswith("%% "):
            rows.append(line.split()[1:])
        elif found := _STATE.fullmatch(line):
            names[found[2]] = found[1]
        elif found := _TRANSITION.fullmatch(line):
            before, both_ways, after, text = found.groups("")
            transitions.append(Transition(before, after, text, bool(both_ways)))
        elif line:
            msg = f"not a row, a state or a transition: {line!r}"
            raise ValueError(msg)
    return StateDiagram(title, rows, names, transitions)


def _read_sequence(source: str) -> Diagram:
    title, participants, steps = "", dict[str, str](), list[Message | Note]()
    for line in map(str.strip, source.splitlines()[1:]):
        if line.startswith("accTitle: "):
            title = line.removeprefix("accTitle: ")
        elif found := _PARTICIPANT.fullmatch(line):
            participants[found[1]] = found[2] or found[1]
        elif found := _NOTE.fullmatch(line):
            steps.append(Note(found[1], found[2] or found[1], found[3]))
        elif found := _MESSAGE.fullmatch(line):
            steps.append(Message(*found.groups()))
        elif line:
            msg = f"not a participant, a note or a message: {line!r}"
            raise ValueError(msg)
    return Diagram(title, participants, steps)


def draw(diagram: Diagram | StateDiagram) -> str:
    """Draw a diagram as SVG."""
    if isinstance(diagram, StateDiagram):
        return _draw_states(diagram)
    return _draw_sequence(diagram)


def _draw_states(diagram: StateDiagram) -> str:
    pitch = (WIDTH - 2 * EDGE) / max(map(len, diagram.rows))
    centers = {
        state: complex(EDGE + pitch * (column + 0.5), EDGE + ROW * (row + 0.5))
        for row, states in enumerate(diagram.rows)
        for column, state in enumerate(states)
        if state != "."
    }
    arrows = diagram.transitions
    boxes = centers.values()
    curves = {each: _curve(each, centers, arrows) for each in arrows}
    shapes, labels = [TIP], list[str]()
    for arrow, (first, control, last) in curves.items():
        tips = 'marker-end="url(#tip)"'
        if arrow.both_ways:
            tips += ' marker-start="url(#tip)"'
        path = f"M{_at(first)}Q{_at(control)} {_at(last)}"
        shapes.append(f'<path class="message" {tips} d="{path}"/>')
        if arrow.text:
            room = abs((last - first).real) if first.imag == last.imag else 0
            lines = wrap(arrow.text, max(10, int(room / CHARACTER)))
            middle = _label_place(lines, curves[arrow], curves.values(), boxes)
            labels += _text(lines, middle.real, middle.imag - len(lines) * LINE / 2, "")
    for state, center in centers.items():
        lines = wrap(diagram.names[state], int(BOX.real / CHARACTER) - 1)
        corner = center - BOX / 2
        place = f'x="{corner.real:g}" y="{corner.imag:g}"'
        size = f'width="{BOX.real:g}" height="{BOX.imag:g}"'
        shapes.append(f'<rect class="participant" {place} {size} rx="5"/>')
        labels += _text(lines, center.real, center.imag - len(lines) * LINE / 2, "")
    return _svg(diagram.title, 2 * EDGE + ROW * len(diagram.rows), [*shapes, *labels])


def _curve(
    arrow: Transition, centers: dict[str, complex], arrows: list[Transition]
) -> Curve:
    """Return the curve of an arrow, which is bent where a straight one would pass a state or lie on its opposite."""
    start, end = centers[arrow.before], centers[arrow.after]
    ends = [(each.before, each.after) for each in arrows]
    bend = 24.0 if (arrow.after, arrow.before) in ends else 0.0
    if any(_is_near(center, start, end) for center in centers.values()):
        bend = 75.0
    control = (start + end) / 2 + 2j * bend * (end - start) / abs(end - start)
    return _leave(start, control), control, _leave(end, control)


def _label_place(
    lines: list[str], curve: Curve, curves: Iterable[Curve], boxes: Iterable[complex]
) -> complex:
    """Return the center of a text beside an arrow, where it touches no arrow, no state and no edge."""
    size = complex(max(map(len, lines)) * CHARACTER, len(lines) * LINE)
    crossed = [_point(each, step / 40) for each in curves for step in range(41)]
    for share, side in product((0.5, 0.4, 0.6, 0.3, 0.7), (-1j, 1j)):
        way = _point(curve, share + 0.01) - _point(curve, share - 0.01)
        normal = side * way / abs(way)
        reach = (abs(normal.real) * size.real + abs(normal.imag) * size.imag) / 2
        place = _point(curve, share) + normal * (reach + 4)
        if (
            abs(place.real - WIDTH / 2) <= (WIDTH - EDGE - size.real) / 2
            and not any(_overlaps(place - point, size) for point in crossed)
            and not any(_overlaps(place - box, size + BOX) for box in boxes)
        ):
            return place
    msg = f"no place for a label (expected: a shorter text): {' '.join(lines)}"
    raise ValueError(msg)


def _overlaps(distance: complex, size: complex) -> bool:
    return abs(distance.real) < size.real / 2 and abs(distance.imag) < size.imag / 2


def _point(curve: Curve, share: float) -> complex:
    """Return the point of a quadratic Bezier curve after a share of its way."""
    first, control, last = curve
    return (
        first * (1 - share) ** 2 + 2 * control * (1 - share) * share + last * share**2
    )


def _is_near(point: complex, start: complex, end: complex) -> bool:
    """Return whether a straight line passes the box around a point."""
    along = (point - start) / (end - start)
    return 0 < along.real < 1 and abs(along.imag) * abs(end - start) < BOX.imag / 2


def _leave(center: complex, target: complex) -> complex:
    """Return where the line from a box's center to a target leaves the box."""
    way = target - center
    share = min(
        (size / 2 + 2) / abs(length) if length else 1.0
        for size, length in ((BOX.real, way.real), (BOX.imag, way.imag))
    )
    return center + way * share


def _at(point: complex) -> str:
    return f"{point.real:.1f} {point.imag:.1f}"


def _draw_sequence(diagram: Diagram) -> str:
    columns = _columns(list(diagram.participants))
    steps: list[str] = []
    y = HEAD + 18.0
    for step in diagram.steps:
        if isinstance(step, Note):
            shapes, taken = _note(step, columns, y)
        else:
            shapes, taken = _message(step, columns, y)
        steps += shapes
        y += taken
    heads = [
        shape
        for name, text in diagram.participants.items()
        for shape in _participant(text, columns[name], _pitch(columns), y)
    ]
    return _svg(diagram.title, y + EDGE, [*heads, *steps])


def _svg(title: str, height: float, shapes: list[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{SHOWN_WIDTH}"'
    lines = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>',
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="background" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:g}" rx="6"/>',
        *shapes,
        "</svg>\n",
    )
    return "\n".join(lines)


def _columns(names: list[str]) -> dict[str, float]:
    """Return the middle of each participant's column."""
    pitch = (WIDTH - 2 * EDGE) / len(names)
    return {name: EDGE + pitch * (place + 0.5) for place, name in enumerate(names)}


def _pitch(columns: dict[str, float]) -> float:
    first, second = next(pairwise(columns.values()))
    return second - first


def _participant(text: str, x: float, pitch: float, bottom: float) -> Iterator[str]:
    width = pitch - 8
    yield f'<path class="life" d="M{x:g} {HEAD}V{bottom:g}"/>'
    top, height = EDGE + 2, HEAD - EDGE - 2
    yield f'<rect class="participant" x="{x - width / 2:g}" y="{top}" width="{width:g}" height="{height}" rx="5"/>'
    lines = wrap(text, int(width / CHARACTER), break_long_words=False)
    yield from _text(lines, x, (HEAD + EDGE + 2) / 2 - len(lines) * LINE / 2, "head")


def _note(note: Note, columns: dict[str, float], y: float) -> tuple[list[str], float]:
    left, right = columns[note.first], columns[note.last]
    width = max(right - left + _pitch(columns) - 12, MIN_LABEL)
    middle = (left + right) / 2
    middle = min(max(middle, EDGE + width / 2), WIDTH - EDGE - width / 2)
    lines = wrap(note.text, int((width - 8) / CHARACTER))
    height = len(lines) * LINE + 8
    kind = "failure" if note.text.startswith("✕") else "note"
    box = f'<rect class="{kind}" x="{middle - width / 2:g}" y="{y - 8:g}" width="{width:g}" height="{height}" rx="4"/>'
    return [box, *_text(lines, middle, y - 4, "")], height + 12


def _message(
    message: Message, columns: dict[str, float], y: float
) -> tuple[list[str], float]:
    start, end = columns[message.sender], columns[message.receiver]
    lines = wrap(message.text, int(max(abs(end - start) - 12, MIN_LABEL) / CHARACTER))
    half = max(map(len, lines)) * CHARACTER / 2
    middle = min(max((start + end) / 2, EDGE + half), WIDTH - EDGE - half)
    shapes = list(_text(lines, middle, y - 10, "label"))
    y += len(lines) * LINE - 4
    way = 1 if end > start else -1
    if message.arrow == "--x":
        x = start + (end - start) * 0.55
        shapes += [
            f'<path class="lost" d="M{start:g} {y:g}H{x:g}"/>',
            f'<path class="cross" d="M{x - 5:g} {y - 5:g}l10 10m0 -10l-10 10"/>',
        ]
    else:
        kind = "message" if message.arrow == "->>" else "response"
        shapes += [
            f'<path class="{kind}" d="M{start:g} {y:g}H{end - 6 * way:g}"/>',
            f'<path class="tip" d="M{end:g} {y:g}l{-8 * way} -4v8z"/>',
        ]
    return shapes, len(lines) * LINE + 16


def _text(lines: list[str], x: float, top: float, kind: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        named = f' class="{kind}"' if kind else ""
        yield f'<text{named} x="{x:g}" y="{top + number * LINE - 3:g}">{html.escape(line)}</text>'


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.mmd")):
        drawn = draw(read(path.read_text(encoding="utf-8")))
        path.with_suffix(".svg").write_text(drawn, encoding="utf-8")
