"""The pictures in the documents are current: the demo, and the diagrams that are drawn from text."""

import html
import re
import runpy
from collections import defaultdict
from inspect import isfunction
from pathlib import Path
from typing import Any

import pytest

from gateway_async.cli.demo import chapters
from gateway_async.sandbox.state_machines.machine import StateMachine
from gateway_async.sandbox.state_machines.paylinks import PAYLINK_MACHINE
from gateway_async.sandbox.state_machines.quick_invoices import INVOICE_MACHINE
from gateway_async.sandbox.state_machines.transaction_batches import BATCH_MACHINE
from gateway_async.sandbox.state_machines.transactions import TRANSACTION_MACHINE

from .documents import DOCUMENTS, PACKAGE, ROOT, read

PICTURE = "docs/pictures/demo.svg"
DIAGRAMS = sorted((ROOT / "docs/pictures/diagrams").glob("*.mmd"), key=str)
PEN = runpy.run_path(str(ROOT / "docs/pictures/draw_diagrams.py"))


def picture_lines() -> list[str]:
    """Return the text of the picture, line by line."""
    lines: dict[int, str] = defaultdict(str)
    for number, text in re.findall(r'#demo-line-(\d+)\)">([^<]*)</text>', read(PICTURE)):
        lines[int(number)] += html.unescape(text).replace("\xa0", " ").rstrip("\n")
    return [lines[number] for number in sorted(lines)]


def test_readme() -> None:
    """The README has the picture, which loads nothing from elsewhere."""
    assert f"]({PICTURE})" in read("README.md")
    assert re.findall(r"url\((?!#)|<script|@import", read(PICTURE)) == []


def test_picture() -> None:
    """The summary in the picture lists the chapters of the demo; `nox -s demo` draws it again."""
    lines = picture_lines()
    summary = lines[next(number for number, line in enumerate(lines) if line.startswith("Summary")) :]
    rows = [match for line in summary if (match := re.match(r" *(\d+) +(\S.*?)  ", line))]
    introductions = [each.__doc__ or "" for each in vars(chapters).values() if isfunction(each)]
    titles = {text.partition("\n")[0].rstrip(".") for text in introductions}
    assert {row[2] for row in rows} - titles == set()


@pytest.mark.parametrize("source", DIAGRAMS, ids=lambda path: path.stem)
def test_diagrams(source: Path) -> None:
    """`python docs/pictures/draw_diagrams.py` draws it again; a page shows it with its title as alt text."""
    diagram = PEN["read"](source.read_text(encoding="utf-8"))
    assert source.with_suffix(".svg").read_text(encoding="utf-8") == PEN["draw"](diagram)
    shown = f"![{diagram.title}](../pictures/diagrams/{source.stem}.svg)"
    assert [document for document in DOCUMENTS if shown in read(document)] != []


def test_a_line_outside_the_language_of_diagrams_is_refused() -> None:
    with pytest.raises(ValueError, match="loop"):
        PEN["read"]("sequenceDiagram\nloop until it works")


MACHINES = {
    "transaction": TRANSACTION_MACHINE,
    "batch": BATCH_MACHINE,
    "invoice": INVOICE_MACHINE,
    "paylink": PAYLINK_MACHINE,
}


@pytest.mark.parametrize(("name", "machine"), MACHINES.items(), ids=list(MACHINES))
def test_states(name: str, machine: StateMachine[Any, Any]) -> None:
    """The arrows are those of the sandbox's table, but for transitions that leave a state as it is."""
    source = ROOT / f"docs/pictures/diagrams/states-{name}.mmd"
    diagram = PEN["read"](source.read_text(encoding="utf-8"))
    there = [(each.before, each.after) for each in diagram.transitions]
    back = [(each.after, each.before) for each in diagram.transitions if each.both_ways]
    drawn = sorted((diagram.names[before], diagram.names[after]) for before, after in there + back)
    changes = {(str(before), str(after)) for (before, _), after in machine.transitions.items() if before != after}
    assert drawn == sorted(changes)


STYLES = {"sandbox/pages/static/site.css": r"--accent: (#\w+)", "migration/output/report.css": r"--rate: (#\w+)"}


@pytest.mark.parametrize(("style", "accent"), STYLES.items(), ids=str)
def test_accents(style: str, accent: str) -> None:
    """The sandbox's pages and the report of a migration have the two colors of the logo: light and dark."""
    logo = (PACKAGE / "sandbox/pages/static/logo.svg").read_text(encoding="utf-8")
    colors = re.findall(r"stroke: (#\w+)", logo)
    assert len(colors) == 2
    assert re.findall(accent, (PACKAGE / style).read_text(encoding="utf-8")) == colors
    assert colors[1] in read(PICTURE)
