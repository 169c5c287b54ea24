"""The rows are complete, each is tried, and a field that one side lacks is noticed."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

import gateway_async
from gateway_async import ContactCreate
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.request import Request
from gateway_async.sandbox import schema as tables
from gateway_async.sandbox.openapi.records import TABLES as TABLES_BY_PATH

from . import sdk_matrix
from .field_table import Row, Table
from .raw_client import RawClient
from .reading import BY_PATH
from .record_type import RecordType
from .record_types import CONTACTS, RECORD_TYPES
from .rows import CONTACT, TABLES
from .sandbox_matrix import fixed_problems, response_problems, settable_problems


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_row_is_lost(table: Table) -> None:
    """Each table has as many rows as the contract's, and no field twice."""
    assert table.counted == len(table.contract_rows)
    assert len(table.by_name) == len(table.rows)


def test_every_row_is_tried() -> None:
    """Each table has its record type, and so each row has a test on both sides."""
    assert [record_type.table for record_type in RECORD_TYPES] == list(TABLES)
    assert all(
        record_type.path or record_type.record or record_type.table.name == "changelog" for record_type in RECORD_TYPES
    )


@pytest.mark.parametrize("row", [row for table in TABLES for row in table.rows], ids=str)
def test_a_row_makes_sense(row: Row) -> None:
    """A required field can be set, and no accepted length is below the contract's."""
    assert row.post in ("required", "yes", "no")
    assert row.put in ("yes", "no")
    assert row.response in ("yes", "no", "null", "-")
    if row.contract[0].isdigit() and row.bounds and row.type not in ("id", "own-id"):
        shortest, longest = attrs.evolve(row, taken="-").bounds or (0, 0)
        assert row.bounds[1] >= longest
        assert row.bounds[0] <= max(shortest, 1)


def test_the_sandbox_has_no_field_of_its_own() -> None:
    """Each field of a request is in a table of the contract, or beside one."""
    own = {
        f"{table.name}.{field.name}"
        for table in (record_type.table for record_type in RECORD_TYPES if record_type.path)
        for its in vars(tables).values()
        if getattr(its, "singular", "") == table.name
        for field in its.fields
        if field.settable and field.name not in table.by_name
    }
    assert own <= {"quickinvoice.transaction_id"}  # the body of addTransaction and removeTransaction


WRITES: dict[str, tuple[str, str, tuple[type[Request], ...]]] = {
    f"{method} {spec.path}": (method, spec.plural, kinds)
    for spec in BY_PATH.values()
    if isinstance(spec, ResourceSpec)
    for method, kinds in (("POST", spec.creates), ("PUT", spec.updates))
    if kinds
}


@pytest.mark.parametrize(("method", "plural", "kinds"), WRITES.values(), ids=WRITES)
def test_the_sdk_offers_what_the_sandbox_takes(method: str, plural: str, kinds: tuple[type[Request], ...]) -> None:
    """The requests of a resource have the fields that its POST or PUT takes, and no others."""
    offered = {name for kind in kinds for name in (*attrs.fields_dict(kind), *kind.implied)} - {"extra"}
    assert offered == {field.name for field in TABLES_BY_PATH[plural].fields if method in field.settable}


@contextmanager
def contacts_with(**changes: Any) -> Iterator[None]:
    """Change fields of the sandbox's table of contacts for a while, or remove them with None."""
    kept = [field for field in tables.CONTACT.fields if changes.get(field.name, ()) is not None]
    fields = tuple(attrs.evolve(field, **changes.get(field.name, {})) for field in kept)
    table, before = vars(attrs.evolve(tables.CONTACT, fields=fields)), dict(vars(tables.CONTACT))
    vars(tables.CONTACT).clear()
    vars(tables.CONTACT).update(table)
    yield
    vars(tables.CONTACT).clear()
    vars(tables.CONTACT).update(before)


def test_a_field_that_the_sandbox_lacks_is_noticed(raw_client: RawClient) -> None:
    """Neither a request nor a response has a field without its row in the sandbox's table."""
    city = CONTACT.by_name["city"]
    with contacts_with(city=None):
        assert "contact.city: POST of" in next(settable_problems(raw_client, CONTACTS, city))
        assert list(response_problems(CONTACT.by_name, raw_client.contact())) == [
            "contact.city: is not in the response"
        ]


def test_a_wider_limit_of_the_sandbox_is_noticed(raw_client: RawClient) -> None:
    """One character more than in the row is too many."""
    with contacts_with(city={"max_length": 251}):
        (problem,) = settable_problems(raw_client, CONTACTS, CONTACT.by_name["city"])
    assert problem.startswith("contact.city: POST of")


def test_a_field_that_can_be_set_too_often_is_noticed(raw_client: RawClient) -> None:
    """A PUT must not change a read-only field."""
    with contacts_with(created_ts={"settable": frozenset({"PUT"})}):
        (problem,) = fixed_problems(raw_client, CONTACTS, CONTACT.by_name["created_ts"], "PUT")
    assert problem.startswith("contact.created_ts: PUT of 1900000000 is answered with 200")


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
def test_a_field_that_the_sdk_lacks_is_noticed(
    kind: str, check: Callable[[RecordType, Row], Iterator[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its field in a model, only this row has a problem."""
    monkeypatch.setitem(vars(gateway_async), kind, without(getattr(gateway_async, kind), "city"))
    found = [problem for row in CONTACT.rows for problem in check(CONTACTS, row)]
    assert [problem.partition(":")[0] for problem in found] == ["contact.city"]


def test_a_field_of_another_type_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An amount as a text is a problem."""
    other = attrs.make_class("Contact", {"contact_balance": attrs.field(type=str)})
    monkeypatch.setitem(vars(gateway_async), "Contact", other)
    (problem,) = sdk_matrix.record_problems(CONTACTS, CONTACT.by_name["contact_balance"])
    assert problem.startswith("contact.contact_balance: Contact has it as")


def test_a_field_that_the_sdk_does_not_miss_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that the contract requires is required before sending."""

    @attrs.frozen(kw_only=True, repr=False)
    class Lax(ContactCreate):
        last_name: str | None = None  # type: ignore[assignment]  # what must not be

    monkeypatch.setitem(vars(gateway_async), "ContactCreate", Lax)
    found = list(sdk_matrix.required_problems(CONTACTS, CONTACTS.create_modes[0]))
    assert found == ["contact.last_name: Lax does not miss it"]


def test_a_field_in_no_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model must not have more fields than the contract."""
    more = attrs.make_class(
        "Contact", {"shoe_size": attrs.field(default=None)}, bases=(gateway_async.Contact,), kw_only=True
    )
    monkeypatch.setitem(vars(gateway_async), "Contact", more)
    record_type: RecordType = attrs.evolve(CONTACTS, create_modes=(), update="")
    assert list(sdk_matrix.extra_field_problems(record_type)) == ["Contact.shoe_size: is in no table"]
