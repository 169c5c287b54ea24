"""The tables are complete, and a field that the client lacks is noticed."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

import gateway_async
from gateway_async import ContactCreate
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.request import Request
from gateway_async.sandbox.schema import BY_PLURAL, TABLES

from . import sdk_matrix
from .field_table import Row, table
from .reading import BY_PATH
from .record_type import RecordType
from .record_types import CONTACTS, RECORD_TYPES

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


def without(kind: type, *names: str) -> type:
    """Return a model of the SDK without some of its fields."""
    hints = {name: hint for name, hint in inspect.get_annotations(kind).items() if name not in names}
    bases = tuple(base for base in kind.__mro__[1:-1])
    body = {"__annotations__": hints, "__module__": kind.__module__, "implied": getattr(kind, "implied", {})}
    body |= {name: attrs.fields_dict(kind)[name].default for name in hints if name in attrs.fields_dict(kind)}
    body = {name: value for name, value in body.items() if value is not attrs.NOTHING}
    return attrs.frozen(kw_only=True, repr=False)(type(kind.__name__, bases, body))


@pytest.mark.parametrize(
    ("kind", "check"),
    [("Contact", sdk_matrix.record_problems), ("ContactCreate", sdk_matrix.request_problems)],
)
def test_missing_field(
    kind: str, check: Callable[[RecordType, Row], Iterator[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its field in a model, only this row has a problem."""
    monkeypatch.setitem(vars(gateway_async), kind, without(getattr(gateway_async, kind), "city"))
    found = [problem for row in CONTACT.rows for problem in check(CONTACTS, row)]
    assert [problem.partition(":")[0] for problem in found] == ["contact.city"]


def test_an_amount_as_a_text_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    other = attrs.make_class("Contact", {"contact_balance": attrs.field(type=str)})
    monkeypatch.setitem(vars(gateway_async), "Contact", other)
    (problem,) = sdk_matrix.record_problems(CONTACTS, CONTACT.by_name["contact_balance"])
    assert problem.startswith("contact.contact_balance: Contact has it as")


def test_unrequired_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that the contract requires is required before sending."""

    @attrs.frozen(kw_only=True, repr=False)
    class Lax(ContactCreate):
        last_name: str | None = None  # type: ignore[assignment]  # what must not be

    monkeypatch.setitem(vars(gateway_async), "ContactCreate", Lax)
    found = list(sdk_matrix.required_problems(CONTACTS, CONTACTS.create_modes[0]))
    assert found == ["contact.last_name: Lax does not miss it"]


def test_a_field_of_no_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    more = attrs.make_class(
        "Contact", {"shoe_size": attrs.field(default=None)}, bases=(gateway_async.Contact,), kw_only=True
    )
    monkeypatch.setitem(vars(gateway_async), "Contact", more)
    record_type: RecordType = attrs.evolve(CONTACTS, create_modes=(), update="")
    assert list(sdk_matrix.extra_field_problems(record_type)) == ["Contact.shoe_size: is in no table"]
