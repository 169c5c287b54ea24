"""The sandbox's own README shows the sandbox as it is."""

import re

import pytest

from gateway_async.sandbox.readme_tables import TABLES
from gateway_async.sandbox.simulators.faults import FAULTS

from .documents import read

README = "gateway_async/sandbox/README.md"


def section(headline: str) -> str:
    """What stands below a headline."""
    return read(README).partition(f"\n## {headline}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("part", TABLES)
def test_what_is_printed_is_what_the_code_prints(part: str) -> None:
    """Between its two marks stands what comes from the tables that the sandbox decides by."""
    assert f"<!-- printed: {part} -->\n\n{TABLES[part]()}\n\n<!-- end -->" in read(README)


def test_no_mark_is_left_over() -> None:
    """Whatever is marked as printed is compared."""
    assert re.findall(r"<!-- printed: (.+?) -->", read(README)) == [*TABLES]


def test_every_fault_has_its_line() -> None:
    """In the order of the code."""
    assert tuple(re.findall(r"^\| `(\w+)` \|", section("Faults"), re.MULTILINE)) == FAULTS


def test_its_links_lead_to_headlines() -> None:
    """Each link within the document names one of its headlines."""
    headlines = {
        headline.lower().replace(" ", "-") for headline in re.findall(r"^#+ (.+)$", read(README), re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", read(README))) <= headlines
