"""The sandbox takes and answers what the contract's tables say: row by row, by real requests."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from . import rows
from .calls import open_batch
from .families import BATCHES, BIN_INFOS, CHANGELOGS, FAMILIES, TOKEN_REQUESTS, TOKENS
from .field_table import Row
from .raw_client import Desk
from .record_type import Family, Way
from .sandbox_matrix import (
    answer_problems,
    changeable_problems,
    file_problems,
    fixed_problems,
    required_problems,
    settable_problems,
    unknown_problems,
)

Check = Callable[[Desk, Family, Row], Iterator[str]]

MADE = [family for family in FAMILIES if family.path]
CHANGED = [family for family in MADE if family.update]


def pick(method: str, row: Row) -> Check:
    """The check of a row for a method."""
    if row.type == "files" and method == "POST":
        return file_problems
    if (row.post if method == "POST" else row.put) == "no":
        return partial(fixed_problems, method=method)
    return settable_problems if method == "POST" else changeable_problems


CELLS = [
    pytest.param(family, row, pick(method, row), id=f"{method} {row}")
    for method, some in (("POST", MADE), ("PUT", CHANGED))
    for family in some
    for row in family.table.rows
]


@pytest.mark.parametrize(("family", "row", "check"), CELLS)
def test_a_row_holds(desk: Desk, family: Family, row: Row, check: Check) -> None:
    """The field is taken at its bounds and refused beyond them, or refused always, and named."""
    assert list(check(desk, family, row)) == []


@pytest.mark.parametrize(
    ("family", "way"), [pytest.param(f, way, id=f"{f} {way.name}") for f in MADE for way in f.ways]
)
def test_what_is_required_is_named(desk: Desk, family: Family, way: Way) -> None:
    """Without any one field of a smallest body there is no record."""
    assert list(required_problems(desk, family, way)) == []


@pytest.mark.parametrize("family", MADE, ids=str)
def test_an_unknown_field_is_named(desk: Desk, family: Family) -> None:
    """Nothing that is sent is dropped in silence."""
    assert list(unknown_problems(desk, family)) == []


@pytest.mark.parametrize(
    ("family", "way"), [pytest.param(f, way, id=f"{f} {way.name}") for f in MADE for way in f.ways]
)
def test_an_answer_has_the_fields_of_its_table(desk: Desk, family: Family, way: Way) -> None:
    """What is made is answered with every field that is shown, each of its type, and no others."""
    record = desk.post(family.path, family.wrapper, way.body(desk)).json()[family.answer]
    table = {"accountvault": rows.ACCOUNT_VAULT, "routertransaction": rows.TRANSACTION, "token": rows.TOKEN}
    shown = table.get(family.answer, family.table)
    assert list(answer_problems(shown.by_name, record)) == []


@pytest.mark.parametrize("family", CHANGED, ids=str)
def test_a_record_that_was_read_can_be_sent_back(desk: Desk, family: Family) -> None:
    """A read-only field that says what is so already is no reason to refuse a change."""
    record = desk.post(family.path, family.wrapper, family.ways[0].body(desk)).json()[family.answer]
    answer = desk.put(f"{family.path}/{record['id']}", family.wrapper, record)
    assert answer.status_code == 200, answer.text


def shown(desk: Desk, family: Family) -> dict[str, Any]:
    """A record that no request of its own makes."""
    if family is TOKENS:
        body = desk.post("/v2/token", "", TOKEN_REQUESTS.ways[0].body(desk)).json()
    elif family is BIN_INFOS:
        body = desk.http.get(f"/v2/accountvaults/{desk.vault()['id']}/bininfo").json()
    else:
        body = desk.http.get(f"/v2/transactionbatches/{open_batch(desk)}?expand=changelogs").json()
    record: dict[str, Any] = body[BATCHES.answer if family is CHANGELOGS else family.answer]
    changelog: dict[str, Any] = record["changelogs"][0] if family is CHANGELOGS else record
    return changelog


@pytest.mark.parametrize("family", [BIN_INFOS, BATCHES, CHANGELOGS, TOKENS], ids=str)
def test_what_is_only_shown_has_the_fields_of_its_table(desk: Desk, family: Family) -> None:
    """BIN info, batches, their changelogs, tokens."""
    assert list(answer_problems(family.table.by_name, shown(desk, family))) == []
