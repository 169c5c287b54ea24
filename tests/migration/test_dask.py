"""The migration on Dask: real workers in processes of their own, killed in mid-run, and a sandbox's ledger to judge."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import AsyncGateway, InvalidRequestError
from gateway_async.migration import PostgresJournal, dask, migrate_vaults, migrate_vaults_dask, read_rows
from gateway_async.migration.journal.protocol import RowResult
from gateway_async.migration.journal.store import SqliteJournal
from gateway_async.migration.rate import SteadyRate
from gateway_async.migration.report import Report, Totals
from gateway_async.migration.rows.row import VaultRow, api_id_of
from gateway_async.migration.shard_job import ShardJob
from gateway_async.migration.sources.files import shards
from gateway_async.sandbox import Sandbox
from tests.support.processes import run, start
from tests.support.waiting import PATIENCE

from .cluster import Cluster, cluster_of, stamping_gateway
from .files import OTHER_CARD, row, write_rows
from .journals import counts

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'gateway-async[dask]'")

POSTGRES = os.environ.get("GATEWAY_TEST_POSTGRES", "")
REDIS = os.environ.get("GATEWAY_TEST_REDIS", "")
SHORT = 600
LONG = int(os.environ.get("GATEWAY_DASK_ROWS", SHORT))
RATE = 70.0
KILLS = 2 if LONG == SHORT else 5
services = pytest.mark.skipif(
    not (POSTGRES and REDIS), reason="needs GATEWAY_TEST_POSTGRES=postgresql://… and GATEWAY_TEST_REDIS=redis://…"
)

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One sandbox for all tests; each has its own migration, and so ids of its own."""
    with Sandbox() as box:
        yield box


@pytest.fixture(scope="module")
def cluster(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(tmp_path_factory.mktemp("cluster"), sandbox.environment()) as made:
        yield made


@pytest.fixture
def name() -> str:
    return f"test-{token_hex(4)}"


@pytest.fixture
async def database(name: str) -> AsyncIterator[str]:
    """The address of a PostgreSQL in which the migration has a schema of its own, dropped afterwards."""
    import asyncpg

    connection = await asyncpg.connect(POSTGRES)
    await connection.execute(f'CREATE SCHEMA "{name}"')
    joint = "&" if "?" in POSTGRES else "?"
    yield f"{POSTGRES}{joint}search_path={name}"
    await connection.execute(f'DROP SCHEMA "{name}" CASCADE')
    await connection.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=services)])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A journal that all processes find: in a file, or in a PostgreSQL."""
    if request.param == "postgres":
        return request.getfixturevalue("database")
    return partial(SqliteJournal, tmp_path / "cards.journal")


@pytest.fixture
def migrate(cluster: Cluster, tmp_path: Path, name: str) -> Callable[..., Any]:
    """The migration of a file on the cluster, with a journal in a file."""
    journal = partial(SqliteJournal, tmp_path / "cards.journal")
    return partial(migrate_vaults_dask, cluster.address, journal=journal, name=name, concurrency=16)


@pytest.fixture
def migrate_together(database: str, name: str) -> Callable[..., Any]:
    """The migration of a file on any cluster, with the journal and the rate that all of its workers share."""
    return partial(migrate_vaults_dask, journal=database, name=name, redis=REDIS, rate=RATE, concurrency=4)


def write_cards(folder: Path, count: int) -> tuple[list[str], Path]:
    keys = [f"k{number}" for number in range(count)]
    return keys, write_rows(folder / "cards.jsonl", [row(key) for key in keys])


def times_stored(sandbox: Sandbox, name: str, keys: list[str]) -> list[int]:
    """How often the account of each key was stored, by the sandbox's ledger."""
    stored = sandbox.ledger()["stored"]
    return [stored.get(api_id_of(name, key), 0) for key in keys]


# --- how a file is migrated


async def test_every_shard_is_carried_out_once(migrate: Any, sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    keys, path = write_cards(tmp_path, 200)
    first = await migrate(path, rows_per_shard=60)
    second = await migrate(path, rows_per_shard=90)
    assert (counts(first), counts(second)) == ((200, 0, 0, 0), (0, 0, 0, 200))
    assert times_stored(sandbox, name, keys) == [1] * 200
    assert first.complete


async def test_what_is_not_stored_is_told_with_its_row(migrate: Any, journal: Any, tmp_path: Path) -> None:
    rows = [row(f"k{number}") for number in range(20)]
    rows += [row("k3", OTHER_CARD), row("short", "411")]
    told: list[tuple[VaultRow, RowResult]] = []
    path = write_rows(tmp_path / "cards.jsonl", rows)
    report = await migrate(path, journal=journal, rows_per_shard=20, on_row=lambda each, end: told.append((each, end)))
    assert (counts(report), report.repeated) == ((20, 1, 0, 0), 1)
    assert report.totals == Totals(stored=20, rejected=1, repeated=1)
    assert [(each.key, each.line, end.line) for each, end in sorted(told, key=lambda pair: pair[1].line or 0)] in (
        [("k3", 21, 21), ("short", 22, 22)],
        [("k3", 4, 4), ("short", 22, 22)],  # the second shard was quicker
    )
    assert any("has the same key" in reason for _, end in told for reason in end.reasons)


async def test_a_shard_that_is_carried_out_twice_at_once(
    cluster: Cluster, sandbox: Sandbox, journal: Any, name: str, tmp_path: Path
) -> None:
    keys, path = write_cards(tmp_path, 300)
    (shard,) = shards(path, 1000)
    work = ShardJob(path=str(path), size=path.stat().st_size, name=name, journal=journal, since=1)
    async with distributed.Client(cluster.address, asynchronous=True, set_as_default=False) as client:
        await client.wait_for_workers(2, timeout=PATIENCE)
        submit = partial(client.submit, dask.run_shard, name, work, shard, pure=False, allow_other_workers=False)
        results = await asyncio.gather(*(submit(workers=[worker]) for worker in await client.nthreads()))
    assert [result.report.rows for result in results] == [300, 300]
    assert times_stored(sandbox, name, keys) == [1] * 300


async def test_it_stops_when_asked(migrate: Any, sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    keys, path = write_cards(tmp_path, 400)
    stopped = await migrate(
        path,
        rows_per_shard=100,
        rate=partial(SteadyRate, 20),  # so that it takes 10 s, however quick the machine
        stop_when=lambda report: "enough" if report.stored else None,
    )
    assert (stopped.stopped, stopped.complete, 0 < stopped.stored < 400) == ("enough", False, True)
    assert sum(times_stored(sandbox, name, keys)) == stopped.stored
    rest = await migrate(path, rows_per_shard=100)
    assert (rest.stored, rest.complete) == (400 - stopped.stored, True)
    assert times_stored(sandbox, name, keys) == [1] * 400


async def test_it_is_cancelled(migrate: Any, sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    """Workers stop when the caller's task is cancelled."""
    keys, path = write_cards(tmp_path, 2000)
    scope = anyio.CancelScope()

    def cancel_soon(report: Report) -> None:
        if report.stored:
            scope.cancel()

    with scope:
        await migrate(path, rows_per_shard=1000, rate=partial(SteadyRate, 100), on_progress=cancel_soon)
    assert scope.cancelled_caught
    await anyio.sleep(0.5)
    stored = sum(times_stored(sandbox, name, keys))
    await anyio.sleep(0.5)
    assert 0 < stored == sum(times_stored(sandbox, name, keys)) < 2000


# --- a cap on the rows that are stored


@services
async def test_the_command_keeps_to_its_cap(
    cluster: Cluster, sandbox: Sandbox, database: str, name: str, tmp_path: Path
) -> None:
    keys, path = write_cards(tmp_path, 3000)
    options = ("--dask", cluster.address, "--journal", database, "--name", name, "--max-rows", "50", "--json")
    for number in (1, 2):
        ended = await anyio.to_thread.run_sync(lambda: run("migrate", str(path), *options, **sandbox.environment()))
        *progress, end = [json.loads(line) for line in ended.stdout.splitlines()]
        assert (ended.returncode, end["stored"], end["stopped"]) == (5, 50, "maximum of 50 rows stored")
        assert sum(times_stored(sandbox, name, keys)) == 50 * number
        assert {event["event"] for event in progress} == {"progress"}
        assert all(event["share"] is not None for event in progress)
        assert (end["gateway"], end["location"]) == (sandbox.base_url, sandbox.location_id)


@services
async def test_the_live_page_shows_all_workers(
    cluster: Cluster, sandbox: Sandbox, database: str, name: str, tmp_path: Path
) -> None:
    _, path = write_cards(tmp_path, 200)
    options = ("--dask", cluster.address, "--journal", database, "--name", name, "--redis", REDIS, "--rate", "50")
    with start("migrate", str(path), *options, "--serve", "0", **sandbox.environment()) as process:
        assert process.stderr
        address = process.stderr.readline().rstrip().removeprefix("Live page: ")
        counts: list[str] = []
        async with httpx.AsyncClient(timeout=PATIENCE) as http, http.stream("GET", f"{address}/events") as response:
            async for line in response.aiter_lines():
                counts += re.findall(r"<dt>Stored</dt><dd>(\d+)</dd>", line)
                if line == "data: </main></body></html>":  # the report has no script
                    break
        assert (await anyio.to_thread.run_sync(process.collect)).returncode == 0
    assert (counts[0], counts[-1]) == ("0", "200")
    assert len(counts) > 2


async def test_a_cap_goes_from_shard_to_shard(migrate: Any, sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    keys, path = write_cards(tmp_path, 400)
    first = await migrate(path, rows_per_shard=50, max_rows=70)
    told: list[str] = []
    # The last rows, as any of the first shards may have stored those of the first run.
    bad = [row(key) for key in keys[:370]] + [row(key, "411") for key in keys[370:]]
    write_rows(path, bad)
    second = await migrate(path, rows_per_shard=50, max_rows=230, on_row=lambda each, _: told.append(each.key))
    assert (counts(first), first.at_cap) == ((70, 0, 0, 0), True)
    assert (second.stored, second.at_cap, second.skipped <= 70) == (230, True, True)
    assert (len(told), len(set(told))) == (second.rejected, second.rejected)
    third = await migrate(path, rows_per_shard=50, max_rows=1000)
    assert (counts(third), third.at_cap, third.share) == ((70, 30, 0, 300), False, 1.0)
    assert sum(times_stored(sandbox, name, keys)) == 370


@services
async def test_killed_workers_do_not_exceed_a_cap(
    migrate_together: Any, sandbox: Sandbox, name: str, tmp_path: Path
) -> None:
    keys, path = write_cards(tmp_path, 600)
    most = [0]
    with cluster_of(tmp_path, sandbox.environment()) as cluster:
        killer = Killer(cluster, 300)

        def look(report: Report) -> None:
            killer.look(report)
            most[0] = max(most[0], report.stored)

        report = await migrate_together(cluster.address, path, rows_per_shard=100, max_rows=300, on_progress=look)
    stored = times_stored(sandbox, name, keys)
    assert killer.kills == KILLS
    assert report.stopped.startswith("maximum of 300 rows")
    lost = KILLS * (4 + 3 * 16)  # rows in progress, and rows that were read ahead, started or reserved
    assert report.totals is not None
    assert 300 - lost <= report.stored <= sum(stored) <= report.stored + report.totals.sending
    assert most[0] <= sum(stored)  # a killed worker may have reported rows that the journal still has as sent
    assert sum(stored) <= 300
    assert max(stored) == 1


# --- workers that die


@services
@pytest.mark.timeout(1800)
async def test_killed_workers_double_and_lose_nothing(
    migrate_together: Any, sandbox: Sandbox, database: str, name: str, tmp_path: Path
) -> None:
    # GATEWAY_DASK_ROWS=5000 pytest -s tests/migration/test_dask.py -k killed: takes longer, and keeps the rate to 5 %.
    keys = [f"k{number}" for number in range(LONG)]
    bad = [row(f"bad{number}", "411") for number in range(5)]
    repeated = [row(keys[number * 7 % LONG], OTHER_CARD) for number in range(30)]
    path = write_rows(tmp_path / "cards.jsonl", [*map(row, keys[:300]), *bad, *repeated, *map(row, keys[300:]), *bad])
    with cluster_of(tmp_path, sandbox.environment()) as cluster:
        killer = Killer(cluster, LONG)
        async with distributed.Client(cluster.address, asynchronous=True, set_as_default=False) as client:
            await client.wait_for_workers(2, timeout=PATIENCE)
            report = await migrate_together(
                client, path, rows_per_shard=50, gateway=stamping_gateway, on_progress=killer.look
            )
    rate = _rate_of(cluster.stamps())
    print(f"{LONG} rows, {killer.kills} workers killed, {rate:.2f} calls a second of {RATE:g}")  # noqa: T201  with -s
    assert (counts(report), report.repeated, killer.kills) == ((LONG, 10, 0, 0), 30, KILLS)
    assert report.totals == report.ended == Totals(stored=LONG, rejected=10, repeated=30)
    async with sandbox.gateway() as gateway:
        again = await migrate_vaults(gateway, read_rows(path), journal=PostgresJournal(database, name))
    assert (counts(again), again.totals) == ((0, 10, 0, LONG), report.totals)
    assert times_stored(sandbox, name, keys) == [1] * LONG
    assert (RATE * 0.95 if LONG > SHORT else 0) < rate < RATE * 1.05


class Killer:
    """Kills workers, evenly over the rows; each time another one comes.

    Attributes:
        kills: how many it has killed.
    """

    def __init__(self, cluster: Cluster, rows: int) -> None:
        self._cluster = cluster
        self._rows = rows
        self.kills = 0

    def look(self, report: Report) -> None:
        if self.kills < KILLS and report.stored > self._rows * (self.kills + 1) / (KILLS + 1):
            self._cluster.kill_worker()
            self._cluster.add_worker()
            self.kills += 1


def _rate_of(stamps: list[float]) -> float:
    return (len(stamps) - 1) / (stamps[-1] - stamps[0])


async def test_no_worker_is_waited_for_in_vain(sandbox: Sandbox, name: str, tmp_path: Path) -> None:
    _, path = write_cards(tmp_path, 5000)
    seen: list[str] = []
    killed: list[bool] = []
    with cluster_of(tmp_path, sandbox.environment(), workers=1) as cluster:

        def kill_it(report: Report) -> None:
            if report.stored and not killed:
                cluster.kill_worker()
                killed.append(True)
            seen.append(report.waits_for)

        journal = partial(SqliteJournal, tmp_path / "cards.journal")
        report = await migrate_vaults_dask(
            cluster.address, path, journal=journal, name=name, give_up_after=3, on_progress=kill_it
        )
    assert (report.stopped, "no worker is connected" in seen) == ("no worker was connected for 3 s", True)


# --- what is refused, before anything is sent


async def test_a_worker_that_cannot_see_the_file(
    migrate: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "cards.jsonl", [row("k")])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InvalidRequestError, match=r"worker tcp://.*path: /proc/self/cwd/cards.jsonl cannot be read here"
    ):
        await migrate("/proc/self/cwd/cards.jsonl")


async def test_a_worker_that_sees_another_file(
    migrate: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(cluster.folder / "other.jsonl", [row("k"), row("l")])
    write_rows(tmp_path / "other.jsonl", [row("k")])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidRequestError, match="as on the coordinator"):
        await migrate("/proc/self/cwd/other.jsonl")


async def test_a_worker_without_credentials(migrate: Any, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    with pytest.raises(InvalidRequestError, match=r"worker tcp://.*developer_id"):
        await migrate(path, gateway=partial(AsyncGateway, "http://127.0.0.1:1", developer_id="", credentials=None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rate": 50.0}, "rate: redis required"),
        ({"rate": -1.0, "redis": "redis://127.0.0.1"}, "rate: must be a number above 0"),
        ({"concurrency": 0}, "concurrency: must be a number above 0"),
        ({"rows_per_shard": 0}, "rows_per_shard: must be a number above 0"),
        ({"max_rows": 0}, "max_rows: must be a number above 0"),
        ({"give_up_after": float("inf")}, "give_up_after: must be a number above 0"),
    ],
)
async def test_bad_numbers(migrate: Any, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    """Wrong arguments are rejected by their names."""
    with pytest.raises(InvalidRequestError, match=said):
        await migrate(write_rows(tmp_path / "cards.jsonl", []), **options)


async def test_a_file_without_a_key(migrate: Any, tmp_path: Path) -> None:
    path = tmp_path / "cards.csv"
    path.write_text("account_number,exp_date\n4111111111111111,1230\n")
    with pytest.raises(InvalidRequestError, match=r"key: no column names the rows .*--key COLUMN"):
        await migrate(path)


async def test_an_address_where_no_scheduler_is(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    with _impatience(), pytest.raises(InvalidRequestError, match="scheduler: tcp"):
        await migrate_vaults_dask("tcp://127.0.0.1:1", path, journal=partial(SqliteJournal, tmp_path / "j"), name="m")


async def test_a_scheduler_without_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "_FIRST_WORKER_SECONDS", 0.3)
    path = write_rows(tmp_path / "cards.jsonl", [row("k")])
    with (
        cluster_of(tmp_path, {}, workers=0) as cluster,
        pytest.raises(InvalidRequestError, match="no worker connected"),
    ):
        await migrate_vaults_dask(cluster.address, path, journal=partial(SqliteJournal, tmp_path / "j"), name="m")


def _impatience() -> Any:
    """Dask waits half a minute for a scheduler; half a second here."""
    import dask.config

    return dask.config.set({"distributed.comm.timeouts.connect": "500ms"})
