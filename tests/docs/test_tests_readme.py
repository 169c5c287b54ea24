"""The tables in the README of the tests are current."""

import re

from tests.contract.endpoints import CREDENTIALS, ENDPOINTS, print_out_of_scope, print_table
from tests.contract.test_endpoints import REFUSED, WORKS

from .documents import read

README = "tests/README.md"


def test_the_table_is_current() -> None:
    """The endpoints without tests are those of the contract tests."""
    assert f"\n{print_out_of_scope()}\n" in read(README)


def test_every_cell_is_a_test() -> None:
    """Each cell names a test that is collected, and no cell is empty."""
    cells = re.findall(r"(works|refused)\[([\w.-]+)\]", print_table())
    collected = [("works", case.id) for case in WORKS] + [("refused", case.id) for case in REFUSED]
    assert sorted(cells) == sorted(collected)
    assert len(cells) == len(ENDPOINTS) * len(CREDENTIALS)


def test_the_credentials_are_explained() -> None:
    """Each kind of credentials is explained."""
    assert [kind for kind in CREDENTIALS if f"`{kind}`:" not in read(README)] == []
