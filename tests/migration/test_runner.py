"""Results of rows, whatever the gateway and the journal do, on a virtual clock."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import anyio
import attrs
import pytest

from gateway_async import (
    AccountVault,
    AuthenticationError,
    CardVaultCreate,
    GatewayError,
    InvalidRequestError,
    JournalError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitError,
    RecordDeletedError,
    ServerError,
    ValidationError,
)
from gateway_async.migration.journal.protocol import JournalEntry, RowResult, RowStarted, RowState
from gateway_async.migration.migrate import migrate_vaults
from gateway_async.migration.report import Report, ReportCallbacks, Totals
from gateway_async.migration.rows.row import VaultRow, fingerprint_of
from gateway_async.observe import AttemptFailed, NextStep
from tests.support.virtual_time import virtual_time

from .journals import MemoryJournal, counts

pytestmark = pytest.mark.anyio
anyio_backend = virtual_time

NUMBERS = {"1111": "4111111111111111", "4242": "4242424242424242"}
DOWN = ServerError(503)
TAKEN = ValidationError(422, fields={"account_vault_api_id": ("has already been taken.",)})
WRONG = ValidationError(422, fields={"title": ("is not nice.", "4111111111111111?"), "": ("no.",)})


class FakeGateway:
    """Stores accounts by their ids, and fails as it is told.

    Attributes:
        sent: the ids of all requests to store something, in order.
        looked: those that were looked up.
        kept: what is stored.
        when_sent, when_looked: what happens next to the requests of an id ("" for every one): errors to be raised,
            or None for none; when the list is used up, none.
        always: the error of every other request; None for none.
    """

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.looked: list[str] = []
        self.kept: dict[str, AccountVault] = {}
        self.when_sent: dict[str, list[GatewayError | None]] = defaultdict(list)
        self.when_looked: dict[str, list[GatewayError | None]] = defaultdict(list)
        self.always: GatewayError | None = None
        self.account_vaults: Any = self
        self.base_url = "https://gateway.test"
        self.location_id = "here"
        self._observers: list[Any] = []

    @contextmanager
    def observing(self, observer: Any) -> Iterator[None]:
        self._observers.append(observer)
        yield
        self._observers.remove(observer)

    async def create(self, new: Any) -> AccountVault:
        name = new.account_vault_api_id
        self.sent.append(name)
        await self._respond(name, self.when_sent)
        if name in self.kept:
            raise TAKEN
        return self.keep(name, new.account_number.reveal()[-4:] if new.account_number else None)

    async def get(self, ref: Any) -> AccountVault:
        self.looked.append(ref.value)
        await self._respond(ref.value, self.when_looked)
        if ref.value not in self.kept:
            raise NotFoundError(404)
        return self.kept[ref.value]

    def keep(self, name: str, last_four: str | None = "1111", exp_date: str = "1230") -> AccountVault:
        self.kept[name] = AccountVault(id=f"v-{name}", last_four=last_four, exp_date=exp_date)
        return self.kept[name]

    async def _respond(self, name: str, plans: dict[str, list[GatewayError | None]]) -> None:
        await anyio.sleep(0.01)
        plan = plans[name] or plans[""]
        error = plan.pop(0) if plan else self.always
        if error is not None:
            for observer in self._observers:
                observer(AttemptFailed(call="", attempt=1, error=error, next_step=NextStep.STOP))
            raise error

    async def recover_after(self, seconds: float) -> None:
        """Answer every request after a while."""
        await anyio.sleep(seconds)
        self.always = None


async def hang(*_: Any) -> Any:
    """Hang, whatever the arguments."""
    await anyio.sleep_forever()


class Migration:
    """Runs of one migration.

    Attributes:
        ends: of the last run, by key; of several with one key the last.
    """

    def __init__(self) -> None:
        self.gateway = FakeGateway()
        self.journal = MemoryJournal()
        self.ends: dict[str, RowResult] = {}

    async def run(self, rows: Any, **options: Any) -> Report:
        self.ends = {}
        gateway: Any = self.gateway

        def keep(_row: VaultRow, end: RowResult) -> None:
            self.ends[end.key] = end

        return await migrate_vaults(gateway, rows, journal=self.journal, on_row=keep, **options)


@pytest.fixture
def migration() -> Migration:
    return Migration()


def row(key: str, last_four: str = "1111", *, line: int | None = None, **fields: Any) -> VaultRow:
    given: dict[str, Any] = {"account_number": NUMBERS[last_four], "exp_date": "1230"}
    given |= {"account_vault_api_id": f"id-{key}"} | fields
    return VaultRow(key=key, line=line, request=CardVaultCreate(**given))


def rows(count: int) -> list[VaultRow]:
    return [row(f"{number:05}", line=number + 2) for number in range(count)]


def lost(stored: AccountVault | None = None) -> OutcomeUnknownError:
    """A write whose response was lost; what looking for it longer says."""

    async def resolve(_: float) -> AccountVault | None:
        return stored

    return OutcomeUnknownError("no response", resolve=resolve)


# --- rows


async def test_rows_are_stored_once_and_skipped_the_next_time(migration: Migration) -> None:
    assert counts(await migration.run(rows(300))) == (300, 0, 0, 0)
    assert counts(report := await migration.run(rows(300))) == (0, 0, 0, 300)
    assert (report.complete, report.stopped, len(migration.gateway.sent)) == (True, "", 300)
    end = migration.ends["00007"]
    assert (end.vault_id, end.last_four, end.line) == ("v-id-00007", "1111", 9)


async def test_requests_themselves_are_rows(migration: Migration) -> None:
    requests = [attr.request for attr in rows(2)]
    nameless = CardVaultCreate(account_number=NUMBERS["1111"], exp_date="1230")

    async def source() -> AsyncIterator[Any]:
        for request in (*requests, nameless):
            yield request

    assert counts(await migration.run(source())) == (2, 1, 0, 0)
    assert migration.ends[""].reasons == ("key: required (or account_vault_api_id)",)
    assert set(migration.journal.kept) == {"id-00000", "id-00001"}


async def test_something_else_is_no_row(migration: Migration) -> None:
    with pytest.raises(InvalidRequestError, match="rows: must be VaultRows or vault-create requests, not dict"):
        await migration.run([{"account_number": "…"}])
    assert migration.journal.is_closed


async def test_an_id_is_made_of_names(migration: Migration) -> None:
    bare = [row("a", account_vault_api_id=None)]
    await migration.run(bare)
    migration.journal = MemoryJournal()
    assert counts(await migration.run(bare)) == (1, 0, 0, 0)
    assert len(set(migration.gateway.sent)) == len(migration.gateway.kept) == 1


async def test_a_key_that_occurs_twice(migration: Migration) -> None:
    given = [*rows(1000), row("00999", "4242", line=1500), row("00000", "4242", line=1501), row("00001", line=1502)]
    for stored, skipped in ((1000, 0), (0, 1000)):
        report = await migration.run(given)
        assert (counts(report), report.repeated) == ((stored, 0, 0, skipped), 3)
        assert (migration.ends["00000"].state, migration.ends["00000"].reasons) == (
            RowState.REPEATED,
            ("key: line 2 has the same key",),
        )
        assert set(migration.journal.states().values()) == {"stored"}
        assert report.totals == Totals(stored=1000, repeated=3)


async def test_of_rows_with_one_key_the_first_that_can_be_sent_wins(migration: Migration) -> None:
    bad = VaultRow(key="a", line=2, problems=("exp_date: is missing",))
    given = [bad, row("a", line=3), attrs.evolve(bad, line=4), row("a", "4242", line=5)]
    for stored, skipped in ((1, 0), (0, 1)):
        report = await migration.run(given)
        assert (counts(report), report.repeated) == ((stored, 2, 0, skipped), 1)
        assert report.totals == Totals(stored=1, rejected=2, repeated=1)
    assert [(entry.line, entry.state) for entry in migration.journal.others.values()] == [
        (2, RowState.REJECTED),
        (4, RowState.REJECTED),
        (5, RowState.REPEATED),
    ]
    assert migration.gateway.sent == ["id-a"]


async def test_a_row_does_not_take_the_place_of_one_that_the_gateway_refused(migration: Migration) -> None:
    migration.gateway.when_sent["id-a"] = [WRONG]
    first, second = row("a", line=2), row("a", "4242", line=3)
    for _ in range(2):
        report = await migration.run([first, second], concurrency=1)
        assert (counts(report), report.repeated) == ((0, 1, 0, 0), 1)
    report = await migration.run([second])
    assert (counts(report), report.repeated) == ((1, 0, 0, 0), 0)
    assert report.totals == Totals(stored=1)


async def test_what_is_no_longer_in_the_input_is_forgotten_if_it_was_not_sent(migration: Migration) -> None:
    bad = VaultRow(key="", line=1000, problems=("row: has 2 cells",))
    await migration.run([*rows(30), bad, row("00000", "4242", line=1001)])
    stopped = await migration.run(rows(32), max_rows=1)
    assert (stopped.at_cap, stopped.totals) == (True, Totals(stored=31, rejected=1, repeated=1))
    assert (await migration.run(rows(31))).totals == Totals(stored=31)


async def test_a_corrected_row_counts_once_in_a_run_that_stops(migration: Migration) -> None:
    migration.gateway.when_sent["id-b"] = [WRONG]
    bad = VaultRow(key="a", line=2, problems=("exp_date: is missing",))
    assert (await migration.run([bad, row("b", line=3)])).totals == Totals(rejected=2)
    stopped = await migration.run([row("a", line=2), row("b", line=3)], max_rows=1)
    assert stopped.totals == Totals(stored=1, rejected=1)
    broken = attrs.evolve(bad, key="b", line=3)
    assert (await migration.run([row("a", line=2), broken])).totals == Totals(stored=1, rejected=1)


async def test_rows_of_two_files_may_have_the_same_lines(migration: Migration) -> None:
    bad = VaultRow(key="", line=4, problems=("row: has 2 cells",))
    given = [*rows(3), bad, *rows(3), bad]
    for _ in range(2):
        report = await migration.run(given)
        assert report.totals == Totals(stored=3, rejected=2, repeated=3)
        assert report.ended == report.totals


async def test_a_row_that_cannot_be_read(migration: Migration) -> None:
    bad = VaultRow(key="a", line=2, problems=("exp_date: is missing", "account_number: 4111111111111111 is it"))
    assert counts(await migration.run([bad, VaultRow(key="b")])) == (0, 2, 0, 0)
    assert migration.ends["a"].reasons == ("exp_date: is missing", "account_number: ************1111 is it")
    assert [(entry.key, entry.state) for entry in await migration.journal.not_started()] == [
        ("a", "rejected"),
        ("b", "rejected"),
    ]
    assert counts(await migration.run([row("a"), bad])) == (1, 1, 0, 0)
    assert migration.journal.states() == {"a": "stored"}


async def test_a_card_number_in_the_wrong_column_is_not_kept(migration: Migration) -> None:
    await migration.run([VaultRow(key=NUMBERS["1111"], line=2, problems=("account_number: must be digits only",))])
    assert [entry.key for entry in await migration.journal.not_started()] == ["************1111"]
    assert list(migration.ends) == ["************1111"]


@pytest.mark.parametrize(
    "row_of", [lambda: row(NUMBERS["1111"]), lambda: row("a", account_vault_api_id=NUMBERS["1111"])]
)
async def test_a_card_number_is_neither_a_key_nor_an_id(migration: Migration, row_of: Callable[[], VaultRow]) -> None:
    assert counts(await migration.run([row_of()])) == (0, 1, 0, 0)
    assert not migration.gateway.sent
    (entry,) = await migration.journal.not_started()
    assert entry.reasons[0].startswith("key: contains a card number")
    assert NUMBERS["1111"] not in repr((entry, migration.ends))


@pytest.mark.parametrize("key", ["", "a\0", "\ud800"])
async def test_a_key_that_cannot_be_kept(migration: Migration, key: str) -> None:
    assert counts(report := await migration.run([row(key, account_vault_api_id="x")])) == (0, 1, 0, 0)
    assert not migration.journal.kept
    assert report.totals == Totals(rejected=1)
    assert [entry.key for entry in await migration.journal.not_started()] == [""]


async def test_a_stored_key_with_other_content(migration: Migration) -> None:
    await migration.run([row("a", line=2)])
    report = await migration.run([row("a", "4242", line=2)])
    assert (counts(report), report.repeated) == ((0, 0, 0, 0), 1)
    assert migration.ends["a"].reasons == ("key: line 2 is stored under this key with other content",)
    assert migration.journal.states() == {"a": "stored"}


async def test_a_rejected_row_is_tried_again_when_it_was_mended(migration: Migration) -> None:
    migration.gateway.when_sent["id-a"] = [WRONG]
    reasons = ("title: is not nice.", "title: ************1111?", "no.")
    for _ in range(2):
        assert counts(await migration.run([row("a")])) == (0, 1, 0, 0)
        assert migration.ends["a"].reasons == reasons
    assert counts(await migration.run([row("a", title="nice")])) == (1, 0, 0, 0)
    assert migration.gateway.sent == ["id-a", "id-a"]


async def test_what_the_client_refuses_is_tried_again(migration: Migration) -> None:
    migration.gateway.when_sent["id-a"] = [InvalidRequestError(["location_id: is required"])]
    assert counts(await migration.run([row("a")])) == (0, 1, 0, 0)
    assert migration.ends["a"].reasons == ("location_id: is required",)
    assert counts(await migration.run([row("a")])) == (1, 0, 0, 0)


# --- what may have been sent


async def interrupted(migration: Migration, given: VaultRow, *, arrived: bool, api_id: str | None = None) -> None:
    assert given.request is not None
    api_id = api_id or given.request.account_vault_api_id or ""
    await migration.journal.start("cards")
    await migration.journal.record_starts(
        [RowStarted(key=given.key, api_id=api_id, fingerprint=fingerprint_of(given), line=2)]
    )
    if arrived:
        migration.gateway.keep(api_id)


@pytest.mark.parametrize("arrived", [True, False])
async def test_what_was_begun_before_the_kill_is_looked_up(migration: Migration, arrived: bool) -> None:
    await interrupted(migration, row("a"), arrived=arrived)
    assert counts(await migration.run([row("a")])) == (1, 0, 0, 0)
    assert (migration.gateway.sent, migration.gateway.looked) == ([] if arrived else ["id-a"], ["id-a"])


async def test_a_row_whose_id_changed_is_looked_up_under_the_old_one(migration: Migration) -> None:
    await interrupted(migration, row("a"), arrived=True, api_id="old")
    assert counts(await migration.run([row("a")])) == (1, 0, 0, 0)
    assert migration.journal.kept["a"].api_id == "old"
    await interrupted(migration, row("b"), arrived=False, api_id="older")
    for _ in range(2):
        assert counts(report := await migration.run([row("a"), row("b")])) == (0, 1, 0, 1)
        assert migration.ends["b"].reasons == ("account_vault_api_id: an earlier run sent the row as older",)
        assert report.totals == Totals(stored=1, rejected=1)
    assert (migration.gateway.sent, migration.journal.kept["b"].api_id) == ([], "older")
    assert migration.gateway.looked == ["old", "older", "older"]
    migration.gateway.keep("older")
    assert (await migration.run([row("a"), row("b")])).totals == Totals(stored=2)


async def test_a_row_in_doubt_keeps_its_id_and_content_until_it_is_found(migration: Migration) -> None:
    former = row("b")
    await interrupted(migration, former, arrived=True, api_id="older")
    migration.gateway.always = DOWN
    report = await migration.run([row("b", "4242")], give_up_after=1)
    assert (counts(report), migration.journal.kept["b"].api_id) == ((0, 0, 1, 0), "older")
    assert migration.journal.kept["b"].fingerprint == fingerprint_of(former)
    migration.gateway.always = None
    report = await migration.run([row("b", "4242")])
    assert (report.totals, migration.gateway.sent) == (Totals(stored=1, repeated=1), [])


@pytest.mark.parametrize("changed", [row("a", "4242", line=2), row("a", title="another", line=2)])
async def test_a_changed_row_is_not_what_is_stored(migration: Migration, changed: VaultRow) -> None:
    await interrupted(migration, row("a"), arrived=True)
    report = await migration.run([changed])
    assert (counts(report), report.repeated) == ((0, 0, 0, 0), 1)
    assert migration.ends["a"].reasons == ("key: line 2 is stored under this key with other content",)
    assert migration.journal.states() == {"a": "stored"}
    assert migration.journal.kept["a"].fingerprint == fingerprint_of(row("a"))


async def test_a_changed_row_is_in_the_journal_first(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = row("a", title="another", line=2)
    await interrupted(migration, row("a"), arrived=False)
    with monkeypatch.context() as patch, anyio.move_on_after(1):
        patch.setattr(migration.gateway, "create", hang)
        await migration.run([changed])
    migration.gateway.keep("id-a")
    assert counts(await migration.run([changed])) == (1, 0, 0, 0)


async def test_an_id_that_is_taken(migration: Migration) -> None:
    migration.gateway.keep("id-a")
    migration.gateway.keep("id-b", last_four="9999", exp_date="0101")
    assert counts(await migration.run([row("a"), row("b")])) == (1, 1, 0, 0)
    (reason,) = migration.ends["b"].reasons
    assert reason.startswith("account_vault_api_id: belongs to another account: last_four: is 9999, not 1111")


async def test_an_id_that_is_refused_for_its_form(migration: Migration) -> None:
    migration.gateway.when_sent["id-a"] = [ValidationError(422, fields={"account_vault_api_id": ("is too odd.",)})]
    await migration.run([row("a")])
    assert migration.ends["a"].reasons == ("account_vault_api_id: is too odd.",)


async def test_an_account_that_was_deleted(migration: Migration) -> None:
    await interrupted(migration, row("a"), arrived=True)
    migration.gateway.when_looked["id-a"] = [RecordDeletedError(409)]
    assert counts(await migration.run([row("a")])) == (0, 1, 0, 0)
    assert migration.ends["a"].reasons == ("account_vault_api_id: the account stored under this id was deleted",)


async def test_a_lost_response_is_looked_for(migration: Migration) -> None:
    migration.gateway.when_sent["id-a"] = [lost(AccountVault(id="v", last_four="1111", exp_date="1230"))]
    migration.gateway.when_sent["id-b"] = [lost(None)]
    assert counts(await migration.run([row("a"), row("b")])) == (2, 0, 0, 0)
    assert migration.gateway.sent.count("id-a") == 1
    assert migration.gateway.sent.count("id-b") == 2


async def test_a_row_whose_outcome_is_unknown(migration: Migration) -> None:
    migration.gateway.when_sent["id-00000"] = [OutcomeUnknownError("no response")]
    migration.gateway.when_looked["id-00000"] = [DOWN] * 5
    report = await migration.run(rows(2000), concurrency=4)
    assert (counts(report), report.complete) == ((1999, 0, 1, 0), False)
    assert migration.journal.states()["00000"] == "unknown"
    assert counts(await migration.run(rows(2000))) == (1, 0, 0, 1999)
    assert migration.gateway.sent.count("id-00000") == 2


# --- a gateway on a bad day


@pytest.mark.parametrize(
    "error", [DOWN, NotSentError("refused"), RateLimitError(429), RateLimitError(429, retry_after=0)]
)
async def test_what_passes_is_waited_for(migration: Migration, error: GatewayError) -> None:
    migration.gateway.always = error
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(migration.gateway.recover_after, 60)
        assert counts(await migration.run(rows(100))) == (100, 0, 0, 0)
    assert len(migration.gateway.sent) < 100 * 20


async def test_a_gateway_that_stays_away(migration: Migration) -> None:
    migration.gateway.always = DOWN
    report = await migration.run(rows(100), give_up_after=60)
    assert report.stopped.startswith("no call has succeeded for 60 s")
    assert (counts(report), report.complete, migration.journal.kept) == ((0, 0, 0, 0), False, {})


async def test_a_long_wait_for_rows_is_no_failure(migration: Migration) -> None:
    async def slowly() -> AsyncIterator[VaultRow]:
        yield row("a")
        await anyio.sleep(200)
        yield row("b")

    migration.gateway.when_sent["id-b"] = [NotSentError("refused")] * 3
    assert counts(await migration.run(slowly(), give_up_after=60)) == (2, 0, 0, 0)


async def test_refused_credentials_stop_it(migration: Migration) -> None:
    migration.gateway.when_sent["id-01000"] = [AuthenticationError(401)]
    migration.gateway.when_sent[""] = [None] * 1000
    report = await migration.run(rows(1500), concurrency=1)
    assert "401" in report.stopped
    assert counts(report) == (1000, 0, 0, 0)
    assert len(migration.journal.kept) == 1000
    assert counts(await migration.run(rows(1500))) == (500, 0, 0, 1000)


async def test_a_wrong_address_stops_it(migration: Migration) -> None:
    migration.gateway.always = NotFoundError(404)
    report = await migration.run(rows(100))
    assert "404" in report.stopped
    assert (counts(report), migration.journal.kept) == ((0, 0, 0, 0), {})


async def test_a_row_that_alone_gets_404(migration: Migration) -> None:
    migration.gateway.when_sent["id-00003"] = [NotFoundError(404, message="no such contact")] * 5
    assert counts(await migration.run(rows(2000), concurrency=4)) == (1999, 1, 0, 0)
    assert migration.ends["00003"].reasons == ("no such contact",)


# --- stopping


async def test_it_stops_when_asked(migration: Migration) -> None:
    report = await migration.run(rows(3000), stop_when=lambda report: "enough" if report.stored > 500 else None)
    assert (report.stopped, report.complete) == ("enough", False)
    assert len(migration.gateway.sent) == report.stored < 3000
    assert set(migration.journal.states().values()) == {"stored"}
    assert counts(await migration.run(rows(3000))) == (3000 - report.stored, 0, 0, report.stored)


async def test_it_has_finished_if_the_reason_to_stop_comes_after_the_last_row(migration: Migration) -> None:
    report = await migration.run(rows(9), stop_when=lambda report: "enough" if report.rows == 9 else None)
    assert (report.stopped, report.complete) == ("", True)


async def test_it_stops_in_a_long_pause(migration: Migration) -> None:
    migration.gateway.always = RateLimitError(429, retry_after=250.0)
    began = anyio.current_time()
    report = await migration.run(rows(100), stop_when=lambda report: "enough" if report.seconds > 5 else None)
    assert (report.stopped, counts(report)) == ("enough", (0, 0, 0, 0))
    assert anyio.current_time() < began + 10


async def test_it_stops_while_its_source_says_nothing(migration: Migration) -> None:
    closed = []

    async def silent() -> AsyncIterator[VaultRow]:
        try:
            yield row("a")
            await anyio.sleep_forever()
        finally:
            closed.append(True)

    report = await migration.run(silent(), stop_when=lambda report: "enough" if report.stored else None)
    assert (report.stored, closed) == (1, [True])


async def test_a_row_in_doubt_when_it_stops_is_unknown(migration: Migration) -> None:
    migration.gateway.when_sent["id-a"] = [OutcomeUnknownError("no response")]
    report = await migration.run([row("a")], stop_when=lambda report: "enough" if report.failed_attempts else None)
    assert counts(report) == (0, 0, 1, 0)
    assert migration.journal.states() == {"a": "unknown"}


async def test_a_cancelled_run_goes_on_the_next_time(migration: Migration) -> None:
    with anyio.move_on_after(0.105):
        await migration.run(rows(2000))
    assert migration.journal.is_closed
    sending = [key for key, state in migration.journal.states().items() if state == "sending"]
    assert 0 < len(sending) <= 64
    report = await migration.run(rows(2000))
    assert report.stored + report.skipped == 2000
    assert len(migration.gateway.looked) == len(sending)


@pytest.mark.parametrize("method", ["record_results", "counts", "flush"])
async def test_a_cancellation_does_not_wait_for_a_journal_that_hangs(
    migration: Migration, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migration.journal, method, hang)
        with anyio.move_on_after(2) as scope:
            await migration.run(rows(20))
    assert scope.cancelled_caught
    assert anyio.current_time() <= 2 + 10 + 1
    assert ("20 results were not written within 10 s" in caplog.text) is (method == "record_results")
    report = await migration.run(rows(20))
    assert (report.complete, report.totals, len(migration.gateway.sent)) == (True, Totals(stored=20), 20)
    assert len(migration.gateway.looked) == (20 if method == "record_results" else 0)


# --- a journal that cannot be written


async def test_a_full_disk_is_waited_for(migration: Migration) -> None:
    async def fill() -> None:
        await anyio.sleep(0.2)
        migration.journal.broken = "the disk is full"
        await anyio.sleep(1)
        before = len(migration.gateway.sent)
        await anyio.sleep(100)
        assert (reports[-1].waits_for, len(migration.gateway.sent)) == (
            "the journal memory cannot be used: the disk is full",
            before,
        )
        migration.journal.broken = ""

    reports: list[Report] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fill)
        report = await migration.run(rows(3000), on_progress=reports.append)
        assert (counts(report), report.waits_for) == ((3000, 0, 0, 0), "")
    assert set(migration.journal.states().values()) == {"stored"}


async def test_a_disk_that_stays_full(migration: Migration) -> None:
    migration.journal.broken = "the disk is full"
    report = await migration.run(rows(10), give_up_after=60)
    assert report.stopped.startswith("the journal memory cannot be used: the disk is full; nothing is lost, run ")
    assert not migration.gateway.sent


@pytest.mark.parametrize("method", ["record_starts", "record_results", "flush", "finish"])
async def test_a_run_gives_up_a_journal_that_hangs(
    migration: Migration, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(migration.journal, method, hang)
        report = await migration.run(
            rows(9), give_up_after=60, on_progress=lambda report: seen.append(report.waits_for)
        )
    said = "the journal MemoryJournal cannot be used: no response within 30 s"
    assert (
        report.stopped
        == f"{said}; nothing is lost, run the migration again: it looks up the rows whose results are missing"
    )
    assert said in seen
    assert anyio.current_time() <= 60 + 2 * 30 + 10
    report = await migration.run(rows(9))
    assert (report.complete, report.totals, len(migration.gateway.sent)) == (True, Totals(stored=9), 9)


async def test_a_journal_that_does_not_close_delays_the_end_by_half_a_minute(
    migration: Migration, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(migration.journal, "aclose", hang)
    report = await migration.run(rows(9))
    assert (report.stored, report.complete, anyio.current_time() <= 1 + 30) == (9, True, True)
    assert "the journal was not closed within 30 s" in caplog.text


@pytest.mark.parametrize("lines", [True, False])
async def test_a_beginning_whose_response_was_lost(migration: Migration, lines: bool) -> None:
    begin = migration.journal.record_starts
    lost_responses = [JournalError("memory", "the connection was lost")]

    async def begin_and_fail(rows: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        known = await begin(rows)
        if lost_responses:
            raise lost_responses.pop()
        return known

    migration.journal.record_starts = begin_and_fail  # type: ignore[method-assign]  # that is the point
    given = [*rows(20), row("00003", line=99)]
    report = await migration.run(given if lines else [attrs.evolve(each, line=None) for each in given])
    assert (counts(report), report.repeated) == ((20, 0, 0, 0), 1)
    assert sorted(migration.gateway.looked) == [f"id-{number:05}" for number in range(20)]


async def test_a_silent_gateway_is_told_while_it_is_waited_for(migration: Migration) -> None:
    reports: list[tuple[float, str]] = []
    migration.gateway.always = DOWN
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(migration.gateway.recover_after, 30)
        report = await migration.run(rows(50), on_progress=lambda now: reports.append((now.seconds, now.waits_for)))
        assert (report.stored, report.waits_for) == (50, "")
    assert {waiting for seconds, waiting in reports if seconds < 2} == {""}
    said = next(waiting for seconds, waiting in reports if seconds > 10)
    assert said.startswith("no call has succeeded for 10 s: ")
    assert str(DOWN) in said


# --- errors of others


async def test_an_error_of_the_source(migration: Migration) -> None:
    def broken() -> Iterator[VaultRow]:
        yield from rows(300)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await migration.run(broken())
    assert len(migration.gateway.kept) == 300
    assert set(migration.journal.states().values()) == {"stored"}


@pytest.mark.parametrize("option", ["on_progress", "stop_when"])
async def test_an_error_of_a_listener(migration: Migration, option: str) -> None:
    def broken(_report: Report) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await migration.run(rows(10), **{option: broken})
    assert migration.journal.is_closed


@pytest.mark.parametrize(
    "options",
    [
        *({name: wrong} for name in ("concurrency", "max_rows") for wrong in (0, -1, 1.5, True)),
        *({"rate": 0}, {"give_up_after": -1}),
    ],
)
async def test_arguments_are_checked(migration: Migration, options: dict[str, Any]) -> None:
    """Before anything is done."""
    with pytest.raises(InvalidRequestError, match=f"{next(iter(options))}: must be"):
        await migration.run([], **options)
    assert not migration.journal.run


@pytest.mark.parametrize("method", ["counts", "record_results"])
async def test_a_slow_journal_does_not_delay_a_stop(
    migration: Migration, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    migration.gateway.when_sent["id-00000"] = [WRONG]
    migration.gateway.always = DOWN
    stopped_at: list[float] = []

    async def slow(*_: Any) -> dict[RowState, int]:
        await anyio.sleep(60)
        return {}

    def stop(report: Report) -> str | None:
        stopped_at.append(report.seconds)
        return "enough" if report.seconds >= 1 else None

    monkeypatch.setattr(migration.journal, method, slow)
    report = await migration.run(rows(9), stop_when=stop)
    assert report.stopped == "enough"
    assert min(seconds for seconds in stopped_at if seconds >= 1) < 2


async def test_a_silent_journal_delays_the_end_by_one_count(
    migration: Migration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration.journal, "counts", hang)
    report = await migration.run(rows(9))
    assert (report.stored, report.complete, report.totals, report.figures.stored) == (9, True, None, 9)
    assert anyio.current_time() <= 1 + 30 + 1


async def test_a_slow_count_delays_the_first_row_once(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file does one thing at a time, and goes on with a count that is no longer waited for.
    busy_until = 0.0
    record_starts = migration.journal.record_starts

    async def count() -> dict[RowState, int]:
        nonlocal busy_until
        busy_until = max(busy_until, anyio.current_time()) + 3
        await anyio.sleep_until(busy_until)
        return {}

    async def record(started: Sequence[RowStarted]) -> Sequence[JournalEntry | None]:
        await anyio.sleep_until(busy_until)
        return await record_starts(started)

    monkeypatch.setattr(migration.journal, "counts", count)
    monkeypatch.setattr(migration.journal, "record_starts", record)
    reports: list[tuple[float, int]] = []
    await migration.run(rows(9), on_progress=lambda report: reports.append((report.seconds, report.stored)))
    assert reports[0][0] <= 1.1
    assert 3 <= next(seconds for seconds, stored in reports if stored) < 4


async def test_samples_are_few() -> None:
    """However long it takes, and evenly."""
    callbacks = ReportCallbacks(Report())
    for _ in range(10_000):
        await anyio.sleep(1)
        callbacks.call()
    kept = callbacks.report.samples
    assert 300 < len(kept) <= 601
    assert len({later.seconds - earlier.seconds for earlier, later in pairwise(kept)}) == 1
