"""The pages about the sandbox agree with its code."""

import re

import pytest

from .documents import DOCUMENTS, read
from .sandbox_tables import TABLES

TEXT = "\n".join(read(page) for page in DOCUMENTS if page.startswith("docs/sandbox/"))


@pytest.mark.parametrize("part", TABLES)
def test_tables(part: str) -> None:
    """The text between two marks is the table that the sandbox's code has."""
    assert f"<!-- printed: {part} -->\n\n{TABLES[part]()}\n\n<!-- end -->" in TEXT


def test_every_mark_is_known() -> None:
    assert sorted(re.findall(r"<!-- printed: (.+?) -->", TEXT)) == sorted(TABLES)
