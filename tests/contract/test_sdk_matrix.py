"""The SDK's models say what the contract's tables say: names, types, limits, and what is required."""

from inspect import signature

import pytest

from gateway_async.resources.tokens import Tokens

from . import rows
from .families import FAMILIES
from .field_table import Row
from .record_type import Family, Way
from .sdk_matrix import (
    limit_problems,
    record_problems,
    request_problems,
    required_problems,
    stranger_problems,
)

WITH_REQUESTS = [family for family in FAMILIES if family.ways and family.ways[0].request]


def cells(families: list[Family]) -> list[object]:
    """A case for each row of the families' tables."""
    return [pytest.param(family, row, id=str(row)) for family in families for row in family.table.rows]


@pytest.mark.parametrize(("family", "row"), cells([family for family in FAMILIES if family.record]))
def test_a_record_has_the_field(family: Family, row: Row) -> None:
    """Under the contract's name, of a fitting type."""
    assert list(record_problems(family, row)) == []


@pytest.mark.parametrize(("family", "row"), cells(WITH_REQUESTS))
def test_a_request_has_the_field_if_it_can_be_set(family: Family, row: Row) -> None:
    """Creates what a POST takes, updates what a PUT takes."""
    assert list(request_problems(family, row)) == []


@pytest.mark.parametrize(("family", "row"), cells(WITH_REQUESTS))
def test_the_limit_is_the_rows(family: Family, row: Row) -> None:
    """A value at the bound is sent; one beyond it is a problem that names the field."""
    assert list(limit_problems(family, row)) == []


@pytest.mark.parametrize(
    ("family", "way"), [pytest.param(f, way, id=f"{f} {way.name}") for f in WITH_REQUESTS for way in f.ways]
)
def test_what_is_required_is_missed(family: Family, way: Way) -> None:
    """Without any one field of a smallest body nothing is sent."""
    assert list(required_problems(family, way)) == []


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_no_model_has_a_field_of_its_own(family: Family) -> None:
    """What a model has stands in a table, or comes by `expand`."""
    assert list(stranger_problems(family)) == []


def test_a_login_takes_the_fields_of_its_table() -> None:
    """The one request that is no object: what it says are arguments."""
    assert list(signature(Tokens.create).parameters) == ["self", *rows.TOKEN_REQUEST.by_name]
