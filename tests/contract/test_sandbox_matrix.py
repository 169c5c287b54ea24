"""The sandbox accepts, refuses and returns values as its data files say, by real requests for a sample of fields."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from .calls import open_batch
from .field_table import Row, table
from .raw_client import RawClient
from .record_type import CreateMode, RecordType
from .record_types import (
    BATCHES,
    BIN_INFOS,
    CHANGELOGS,
    LOCATION_INFOS,
    LOCATIONS,
    PRODUCT_TRANSACTIONS,
    RECORD_TYPES,
    TERMINALS,
    TOKEN_REQUESTS,
    TOKENS,
    USERS,
)
from .sandbox_matrix import (
    changeable_problems,
    file_problems,
    fixed_problems,
    required_problems,
    response_problems,
    settable_problems,
    unknown_problems,
)

Check = Callable[[RawClient, RecordType, Row], Iterator[str]]

SAMPLED = 2
"""How many fields of each type are tried."""

MADE = [record_type for record_type in RECORD_TYPES if record_type.path]
CHANGED = [record_type for record_type in MADE if record_type.update]
WAYS = [
    pytest.param(record_type, create_mode, id=f"{record_type} {create_mode.name}")
    for record_type in MADE
    for create_mode in record_type.create_modes
]


def pick(method: str, row: Row) -> Check:
    if row.type == "files" and method == "POST":
        return file_problems
    if (row.post if method == "POST" else row.put) == "no":
        return partial(fixed_problems, method=method)
    return settable_problems if method == "POST" else changeable_problems


def sample() -> Iterator[object]:
    """Yield cases: for each method, two fields of every type that it can set, two that it cannot, and every code."""
    seen: Counter[object] = Counter()
    for method, record_types in (("POST", MADE), ("PUT", CHANGED)):
        for record_type in record_types:
            for row in record_type.table.rows:
                check = pick(method, row)
                kind = (method, row.type, isinstance(check, partial), row.name if row.values else "")
                seen[kind] += 1
                if seen[kind] <= SAMPLED:
                    yield pytest.param(record_type, row, check, id=f"{method} {row}")


@pytest.mark.parametrize(("record_type", "row", "check"), list(sample()))
def test_row(raw_client: RawClient, record_type: RecordType, row: Row, check: Check) -> None:
    """The field is accepted at its bounds and refused beyond them, or always refused, by name."""
    assert list(check(raw_client, record_type, row)) == []


@pytest.mark.parametrize(("record_type", "create_mode"), WAYS)
def test_required_fields(raw_client: RawClient, record_type: RecordType, create_mode: CreateMode) -> None:
    """A record needs each field of a smallest body."""
    assert list(required_problems(raw_client, record_type, create_mode)) == []


@pytest.mark.parametrize("record_type", MADE, ids=str)
def test_an_unknown_field_anywhere_is_named(raw_client: RawClient, record_type: RecordType) -> None:
    assert list(unknown_problems(raw_client, record_type)) == []


@pytest.mark.parametrize(("record_type", "create_mode"), WAYS)
def test_response(raw_client: RawClient, record_type: RecordType, create_mode: CreateMode) -> None:
    """A new record is returned with all fields of its table, with their types, and no others."""
    record = raw_client.post(record_type.path, record_type.wrapper, create_mode.body(raw_client)).json()[
        record_type.response
    ]
    files = {"accountvault": "account_vaults", "routertransaction": "transactions", "token": "tokens.response"}
    name = files.get(record_type.response)
    shown = table(name) if name else record_type.table
    assert list(response_problems(shown.by_name, record)) == []


@pytest.mark.parametrize("record_type", CHANGED, ids=str)
def test_whole_record(raw_client: RawClient, record_type: RecordType) -> None:
    """An unchanged read-only field is accepted when a record is sent back."""
    record = raw_client.post(
        record_type.path, record_type.wrapper, record_type.create_modes[0].body(raw_client)
    ).json()[record_type.response]
    response = raw_client.put(f"{record_type.path}/{record['id']}", record_type.wrapper, record)
    assert response.status_code == 200, response.text


def _get(raw_client: RawClient, path: str, *keys: str | int) -> Any:
    found = raw_client.http.get(path).json()
    for key in keys:
        found = found[key]
    return found


READ: dict[str, Callable[[RawClient], dict[str, Any]]] = {
    str(LOCATIONS): lambda at: _get(at, f"/v2/locations/{at.info.location_id}", "location"),
    str(LOCATION_INFOS): lambda at: _get(at, "/v2/locationinfos", "locationinfos", 0),
    str(PRODUCT_TRANSACTIONS): lambda at: _get(at, "/v2/locationinfos", "locationinfos", 0, "product_transactions", 0),
    str(USERS): lambda at: _get(at, "/v2/users/me", "user"),
    str(TERMINALS): lambda at: _get(at, f"/v2/terminals/{at.info.terminal_id}", "terminal"),
}
"""How the records are read that exist from the start, by the names of their types."""

INITIAL = [record_type for record_type in RECORD_TYPES if str(record_type) in READ]


def shown(raw_client: RawClient, record_type: RecordType) -> dict[str, Any]:
    """Return a record that no request of its own creates."""
    if record_type is TOKENS:
        body = raw_client.post("/v2/token", "", TOKEN_REQUESTS.create_modes[0].body(raw_client)).json()
    elif record_type is BIN_INFOS:
        body = raw_client.http.get(f"/v2/accountvaults/{raw_client.vault()['id']}/bininfo").json()
    elif str(record_type) in READ:
        return READ[str(record_type)](raw_client)
    else:
        body = raw_client.http.get(f"/v2/transactionbatches/{open_batch(raw_client)}?expand=changelogs").json()
    record: dict[str, Any] = body[BATCHES.response if record_type is CHANGELOGS else record_type.response]
    changelog: dict[str, Any] = record["changelogs"][0] if record_type is CHANGELOGS else record
    return changelog


@pytest.mark.parametrize("record_type", [BIN_INFOS, BATCHES, CHANGELOGS, TOKENS, *INITIAL], ids=str)
def test_read_only_records(raw_client: RawClient, record_type: RecordType) -> None:
    """Such records are BIN info, batches, their changelogs, tokens, and what is there from the start."""
    assert list(response_problems(record_type.table.by_name, shown(raw_client, record_type))) == []
