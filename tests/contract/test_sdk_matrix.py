"""The SDK's models match the contract's tables: names, types, limits and required fields."""

from inspect import signature

import pytest

from gateway_async.resources.tokens import Tokens

from .field_table import Row, table
from .record_type import CreateMode, RecordType
from .record_types import RECORD_TYPES
from .sdk_matrix import (
    extra_field_problems,
    limit_problems,
    record_problems,
    request_problems,
    required_problems,
)

WITH_REQUESTS = [
    record_type for record_type in RECORD_TYPES if record_type.create_modes and record_type.create_modes[0].request
]


def cells(record_types: list[RecordType]) -> list[object]:
    """Return a case for each row of the record types' tables."""
    return [
        pytest.param(record_type, row, id=str(row)) for record_type in record_types for row in record_type.table.rows
    ]


@pytest.mark.parametrize(
    ("record_type", "row"), cells([record_type for record_type in RECORD_TYPES if record_type.record])
)
def test_a_record_has_the_field(record_type: RecordType, row: Row) -> None:
    """The field has the contract's name and a fitting type."""
    assert list(record_problems(record_type, row)) == []


@pytest.mark.parametrize(("record_type", "row"), cells(WITH_REQUESTS))
def test_a_request_has_the_field_if_it_can_be_set(record_type: RecordType, row: Row) -> None:
    """Creates have the fields of a POST, updates those of a PUT."""
    assert list(request_problems(record_type, row)) == []


@pytest.mark.parametrize(("record_type", "row"), cells(WITH_REQUESTS))
def test_the_limit_is_the_rows(record_type: RecordType, row: Row) -> None:
    """A value at the bound is sent; one beyond it is a problem that names the field."""
    assert list(limit_problems(record_type, row)) == []


@pytest.mark.parametrize(
    ("record_type", "create_mode"),
    [
        pytest.param(f, create_mode, id=f"{f} {create_mode.name}")
        for f in WITH_REQUESTS
        for create_mode in f.create_modes
    ],
)
def test_what_is_required_is_missed(record_type: RecordType, create_mode: CreateMode) -> None:
    """Nothing is sent without each field of a smallest body."""
    assert list(required_problems(record_type, create_mode)) == []


@pytest.mark.parametrize("record_type", RECORD_TYPES, ids=str)
def test_no_model_has_a_field_of_its_own(record_type: RecordType) -> None:
    """Each field of a model is in a table, or comes with `expand`."""
    assert list(extra_field_problems(record_type)) == []


def test_a_login_takes_the_fields_of_its_table() -> None:
    """The login takes arguments instead of an object."""
    assert list(signature(Tokens.create).parameters) == ["self", *table("tokens.request").by_name]
