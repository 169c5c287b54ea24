"""The tables are complete, and the client offers what they name."""

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.request import Request
from gateway_async.sandbox.schema import BY_PLURAL, TABLES

from .field_table import Row, table
from .reading import BY_PATH
from .record_types import RECORD_TYPES

CONTACT = table("contacts")


def test_count() -> None:
    """Each data file has as many fields of the contract's own table as were counted there."""
    written = {name: sum(fact.contract != "none" for fact in each.facts) for name, each in TABLES.items()}
    counted = {name: each.contract_fields for name, each in TABLES.items() if each.contract_fields}
    assert counted == {name: written[name] for name in counted}


def test_completeness() -> None:
    """Each table of the contract has its record type, and so each row has a test."""
    tried = {record_type.table for record_type in RECORD_TYPES}
    assert tried == {table(name) for name, each in TABLES.items() if each.contract_fields}
    assert all(each.path or each.record or each.table.name == "changelog" for each in RECORD_TYPES)


def test_lengths() -> None:
    """Client and sandbox take every value that the contract documents, but for ids, of which any length is taken."""
    rows = {row: attrs.evolve(row, length=fact.contract) for row, fact in _texts()}
    assert [str(row) for row, documented in rows.items() if not _includes(row, documented)] == []


def _texts() -> Iterator[tuple[Row, Any]]:
    for name in TABLES:
        rows = table(name).by_name
        for fact in TABLES[name].facts:
            if fact.name in rows and fact.contract[0].isdigit() and fact.kind not in ("id", "own-id", "money"):
                yield rows[fact.name], fact


def _includes(row: Row, documented: Row) -> bool:
    (shortest, longest), (low, high) = row.bounds or (0, 0), documented.bounds or (0, 0)
    return longest >= high and shortest <= max(low, 1)


WRITES: dict[str, tuple[str, str, tuple[type[Request], ...]]] = {
    f"{method} {spec.path}": (method, spec.plural, kinds)
    for spec in BY_PATH.values()
    if isinstance(spec, ResourceSpec)
    for method, kinds in (("POST", spec.creates), ("PUT", spec.updates))
    if kinds
}


@pytest.mark.parametrize(("method", "plural", "kinds"), WRITES.values(), ids=WRITES)
def test_request_fields(method: str, plural: str, kinds: tuple[type[Request], ...]) -> None:
    """The requests of a resource have the fields that its POST or PUT takes, and no others."""
    offered = {name for kind in kinds for name in (*attrs.fields_dict(kind), *kind.implied)} - {"extra"}
    assert offered == {field.name for field in BY_PLURAL[plural].fields if method in field.settable}
