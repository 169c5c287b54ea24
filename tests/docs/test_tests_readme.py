"""The tables in the README of the tests are current."""

import re

from tests.contract.endpoints import CREDENTIALS, ENDPOINTS, print_out_of_scope, print_table
from tests.contract.test_endpoints import REFUSED, WORKS

from .documents import read

README = "tests/README.md"


def test_the_tables_are_those_that_are_tested() -> None:
    """The printed tables are up to date."""
    assert f"\n{print_table()}\n" in read(README)
    assert f"\n{print_out_of_scope()}\n" in read(README)


def test_every_cell_is_a_test() -> None:
    """Each cell names a test that is collected, and no cell is empty."""
    cells = re.findall(r"(works|refused)\[([\w.-]+)\]", print_table())
    collected = [("works", case.id) for case in WORKS] + [("refused", case.id) for case in REFUSED]
    assert sorted(cells) == sorted(collected)
    assert len(cells) == len(ENDPOINTS) * len(CREDENTIALS)


def test_the_credentials_are_explained() -> None:
    """Each column of the table is explained."""
    explained = read(README).partition("| endpoint |")[0]
    assert [kind for kind in CREDENTIALS if f"`{kind}`:" not in explained] == []
