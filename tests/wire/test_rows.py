"""Generated code reads every record as the rules do: the same values, types, `extra` and errors."""

import gc
import inspect
import json
import linecache
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gateway_async
from gateway_async._secrets import Secret
from gateway_async._wire import rows as readers
from gateway_async._wire.convert import FieldError, rules_of, structure_by_rules
from gateway_async._wire.json_text import decode, encode
from gateway_async._wire.rows import RowReader, compile_row_reader, structure
from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.contacts import Contact
from gateway_async.models.postback_configs import PostbackConfig
from gateway_async.models.quick_invoices import QuickInvoice
from gateway_async.models.record import Record
from gateway_async.models.transactions import Transaction

SAMPLES = Path(__file__).parents[1] / "samples"

USUAL = {
    *('"abc"', '"12.50"', '"2025-11-18"', '"101"', '"cc"', '"visa"', '"approved"', '"WEB"', '""', '"\\u00e9"'),
    *("null", "true", "false", "0", "1", "2", "12", "101", "12.50", "1421951061"),
}
"""JSON values that gateways send for fields of various types."""

ODD = {
    *("-0", "-5", "1.0", "101.0", "12.000", "1e5", "1E-5", "0e50", "1e31", "1e30", "1e400", "-0.0", "1.5", "777"),
    *("12345678901234567890123", "99999999999999", "1421951061.5", "-1421951061", "1e9999999999999999999"),
    *('"NaN"', '"Infinity"', '"-0"', '"1e31"', '" 12 "', '"1_000"', '"true"', '"false"', '"True"', '"0"', '"1"'),
    *('"0000-00-00"', '"0000-00-00 00:00:00"', '"2025-W01-1"', '"20251118"', '"2025-13-01"', '"2025-11-18T14:11:36Z"'),
    *('"2025-11-18 14:11:36"', '"1421951061"', '"False"', '" 2025-11-18"', '"2025-11-18 "', '"\\u0663"'),
    *("[]", "{}", '["a"]', "[{}]", '[{"id": "x"}]', '{"a": 1.10}', '{"Tea": "1.00"}', '{"Tea": true}', "[1, null]"),
}

public = (getattr(gateway_async, name) for name in dir(gateway_async))
models = [kind for kind in public if isinstance(kind, type) and issubclass(kind, Record) and kind is not Record]
values = st.sampled_from(sorted(USUAL)) | st.sampled_from(sorted(ODD))
unknown = st.sampled_from(["_links", "extra", "code", "", "größe", "class", 'a"b', "__class__", "record", "field_0"])


def exactly(value: Any) -> Any:
    """Return a form of a value that is equal only for values of the same type and digits."""
    match value:
        case Record():
            return type(value), {field.name: exactly(getattr(value, field.name)) for field in attrs.fields(type(value))}
        case Secret():
            return type(value), value.reveal()
        case Mapping():
            return type(value), {name: exactly(each) for name, each in value.items()}
        case list() | tuple():
            return type(value), [exactly(each) for each in value]
        case _:
            return type(value), value, str(value)


def outcome(read: Callable[[], Any]) -> Any:
    try:
        return exactly(read())
    except FieldError as error:
        return error.path, error.reason
    except ValueError as error:
        return str(error)


def row_of(fields: Mapping[str, str]) -> msgspec.Raw:
    return msgspec.Raw(f"{{{', '.join(f'{json.dumps(name)}: {text}' for name, text in fields.items())}}}".encode())


def reader_after(kind: type[Record], *rows: msgspec.Raw) -> RowReader:
    """Return a reader of a large list that has read some rows."""
    reader = RowReader(kind, 5000)
    for row in rows:
        outcome(lambda row=row: reader.read(row))  # type: ignore[misc]
    return reader


@st.composite
def objects(draw: st.DrawFn) -> tuple[type[Record], dict[str, str]]:
    """Make a record's class, and field → JSON text of an object for it."""
    kind = draw(st.sampled_from(models))
    names = draw(st.lists(st.sampled_from(sorted(rules_of(kind))) | unknown, unique=True, max_size=8))
    fields = {"id": '"x"', "token": '"x"'} if kind.__name__ == "Token" else {"id": '"x"'}
    return kind, fields | {name: draw(values) for name in names}


@given(objects())
def test_objects(drawn: tuple[type[Record], dict[str, str]]) -> None:
    """Generated code returns the same record or the same error as the rules, whatever the values are."""
    kind, fields = drawn
    row = row_of(fields)
    assert outcome(lambda: structure(kind, decode(row))) == outcome(lambda: structure_by_rules(kind, decode(row)))


@given(objects(), st.dictionaries(unknown, values, max_size=2))
def test_rows(drawn: tuple[type[Record], dict[str, str]], more: dict[str, str]) -> None:
    """Generated code reads a row as the rules do, with the names of the row before it or with others."""
    kind, fields = drawn
    usual = row_of({name: text if name in ("id", "token") else "null" for name, text in fields.items()})
    reader = reader_after(kind, usual)
    for row in (row_of(fields), row_of(fields | more), row_of({"id": '"x"'} | more), row_of(fields)):
        assert outcome(lambda row=row: reader.read(row)) == outcome(  # type: ignore[misc]
            lambda row=row: structure_by_rules(kind, decode(row))  # type: ignore[misc]
        )


@pytest.mark.parametrize("kind", [Transaction, QuickInvoice, Contact])
def test_every_value_in_every_field_is_read_as_the_rules_do(kind: type[Record]) -> None:
    usual = row_of(dict.fromkeys(rules_of(kind), "null") | {"id": '"x"'})
    for name in rules_of(kind):
        for text in USUAL | ODD:
            row = row_of({"id": '"x"', name: text})
            expected = outcome(lambda row=row: structure_by_rules(kind, decode(row)))  # type: ignore[misc]
            reader = reader_after(kind, usual)
            assert (name, outcome(lambda row=row: structure(kind, decode(row)))) == (name, expected)  # type: ignore[misc]
            read = outcome(lambda row=row, reader=reader: reader.read(row))  # type: ignore[misc]
            assert (name, read) == (name, expected)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*-response.json")), ids=lambda path: path.stem)
def test_every_recorded_object(path: Path) -> None:
    """Read every object in the recordings as the rules do, as every model."""
    content = decode(path.read_bytes())
    (first, *_) = content.values()
    for data in first if isinstance(first, list) else [first]:
        row = msgspec.Raw(encode(data))
        for kind in models:
            expected = outcome(lambda kind=kind, data=data: structure_by_rules(kind, data))  # type: ignore[misc]
            reader = reader_after(kind, row)
            assert outcome(lambda kind=kind, data=data: structure(kind, data)) == expected  # type: ignore[misc]
            assert outcome(lambda row=row, reader=reader: reader.read(row)) == expected  # type: ignore[misc]


@pytest.mark.parametrize("data", [None, [], "x", 1, True, [{"id": "x"}]])
def test_what_is_not_an_object_raises_the_error_of_the_rules(data: Any) -> None:
    row = msgspec.Raw(json.dumps(data).encode())
    reader = reader_after(Contact, row_of({"id": '"x"'}))
    for read in (lambda: structure(Contact, data), lambda: reader.read(row)):
        with pytest.raises(FieldError, match="not an object"):
            read()


def test_generated_records() -> None:
    """Equal, with the same hash and repr, frozen, and fit for pickling and weak references."""
    raw = row_of({"id": '"t"', "tax": "1.10", "created_ts": "1421951061", "code": '"AUTH"'})
    made = structure_by_rules(Transaction, decode(raw))
    for record in (structure(Transaction, decode(raw)), reader_after(Transaction, raw).read(raw)):
        assert type(record) is Transaction
        assert (record, hash(record), repr(record)) == (made, hash(made), repr(made))
        assert pickle.loads(pickle.dumps(record)) == made  # noqa: S301
        assert attrs.evolve(record, tax=None).tax is None
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            record.tax = None  # type: ignore[misc]
        with pytest.raises(TypeError):
            record.extra["code"] = ""  # type: ignore[index]


def test_remaining_model() -> None:
    """Generate code for all others; `PostbackConfig` has a converter, which only its constructor applies."""
    assert {kind for kind in models if readers._object_reader(kind) is None} == {PostbackConfig}


def test_usual_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read a single record by generated code, also with an unknown field."""
    monkeypatch.setattr(readers, "structure_by_rules", None)
    assert structure(Transaction, {"id": "t", "tax": "1.10", "note": 1}).extra == {"note": 1}


def test_special_constructors() -> None:
    """A class whose constructor does more than set fields is left to the rules."""

    @attrs.frozen(kw_only=True)
    class Checked(Contact):
        def __attrs_post_init__(self) -> None:
            raise AssertionError

    with pytest.raises(TypeError, match="Checked: its constructor does more"):
        readers.compile_object_reader(Checked)


def test_usual_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the rows of a large list by generated code, also with unknown fields, numbers in texts and null."""
    rows = [
        row_of({"id": f'"v{number}"', "first_six": "411111", "active": "1", "_links": '{"self": 1}', "note": "null"})
        for number in range(200)
    ]
    reader = reader_after(AccountVault, rows[0])
    monkeypatch.setattr(readers, "decode", None)
    vaults = [reader.read(row) for row in rows]
    assert {(vault.first_six, vault.active, vault.extra["note"]) for vault in vaults} == {("411111", True, None)}


def test_varying_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generate code four times for a list at most, and then read the rows like single records."""
    made: list[Any] = []

    def compile_counted(*given: Any) -> Any:
        made.append(given)
        return compile_row_reader(*given)

    monkeypatch.setattr(readers, "compile_row_reader", compile_counted)
    reader = RowReader(Contact, 5000)
    for number in range(300):
        assert reader.read(row_of({"id": '"c"', f"unknown_{number}": "1"})).extra == {f"unknown_{number}": 1}
    assert len(made) == 4


def test_small_lists_generate_no_code_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "compile_row_reader", None)
    reader = RowReader(Contact, 20)
    assert [reader.read(row_of({"id": f'"{number}"'})).id for number in range(3)] == ["0", "1", "2"]


def test_error_context() -> None:
    """The error of the rules has no context, whose frames would show the record."""
    for read in (
        lambda: structure(Transaction, {"id": "t", "tax": "secret"}),
        lambda: reader_after(Transaction, row_of({"id": '"t"', "tax": "null"})).read(
            row_of({"id": '"t"', "tax": '"secret"'})
        ),
    ):
        with pytest.raises(FieldError) as failed:
            read()
        context = failed.value.__context__
        assert context is None or isinstance(context, ValueError)


def test_debugger() -> None:
    """Keep the source for tracebacks as long as the reader, and name the class."""
    for read in (readers.compile_object_reader(Contact), compile_row_reader(Contact, ["id"], frozenset())):
        assert "reader of Contact" in read.__code__.co_filename
        assert inspect.getsource(read).startswith("def read(data):\n record = new(unfrozen)\n")
    name = read.__code__.co_filename
    del read
    gc.collect()
    assert name not in linecache.cache
