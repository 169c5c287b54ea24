"""`gateway-async ledger`: what it lists, what it recovers, and how it ends."""

import json
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import ANY

import anyio
import attrs
import pytest

from gateway_async import Intent, PostgresLedger, SqliteLedger, TransactionCreate
from gateway_async.ledger._operations import RecordedOutcome
from gateway_async.sandbox import Sandbox
from tests.support.in_process import run
from tests.support.intents import SALE
from tests.support.ledgers import KINDS, LedgerFile, LedgerStore, empty_store
from tests.support.processes import Ended, run_on_terminal
from tests.support.servers import postgres_only

OPEN = attrs.evolve(SALE, id="1", api_id="order-17", terminal_id="till-1", outcome_query=None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    settled = attrs.evolve(OPEN, id="2", api_id="order-18", terminal_id=None)
    write(tmp_path / "payments.db", [OPEN, settled], [RecordedOutcome("2", "done", "t18", datetime.now(UTC))])
    return tmp_path / "payments.db"


def write(path: Path, intents: list[Intent], outcomes: list[RecordedOutcome]) -> None:
    """Write to a ledger as another process does."""
    with closing(LedgerFile(path)) as file:
        file.write(intents, outcomes)


def rows(ended: Ended) -> list[tuple[str | None, ...]]:
    lines = map(json.loads, ended.stdout.splitlines())
    return [(row["api_id"], row["outcome"], row["record_id"]) for row in lines]


def test_listing(path: Path) -> None:
    """People get time, call, id, amount and terminal, and what to do; status 3 tells a script."""
    ended = run_on_terminal("ledger", str(path))
    assert ended.returncode == 3
    for shown in ("2026-11-21", "12:00:00", "order-17", "12.50", "till-1", "open", "--recover"):
        assert shown in ended.stdout
    assert "order-18" not in ended.stdout


@pytest.mark.parametrize("columns", ["20", "200"])
def test_narrow_terminal(path: Path, columns: str) -> None:
    """On a terminal no id is cut or broken, however narrow it is."""
    long = "11e92008f72039289e394e29" * 2
    write(path, [attrs.evolve(OPEN, id="3", api_id=long, terminal_id=long)], [])
    assert run_on_terminal("ledger", str(path), COLUMNS=columns).stdout.count(long) == 2


def test_pipe(path: Path) -> None:
    """A pipe gets one call on each line, without headings, advice and padding; a missing value is an empty cell."""
    ended = run("ledger", str(path))
    line = "2026-11-21 12:00:00\tPOST /v2/transactions\torder-17\t12.50\ttill-1\topen\t\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, line, "")


def test_lines_of_json(path: Path) -> None:
    """One for each call, for programs; `--all` lists what is settled too."""
    assert rows(run("ledger", str(path), "--json")) == [("order-17", "open", None)]
    ended = run("ledger", str(path), "--json", "--all")
    assert rows(ended) == [("order-17", "open", None), ("order-18", "done", "t18")]
    assert json.loads(ended.stdout.splitlines()[0])["sent_at"] == "2026-11-21T12:00:00+00:00"


def test_nothing_open(path: Path) -> None:
    """Status 0."""
    write(path, [], [RecordedOutcome("1", "not_made", None, datetime.now(UTC))])
    ended = run_on_terminal("ledger", str(path))
    assert ended.returncode == 0
    assert "No open calls" in ended.stdout
    assert run("ledger", str(path)).stdout == ""


def test_invalid_files(tmp_path: Path) -> None:
    """One line, status 1, and the file stays as it is; an empty or a missing one is wrong usage and is not made."""
    diary, empty = tmp_path / "diary.txt", tmp_path / "empty.db"
    diary.write_text("Dear diary, " * 100)
    empty.touch()
    for path, status, said in (
        (diary, 1, f"the ledger {diary} cannot be used: it is not a ledger"),
        (empty, 2, f"FILE: {empty} is empty"),
        (tmp_path / "none.db", 2, f"FILE: {tmp_path / 'none.db'} does not exist"),
    ):
        ended = run("ledger", str(path))
        assert (ended.returncode, ended.stdout, ended.stderr) == (status, "", f"gateway-async: {said}\n")
    assert (diary.read_text(), empty.read_text()) == ("Dear diary, " * 100, "")
    assert not (tmp_path / "none.db").exists()


def test_long_list(path: Path) -> None:
    """Five hundred rows, the oldest, and how many more there are; a pipe and JSON have all."""
    write(path, [attrs.evolve(OPEN, id=f"more-{number}") for number in range(502)], [])
    ended = run_on_terminal("ledger", str(path))
    assert (ended.stdout.count("2026-11-21"), "… and 3 more" in ended.stdout) == (500, True)
    assert len(run("ledger", str(path)).stdout.splitlines()) == 503
    assert len(run("ledger", str(path), "--json").stdout.splitlines()) == 503


@pytest.mark.parametrize("name", ["order-17", "1"])
@pytest.mark.parametrize("fate", ["done", "not_made"])
def test_settling_by_hand(path: Path, name: str, fate: str) -> None:
    """A person can record an outcome by api id or id; then the terminal is free again."""
    ended = run("ledger", str(path), "--resolve", name, "--as", fate, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert rows(ended) == [("order-17", fate, None)]
    assert rows(run("ledger", str(path), "--json", "--all"))[0] == ("order-17", fate, None)
    assert run("ledger", str(path)).returncode == 0


def test_resolved_call(path: Path) -> None:
    """Its outcome cannot be recorded again."""
    ended = run("ledger", str(path), "--resolve", "order-18", "--as", "done")
    said = "gateway-async: --resolve: 0 open calls have the id order-18 (expected 1; --json lists the ids)\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", said)


def test_ambiguous_id(path: Path) -> None:
    """An api id is unique in its location only: which one is meant must be said."""
    write(path, [attrs.evolve(OPEN, id="twin")], [])
    assert run("ledger", str(path), "--resolve", "order-17", "--as", "done").returncode == 1
    assert run("ledger", str(path), "--resolve", "twin", "--as", "done").returncode == 0


def test_recovering_without_an_environment_names_what_is_missing(path: Path) -> None:
    ended = run("ledger", str(path), "--recover")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "gateway-async: GATEWAY_BASE_URL: is not set in the environment" in ended.stderr


async def lose(sandbox: Sandbox, path: Path) -> None:
    sandbox.fault("POST /v2/transactions", "silence")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=10)
    new = TransactionCreate(
        action="sale",
        transaction_amount="12.50",
        account_number="4111111111111111",
        exp_date="1230",
        transaction_api_id="lost",
    )
    async with sandbox.gateway(ledger=SqliteLedger(path)) as gateway:
        with anyio.move_on_after(2):
            await gateway.transactions.create(new)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
def test_recovering(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path, options: tuple[str, ...]) -> None:
    """A charged call is found and recorded; the next run lists no call."""
    path = tmp_path / "lost.db"
    anyio.run(lose, sandbox, path)
    sandbox.clear_faults()
    ended = run("ledger", str(path), "--recover", *options, **environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "lost" in ended.stdout
    assert "found" in ended.stdout
    assert run("ledger", str(path)).returncode == 0


def test_unknown_reason(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """The table, the tab-separated line and the JSON say why no lookup has found it."""
    path = tmp_path / "lost.db"
    anyio.run(lose, sandbox, path)
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=1000)
    recover = ("ledger", str(path), "--recover", "--wait", "0")
    for ended in (run_on_terminal(*recover, **environment), run(*recover, **environment)):
        assert ended.returncode == 3
        assert "GET /v2/transactions/lost: the gateway failed (500)" in ended.stdout
    assert "failed (500)" in json.loads(run(*recover, "--json", **environment).stdout)["error"]


async def pay(sandbox: Sandbox, ledger: SqliteLedger | PostgresLedger | None) -> str:
    new = TransactionCreate(
        action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230"
    )
    async with sandbox.gateway(ledger=ledger) as gateway:
        return (await gateway.transactions.create(new)).id


store = pytest.fixture(params=KINDS)(empty_store)


def test_reconciling(sandbox: Sandbox, environment: dict[str, str], store: LedgerStore) -> None:
    """Discrepancies and open calls are listed; status 3 tells a script, without any it is 0."""
    anyio.run(pay, sandbox, store.ledger())
    since = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M}"
    command = ("ledger", *store.arguments, "--reconcile", since, "--json")
    ended = run(*command, **environment)
    assert (ended.returncode, ended.stdout) == (0, "")
    payment = anyio.run(pay, sandbox, None)
    ended = run(*command, **environment)
    row = json.loads(ended.stdout)
    assert (ended.returncode, row["kind"], row["record_id"]) == (3, "missing_in_ledger", payment)
    store.ask("UPDATE @ SET outcome = NULL")
    ended = run(*command, **environment)
    assert (ended.returncode, rows(ended)[1:]) == (3, [(ANY, "open", None)])


@contextmanager
def database_with_an_open_call(folder: Path) -> Iterator[LedgerStore]:
    """Keep one open call in tables of its own, and drop them at the end."""
    store = LedgerStore("postgres", folder)

    async def record() -> None:
        async with aclosing(store.ledger()) as ledger:
            await ledger.record_intent(OPEN)

    try:
        anyio.run(record)
        yield store
    finally:
        store.drop()


@postgres_only
def test_database_call(tmp_path: Path) -> None:
    """The address of the database lists the call, and its api id resolves it."""
    with database_with_an_open_call(tmp_path) as store:
        assert rows(run("ledger", *store.arguments, "--json")) == [("order-17", "open", None)]
        run("ledger", *store.arguments, "--resolve", "order-17", "--as", "not_made")
        assert rows(run("ledger", *store.arguments, "--json", "--all")) == [("order-17", "not_made", None)]


@postgres_only
def test_database_advice(tmp_path: Path) -> None:
    """The command for the next step has a placeholder, and says what to do about it."""
    with database_with_an_open_call(tmp_path) as store:
        scheme, _, rest = store.arguments[0].partition("://")
        user, _, host = rest.partition("@")
        shown = run_on_terminal("ledger", f"{scheme}://{user}:planted-82c1@{host}", *store.arguments[1:]).stdout
    told = " ".join(shown.split())
    assert "planted" not in told
    assert f"ledger '{scheme}://{user}:***@{host}' --table {store.table} --recover # *** hides a secret" in told
