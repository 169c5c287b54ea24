"""The rows are all there, each is tried, and a field that one side lacks does not go unnoticed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

import gateway_async
from gateway_async import ContactCreate
from gateway_async.sandbox import schema as tables

from . import sdk_matrix
from .families import CONTACTS, FAMILIES
from .field_table import Row, Table
from .raw_client import Desk
from .record_type import Family
from .rows import CONTACT, TABLES
from .sandbox_matrix import answer_problems, fixed_problems, settable_problems


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_row_is_lost(table: Table) -> None:
    """Each table has as many rows as were counted in the contract, and no field twice."""
    assert table.counted == len(table.contract_rows)
    assert len(table.by_name) == len(table.rows)


def test_every_row_is_tried() -> None:
    """Each table has its family, and so each of its rows a test on both sides."""
    assert [family.table for family in FAMILIES] == list(TABLES)
    assert all(family.path or family.record or family.table.name == "changelog" for family in FAMILIES)


@pytest.mark.parametrize("row", [row for table in TABLES for row in table.rows], ids=str)
def test_a_row_makes_sense(row: Row) -> None:
    """What is required can be set, and nothing is taken that is narrower than the contract's length."""
    assert row.post in ("required", "yes", "no")
    assert row.put in ("yes", "no")
    assert row.answer in ("yes", "no", "null", "-")
    if row.contract[0].isdigit() and row.bounds and row.type not in ("id", "own-id"):
        shortest, longest = attrs.evolve(row, taken="-").bounds or (0, 0)
        assert row.bounds[1] >= longest
        assert row.bounds[0] <= max(shortest, 1)


def test_the_sandbox_has_no_field_of_its_own() -> None:
    """Whatever a request may set stands in a table of the contract, or beside one."""
    own = {
        f"{table.name}.{field.name}"
        for table in (family.table for family in FAMILIES if family.path)
        for its in vars(tables).values()
        if getattr(its, "singular", "") == table.name
        for field in its.fields
        if field.settable and field.name not in table.by_name
    }
    assert own <= {"quickinvoice.transaction_id"}  # the body of addTransaction and removeTransaction


@contextmanager
def contacts_with(**changes: Any) -> Iterator[None]:
    """The sandbox's table of contacts as it would be with some fields changed, or, by None, without them."""
    kept = [field for field in tables.CONTACT.fields if changes.get(field.name, ()) is not None]
    fields = tuple(attrs.evolve(field, **changes.get(field.name, {})) for field in kept)
    table, before = vars(attrs.evolve(tables.CONTACT, fields=fields)), dict(vars(tables.CONTACT))
    vars(tables.CONTACT).clear()
    vars(tables.CONTACT).update(table)
    yield
    vars(tables.CONTACT).clear()
    vars(tables.CONTACT).update(before)


def test_a_field_that_the_sandbox_lacks_is_noticed(desk: Desk) -> None:
    """Without its row in the sandbox's table neither a request nor an answer has it."""
    city = CONTACT.by_name["city"]
    with contacts_with(city=None):
        assert "contact.city: POST of" in next(settable_problems(desk, CONTACTS, city))
        assert list(answer_problems(CONTACT.by_name, desk.contact())) == ["contact.city: is not in the answer"]


def test_a_wider_limit_of_the_sandbox_is_noticed(desk: Desk) -> None:
    """One character more than the row says is one too many."""
    with contacts_with(city={"max_length": 251}):
        (problem,) = settable_problems(desk, CONTACTS, CONTACT.by_name["city"])
    assert problem.startswith("contact.city: POST of")


def test_a_field_that_can_be_set_too_often_is_noticed(desk: Desk) -> None:
    """A read-only field that the sandbox lets be changed."""
    with contacts_with(created_ts={"settable": frozenset({"PUT"})}):
        (problem,) = fixed_problems(desk, CONTACTS, CONTACT.by_name["created_ts"], "PUT")
    assert problem.startswith("contact.created_ts: PUT of 1900000000 is answered with 200")


def without(kind: type, *names: str) -> type:
    """A model of the SDK as it would be without some of its fields."""
    hints = {name: hint for name, hint in vars(kind)["__annotations__"].items() if name not in names}
    bases = tuple(base for base in kind.__mro__[1:-1])
    body = {"__annotations__": hints, "__module__": kind.__module__, "implied": getattr(kind, "implied", {})}
    body |= {name: attrs.fields_dict(kind)[name].default for name in hints if name in attrs.fields_dict(kind)}
    body = {name: value for name, value in body.items() if value is not attrs.NOTHING}
    return attrs.frozen(kw_only=True, repr=False)(type(kind.__name__, bases, body))


@pytest.mark.parametrize(
    ("kind", "check"),
    [("Contact", sdk_matrix.record_problems), ("ContactCreate", sdk_matrix.request_problems)],
)
def test_a_field_that_the_sdk_lacks_is_noticed(
    kind: str, check: Callable[[Family, Row], Iterator[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its field in a model the row has a problem, and only this row."""
    monkeypatch.setitem(vars(gateway_async), kind, without(getattr(gateway_async, kind), "city"))
    found = [problem for row in CONTACT.rows for problem in check(CONTACTS, row)]
    assert [problem.partition(":")[0] for problem in found] == ["contact.city"]


def test_a_field_of_another_type_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An amount is no text."""
    other = attrs.make_class("Contact", {"contact_balance": attrs.field(type=str)})
    monkeypatch.setitem(vars(gateway_async), "Contact", other)
    (problem,) = sdk_matrix.record_problems(CONTACTS, CONTACT.by_name["contact_balance"])
    assert problem.startswith("contact.contact_balance: Contact has it as")


def test_a_field_that_the_sdk_does_not_miss_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is required by the contract is required before sending."""

    @attrs.frozen(kw_only=True, repr=False)
    class Lax(ContactCreate):
        last_name: str | None = None  # type: ignore[assignment]  # what must not be

    monkeypatch.setitem(vars(gateway_async), "ContactCreate", Lax)
    found = list(sdk_matrix.required_problems(CONTACTS, CONTACTS.ways[0]))
    assert found == ["contact.last_name: Lax does not miss it"]


def test_a_field_in_no_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows more than the contract."""
    more = attrs.make_class(
        "Contact", {"shoe_size": attrs.field(default=None)}, bases=(gateway_async.Contact,), kw_only=True
    )
    monkeypatch.setitem(vars(gateway_async), "Contact", more)
    family: Family = attrs.evolve(CONTACTS, ways=(), update="")
    assert list(sdk_matrix.stranger_problems(family)) == ["Contact.shoe_size: is in no table"]
