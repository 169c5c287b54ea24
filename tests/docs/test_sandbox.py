"""The sandbox's README agrees with its code."""

import re

import pytest

from gateway_async.sandbox.simulators.faults import FAULTS

from .documents import read
from .sandbox_tables import TABLES

README = "gateway_async/sandbox/README.md"


def section(headline: str) -> str:
    """Return the text below a headline."""
    return read(README).partition(f"\n## {headline}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("part", TABLES)
def test_what_is_printed_is_what_the_code_prints(part: str) -> None:
    """The text between two marks is the table that the sandbox's code has."""
    assert f"<!-- printed: {part} -->\n\n{TABLES[part]()}\n\n<!-- end -->" in read(README)


def test_every_mark_is_known() -> None:
    """Each mark has a table, and each table a mark."""
    assert re.findall(r"<!-- printed: (.+?) -->", read(README)) == [*TABLES]


def test_every_fault_has_its_line() -> None:
    """The table of faults has every fault, in the order of the code."""
    assert tuple(re.findall(r"^\| `(\w+)` \|", section("Faults"), re.MULTILINE)) == FAULTS
