"""The SDK's models match the contract's tables: names, types, limits and required fields."""

from inspect import signature

import pytest

from gateway_async.resources.tokens import Tokens

from .field_table import table
from .record_type import CreateMode, RecordType
from .record_types import RECORD_TYPES
from .sdk_matrix import extra_field_problems, limit_problems, record_problems, request_problems, required_problems

WITH_REQUESTS = [
    record_type for record_type in RECORD_TYPES if record_type.create_modes and record_type.create_modes[0].request
]


@pytest.mark.parametrize("record_type", [each for each in RECORD_TYPES if each.record], ids=str)
def test_record(record_type: RecordType) -> None:
    """Each field has the contract's name and a fitting type."""
    assert [problem for row in record_type.table.rows for problem in record_problems(record_type, row)] == []


@pytest.mark.parametrize("record_type", WITH_REQUESTS, ids=str)
def test_requests(record_type: RecordType) -> None:
    """Creates have the fields of a POST, updates those of a PUT."""
    assert [problem for row in record_type.table.rows for problem in request_problems(record_type, row)] == []


@pytest.mark.parametrize("record_type", WITH_REQUESTS, ids=str)
def test_limits(record_type: RecordType) -> None:
    """A value at the bound is sent; one beyond it is a problem that names the field."""
    assert [problem for row in record_type.table.rows for problem in limit_problems(record_type, row)] == []


@pytest.mark.parametrize(
    ("record_type", "create_mode"),
    [
        pytest.param(f, create_mode, id=f"{f} {create_mode.name}")
        for f in WITH_REQUESTS
        for create_mode in f.create_modes
    ],
)
def test_required_fields(record_type: RecordType, create_mode: CreateMode) -> None:
    """Nothing is sent without each field of a smallest body."""
    assert list(required_problems(record_type, create_mode)) == []


@pytest.mark.parametrize("record_type", RECORD_TYPES, ids=str)
def test_unknown_fields(record_type: RecordType) -> None:
    """Each field of a model is in a table, or comes with `expand`."""
    assert list(extra_field_problems(record_type)) == []


def test_login() -> None:
    """The login takes arguments instead of an object."""
    assert list(signature(Tokens.create).parameters) == ["self", *table("tokens.request").by_name]
