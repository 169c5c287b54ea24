"""The tables in the README of the tests are current."""

from tests.contract.endpoints import CREDENTIALS, print_out_of_scope

from .documents import read

README = "tests/README.md"


def test_the_endpoints_without_tests_are_listed() -> None:
    assert f"\n{print_out_of_scope()}\n" in read(README)


def test_the_credentials_are_explained() -> None:
    assert [kind for kind in CREDENTIALS if f"`{kind}`:" not in read(README)] == []
