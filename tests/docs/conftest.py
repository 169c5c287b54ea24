"""A sandbox and a database whose settings are in the environment, as for a user's program."""

from collections.abc import Iterator
from secrets import token_hex

import pytest

from gateway_async.sandbox import Sandbox
from tests.support.ledgers import ask_postgres
from tests.support.servers import POSTGRES


@pytest.fixture
def environment(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables that `AsyncGateway.from_env()` reads, for the fixture `sandbox`."""
    for name in ("base_url", "developer_id", "user_id", "user_api_key", "location_id"):
        monkeypatch.setenv(f"GATEWAY_{name.upper()}", getattr(sandbox, name))


@pytest.fixture
def ledger_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Set `DATABASE` to a schema of its own, and return it; "" without a PostgreSQL."""
    if not POSTGRES:
        yield ""
        return
    schema = f"ledger_{token_hex(6)}"
    ask_postgres(f"CREATE SCHEMA {schema}")
    database = f"{POSTGRES}?options=-csearch_path%3D{schema}"
    monkeypatch.setenv("DATABASE", database)
    yield database
    ask_postgres(f"DROP SCHEMA {schema} CASCADE")
