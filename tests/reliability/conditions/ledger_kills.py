"""Sales whose process is killed: afterwards `recover()` knows each payment."""

from functools import partial
from secrets import token_hex
from typing import Final
from unittest.mock import patch

import anyio

from gateway_async import SqliteLedger
from gateway_async.crash_testing import kill_everywhere
from gateway_async.crash_testing.run import MakeLedger
from gateway_async.sandbox import Sandbox
from tests.crash_testing.scenarios import postgres_ledger
from tests.reliability.condition import Condition, Result
from tests.reliability.duplicate_ids import accept_duplicate_ids
from tests.reliability.sale_scenario import respond_late, sell
from tests.reliability.worker_protections import without
from tests.support.ledgers import ask_postgres

_SEED: Final = 20261123


def _kill_sales(make_ledger: MakeLedger, count: int) -> Result:
    """Kill the scenario so often, and recover after each kill."""
    with accept_duplicate_ids(), Sandbox() as sandbox:
        run = partial(kill_everywhere, seed=_SEED, prepare=respond_late, make_ledger=make_ledger)
        report = anyio.run(partial(run, sell, sandbox, kills=count - 1))  # and once at its end
    return Result(
        count=len(report.crashes),
        unknown=sum(call.outcome == "unknown" for crash in report.crashes for call in crash.calls),
        problems=report.problems,
    )


def _kill_sales_with_postgres(count: int) -> Result:
    """Kill sales whose ledger is in PostgreSQL."""
    schema = f"crash_{token_hex(6)}"
    ask_postgres(f"CREATE SCHEMA {schema}")
    try:
        with patch.dict("os.environ", {"LEDGER_SCHEMA": schema}):
            return _kill_sales(postgres_ledger, count)
    finally:
        ask_postgres(f"DROP SCHEMA {schema} CASCADE")


LEDGER_KILL_CONDITIONS: Final = (
    Condition(
        key="kill-ledger",
        text="`kill -9` of sales with a ledger file, then `recover()`",
        count=200,
        short_count=2,
        run=partial(_kill_sales, SqliteLedger),
        protections=without("intent-before-send"),
    ),
    Condition(
        key="kill-ledger-postgres",
        text="`kill -9` of sales with a ledger in PostgreSQL, then `recover()`",
        count=50,
        short_count=2,
        run=_kill_sales_with_postgres,
        needs=("GATEWAY_TEST_POSTGRES",),
    ),
)
