"""The figures of a migration: each row has one class, whatever is killed, repeated or refused, and they add up."""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import anyio.lowlevel
import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway_async import AccountVault, NotFoundError, OutcomeUnknownError, ValidationError
from gateway_async.cli.migrate.display import format_counts
from gateway_async.migration import Totals, migrate_vaults, plan_migration, read_rows, verify_vaults
from gateway_async.migration import report as report_module
from gateway_async.migration.journal.protocol import RowResult, RowState
from gateway_async.migration.journal.store import SqliteJournal
from gateway_async.migration.output.page import render_page
from gateway_async.migration.output.summary import RunContext, RunProgress, as_values
from gateway_async.migration.report import Report
from gateway_async.migration.rows.row import VaultRow

from .files import CARD, HEADER

pytestmark = pytest.mark.asyncio

TAKEN = ValidationError(422, fields={"account_vault_api_id": ("has already been taken.",)})
REFUSED = ValidationError(422, fields={"account_holder_name": ("is not nice.",)})


class Gateway:
    """Stores accounts, refuses one holder, loses some responses, and can die.

    Attributes:
        kept: the stored accounts by their id.
        creates: the number of creates so far.
        lost: the number of the create whose response is lost.
        dies_at: the number of the create with which everything ends, before it or after it.
        on_death: called at that moment.
    """

    def __init__(self) -> None:
        self.kept: dict[str, AccountVault] = {}
        self.creates = self.lost = self.dies_at = 0
        self.is_dead = False
        self.on_death: Callable[[], object] = int
        self.account_vaults: Any = self
        self.base_url = "https://gateway.test"
        self.location_id = "here"

    def observing(self, _observer: object) -> AbstractContextManager[None]:
        return nullcontext()

    async def create(self, new: Any) -> AccountVault:
        """Store an account, unless this is the end."""
        await self._live()
        self.creates += 1
        number, name = self.creates, new.account_vault_api_id
        if number == self.dies_at and number % 2:
            await self._die()
        if name in self.kept:
            raise TAKEN
        if new.account_holder_name == "Refused":
            raise REFUSED
        self.kept[name] = AccountVault(
            id=f"v-{name}",
            account_vault_api_id=name,
            last_four=new.account_number.reveal()[-4:],
            exp_date=new.exp_date,
            account_holder_name=new.account_holder_name,
        )
        if number == self.dies_at:
            await self._die()
        await self._live()
        if number == self.lost:
            raise OutcomeUnknownError("no response", resolve=self._cannot_resolve)
        return self.kept[name]

    async def get(self, ref: Any) -> AccountVault:
        """Read an account by either id."""
        await self._live()
        name = ref.removeprefix("v-") if isinstance(ref, str) else ref.value
        if name not in self.kept:
            raise NotFoundError(404)
        return self.kept[name]

    async def _cannot_resolve(self, _wait: float) -> AccountVault | None:
        raise OutcomeUnknownError("no response", resolve=self._cannot_resolve)

    async def _live(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self.is_dead:
            await anyio.sleep_forever()

    async def _die(self) -> None:
        self.is_dead = True
        self.on_death()
        await anyio.sleep_forever()


@attrs.define
class Migration:
    """Runs of a file's migration.

    Attributes:
        states: of the last run: line → state.
    """

    folder: Path
    path: Path
    gateway: Gateway = attrs.field(factory=Gateway)
    journal: Path = attrs.field()
    states: dict[int | None, RowState] = attrs.field(factory=dict)

    @journal.default
    def _first_journal(self) -> Path:
        return self.folder / "0.journal"

    async def run(self, *, dies_at: int = 0, lost: int = 0, max_rows: int | None = None) -> Report | None:
        """One run; None if it was killed. Then the next one has the journal as it was at that moment."""
        self.states = {}
        gateway: Any = self.gateway
        gateway.dies_at = gateway.creates + dies_at if dies_at else 0
        gateway.lost = gateway.creates + lost if lost else 0
        gateway.is_dead = False
        report: Report | None = None
        with anyio.CancelScope() as scope:
            gateway.on_death = partial(self._end, scope)
            report = await migrate_vaults(
                gateway,
                read_rows(self.path),
                journal=self.journal,
                name="cards",
                concurrency=3,
                give_up_after=0.01,
                max_rows=max_rows,
                on_row=self._keep,
            )
        if report is None:
            self.journal = self.folder / f"{self.gateway.creates}.journal"
        return report

    async def counts(self) -> Totals:
        """The figures of the journal; those of its rows are the same."""
        journal = SqliteJournal(self.journal)
        totals = Totals.from_counts(await journal.counts())
        rows = [*await journal.entries(), *await journal.not_started()]
        await journal.aclose()
        assert Totals.from_counts(Counter(row.state for row in rows)) == totals
        return totals

    def _keep(self, row: VaultRow, result: RowResult) -> None:
        assert row.line not in self.states
        self.states[row.line] = result.state

    def _end(self, scope: anyio.CancelScope) -> None:
        self._copy_journal()
        scope.cancel()

    def _copy_journal(self) -> None:
        with (
            closing(sqlite3.connect(self.journal)) as source,
            closing(sqlite3.connect(self.folder / f"{self.gateway.creates}.journal")) as target,
        ):
            source.backup(target)


row_texts = st.builds(
    lambda key, number, expiry, name: f"{key},{number},{expiry},{name}",
    st.sampled_from(["a", "b", "c", "1001", "1001.0", "007", ""]),
    st.sampled_from([CARD, "4242424242424242", CARD[:-1] + "2"]),
    st.sampled_from(["1230", "1130", "13/30", "2030-09-27", "2030-09-30"]),
    st.sampled_from(["Ann", "Bob", "Refused"]),
) | st.sampled_from(["a,b", "x,y,z,1,2", '"stray,1,2,3'])
interruptions = st.lists(
    st.fixed_dictionaries(
        {}, optional={"dies_at": st.integers(1, 6), "lost": st.integers(1, 6), "max_rows": st.integers(1, 5)}
    ),
    max_size=3,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(row_texts, max_size=14), interruptions=interruptions)
async def test_the_figures_add_up(rows: list[str], interruptions: list[dict[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "cards.csv"
        path.write_text("\n".join([HEADER, *rows]) + "\n")
        migration = Migration(Path(name), path)
        for options in interruptions:
            report = await migration.run(**options)
            if report is not None:
                totals = await migration.counts()
                assert report.totals == totals
                assert totals.rows <= len(rows)
                assert report.ended.rows == len(migration.states)
        classes = []
        for _ in range(2):
            report = await migration.run()
            assert report is not None
            totals = await migration.counts()
            assert (report.complete, report.totals, report.ended) == (True, totals, totals)
            assert totals.rows == len(rows) == len(migration.states)
            assert Totals.from_counts(Counter(migration.states.values())) == totals
            classes.append(migration.states)
        assert classes[0] == classes[1]
        plan = await plan_migration(read_rows(path))
        refused = sum(state is RowState.REJECTED for state in classes[0].values()) - plan.rejected
        assert (plan.rows, plan.repeated, plan.ready) == (len(rows), totals.repeated, totals.stored + refused)
        gateway: Any = migration.gateway
        checked = await verify_vaults(gateway, journal=migration.journal, rows=read_rows(path))
        assert checked.totals == totals
        assert (checked.matching, checked.different, checked.missing) == (totals.stored, 0, 0)
        assert checked.not_stored == totals.rejected + totals.repeated
        assert {finding.line: bool(finding.details) for finding in checked.findings} == {
            line: True for line, state in classes[0].items() if state is not RowState.STORED
        }
        assert len(migration.gateway.kept) == totals.stored


async def test_running_totals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a run goes on, page, terminal and JSON show the rows of all runs, and so does the report at the end."""
    monkeypatch.setattr(report_module, "_COUNT_PAUSE", 0.0)
    path = tmp_path / "cards.csv"
    path.write_text("\n".join([HEADER, *(f"{key},{CARD},1230,Ann" for key in range(2000))]), encoding="utf-8")
    seen: list[tuple[int, int]] = []

    def look(report: Report) -> None:
        assert report.totals is not None
        stored = report.totals.stored
        seen.append((stored, report.stored))
        context = RunContext(progress=RunProgress(rate=1.0, share=0.5, eta=None))
        assert f"<dt>Stored</dt><dd>{stored:,}</dd>" in render_page(report, context)
        assert format_counts(report).plain.startswith(f"{stored:,} stored")
        assert as_values(report, context)["totals"]["stored"] == stored

    gateway: Any = Gateway()
    first = await migrate_vaults(gateway, read_rows(path), journal=tmp_path / "cards.journal", max_rows=900)
    report = await migrate_vaults(gateway, read_rows(path), journal=tmp_path / "cards.journal", on_progress=look)
    assert first.totals == Totals(stored=900)
    assert seen[0] == (900, 0)
    assert [total for total, _ in seen] == sorted(total for total, _ in seen)
    assert all(total >= 900 for total, _ in seen)
    assert (report.stored, report.skipped, report.totals) == (1100, 900, Totals(stored=2000))
