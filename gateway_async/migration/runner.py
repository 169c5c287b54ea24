"""The rows of a migration, each to its end: stored, rejected, unknown or skipped.

The law of this file: a row is in the journal before it is sent; a row that may have been sent is looked up before it
is sent again, always under the same id; and what is stored is not sent.
"""

from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, Protocol, TypeVar

import anyio
import attrs

from gateway_async._secrets import mask_text
from gateway_async._wire.convert import is_utf8
from gateway_async.errors import (
    AuthenticationError,
    BadRequestError,
    ClientClosedError,
    GatewayError,
    InvalidRequestError,
    JournalError,
    MethodNotAllowedError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    RecordDeletedError,
    StatusError,
    ValidationError,
)
from gateway_async.migration.comparing import differences
from gateway_async.migration.feed import Feed
from gateway_async.migration.journal import UNSETTLED, Begin, End, Entry, Journal, RowState
from gateway_async.migration.pace import Pace
from gateway_async.migration.report import Report
from gateway_async.migration.rows import VaultRow, api_id_of, fingerprint_of
from gateway_async.models.account_vaults import AccountVault, VaultCreate
from gateway_async.models.identifiers import ApiId
from gateway_async.observe import logger

__all__ = ["Gateway", "OnEnd", "Runner", "Turn", "Vaults"]

Row = VaultRow | VaultCreate
OnEnd = Callable[[VaultRow, End], object]
T = TypeVar("T")

_HOPELESS: Final = (AuthenticationError, ClientClosedError)
"""What every other row would end with, too."""

_REFUSALS: Final = (BadRequestError, RecordDeletedError, ValidationError)
"""What is wrong with the row, whatever the gateway's day."""

_SUSPECT: Final = (PermissionDeniedError, NotFoundError, MethodNotAllowedError)
"""What may be the row's fault, or everybody's: it is the row's if others are answered meanwhile."""

_TRIES: Final = 5
"""After so many, what is no other row's trouble is this row's."""

_SHORTEST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0
_MOST_IN_DOUBT: Final = 1000


class Vaults(Protocol):
    """What a migration needs of `gateway.account_vaults`."""

    async def create(self, new: Any, /) -> AccountVault:
        """Store an account."""
        ...

    async def get(self, ref: Any, /) -> AccountVault:
        """Read a stored account."""
        ...


class Gateway(Protocol):
    """What a migration needs of an `AsyncGateway`."""

    @property
    def account_vaults(self) -> Vaults:
        """The stored accounts."""
        ...


@attrs.define
class Turn:
    """A row whose turn has come.

    Attributes:
        row: the row, as it was given.
        request: what is sent for it.
        mark: what the journal is told of it.
        known: what the journal knew of it; None if it is new.
        sent: whether it may have been sent.
    """

    row: VaultRow
    request: VaultCreate
    mark: Begin
    known: Entry | None = None
    sent: bool = False


Step = Callable[[Turn], Awaitable[Any]]
"""One question to the gateway, or one request of it; returns the next step, or None when the row has ended."""


class Runner:
    """Carries rows to their end.

    Args:
        gateway: stores the accounts.
        journal: knows what was done.
        name: of the migration.
        pace: how many at once.
        report: is kept up to date.
        on_end: told of every row that has ended, skipped ones too.
        patience: seconds without a single answer, or without a journal, after which it gives up.
    """

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        *,
        name: str,
        pace: Pace,
        report: Report,
        on_end: OnEnd | None = None,
        patience: float = 600.0,
    ) -> None:
        self._vaults = gateway.account_vaults
        self._journal = journal
        self._name = name
        self._pace = pace
        self._report = report
        self._on_end = on_end
        self._patience = patience
        self._ended: list[End] = []
        self._not_sent: list[Begin] = []
        self._in_doubt: list[Turn] | None = []
        self._answered_at = float("-inf")
        self._failing_since: float | None = None
        self._stopping = anyio.Event()
        self._resumed = anyio.Event()
        self._feed: Feed[Row, Turn] | None = None
        self._entering: set[anyio.CancelScope] = set()
        self._writing = anyio.Lock()

    def stop(self, why: str) -> None:
        """Begin no more rows; the first reason counts."""
        self._report.stopped = self._report.stopped or why
        self._stopping.set()
        self._resumed.set()
        if self._feed:
            self._feed.close()
        for scope in self._entering:
            scope.cancel()

    async def run(self, rows: Iterable[Row] | AsyncIterable[Row], run: int) -> None:
        """Carry all rows to their end; those in doubt are looked up once more when all others have ended.

        Args:
            rows: where they come from.
            run: the number that the journal gave this run.

        Raises:
            Exception: what `rows` raised; those before it have ended.
        """
        self._run = run
        feed = Feed(rows, self._begin)
        try:
            await self._pass(feed)
            doubtful, self._in_doubt = self._in_doubt or [], None
            await self._settle_doubts(doubtful)
            await self._with_journal(self._flush)
        finally:
            self._not_sent += [turn.mark for turn in feed.rest() if turn.known is None]
            with anyio.CancelScope(shield=True):
                await self.write()
        if feed.error is not None:
            raise feed.error

    async def write(self) -> None:
        """Give the journal what has ended. If it takes nothing now, it gets it later."""
        try:
            await self._hand_over()
        except JournalError as error:
            logger.warning("what became of %d rows waits to be written: %s", len(self._ended), error)

    async def _hand_over(self) -> None:
        async with self._writing:
            ended, self._ended = self._ended, []
            not_sent, self._not_sent = self._not_sent, []
            try:
                if not_sent:
                    await self._journal.forget(not_sent)
                if ended:
                    await self._journal.end(ended)
            except BaseException:
                self._ended, self._not_sent = ended + self._ended, not_sent + self._not_sent
                raise

    async def _pass(self, feed: Feed[Row, Turn]) -> None:
        self._feed = feed
        async with anyio.create_task_group() as reading:
            reading.start_soon(feed.read)
            reading.start_soon(feed.begin)
            async with anyio.create_task_group() as workers:
                for _ in range(self._pace.ceiling):
                    workers.start_soon(self._work, feed)
            feed.close()

    async def _work(self, feed: Feed[Row, Turn]) -> None:
        while not self._report.stopped and (turn := await feed.next()) is not None:
            await self._carry(turn)

    async def _settle_doubts(self, doubtful: Sequence[Turn]) -> None:
        """Look once more; what is not looked at because the migration stops stays unknown."""
        left = deque(doubtful)

        async def look() -> None:
            while left and not self._report.stopped:
                await self._find_or_store(left.popleft())

        async with anyio.create_task_group() as workers:
            for _ in range(min(self._pace.ceiling, len(left))):
                workers.start_soon(look)
        for turn in left:
            self._leave(turn, self._report.stopped)

    # --- before a row is sent

    async def _begin(self, rows: Sequence[Row]) -> Sequence[Turn]:
        """Note rows in the journal before they are sent. Those that cannot be sent end here."""
        turns = [turn for turn in map(self._turn, rows) if turn is not None]
        marks = [turn.mark for turn in turns]
        known = await self._with_journal(lambda: self._journal.begin(marks)) if marks else []
        if known is None:
            return []
        for turn, entry in zip(turns, known, strict=True):
            turn.known = entry
        return turns

    def _turn(self, given: Row) -> Turn | None:
        row = _row(given)
        problems = row.problems or tuple(_key_problems(row))
        if row.request is None or problems:
            self._refuse(row, problems or ("row: there is nothing to be stored",))
            return None
        request = row.request
        if request.account_vault_api_id is None:
            request = attrs.evolve(request, account_vault_api_id=api_id_of(self._name, row.key))
        api_id = str(request.account_vault_api_id)
        return Turn(row, request, Begin(key=row.key, api_id=api_id, fingerprint=fingerprint_of(row), line=row.line))

    async def _with_journal(self, act: Callable[[], Awaitable[T]]) -> T | None:
        """Do something with the journal; a disk that takes nothing is waited for. None if the migration stops."""
        until = anyio.current_time() + self._patience
        for tries in count(1):
            try:
                done = await act()
            except JournalError as error:
                self._wait_for_journal(error)
                if anyio.current_time() >= until:
                    self.stop(str(error))
                if self._report.stopped:
                    return None
            else:
                self._report.waiting = ""
                self._resumed.set()
                return done
            await self._sleep(_pause_after(tries))
        return None

    def _wait_for_journal(self, error: JournalError) -> None:
        """Have nothing sent until it can be written what became of it."""
        if not self._report.waiting:
            logger.warning("the migration waits: %s", error)
            self._resumed = anyio.Event()
        self._report.waiting = str(error)

    async def _flush(self) -> None:
        await self._hand_over()
        await self._journal.flush()

    async def _sleep(self, seconds: float) -> None:
        """Wait, unless the migration stops."""
        with anyio.move_on_after(seconds):
            await self._stopping.wait()

    # --- one row

    async def _carry(self, turn: Turn) -> None:
        """A row, by what the journal knew of it."""
        known = turn.known
        if known is None:
            await self._settle(turn, self._store)
        elif known.run == self._run:
            self._reject(turn, (f"key: {_where(known)} has it too",), keep=False)
        elif known.state in UNSETTLED:
            await self._find_or_store(turn)
        elif known.fingerprint != turn.mark.fingerprint:
            self._reject(turn, (f"key: {_where(known)} is stored under it, with other content",), keep=False)
        elif known.state is RowState.REJECTED:
            self._reject(turn, known.reasons, keep=False)
        else:
            self._report.skipped += 1
            facts = {"vault_id": known.vault_id, "last_four": known.last_four, "brand": known.brand}
            self._tell(turn.row, _end(turn.mark, RowState.STORED, **facts))

    async def _find_or_store(self, turn: Turn) -> None:
        """A row that may have been sent."""
        turn.sent = True
        await self._settle(turn, self._find)

    async def _settle(self, turn: Turn, step: Step) -> None:
        """Go on step by step until the row has ended; what passes is waited for."""
        began, tries = anyio.current_time(), 0
        following: Step | None = step
        while following is not None:
            try:
                following = await self._in_turn(following, turn)
                self._failing_since = None
            except _StoppedError:
                return self._leave(turn, self._report.stopped)
            except _HOPELESS as error:
                self.stop(str(error))
                return self._leave(turn, str(error))
            except GatewayError as error:
                tries += 1
                if isinstance(error, OutcomeUnknownError):
                    turn.sent, following = True, partial(self._resolve, doubt=error)
                if self._gives_up(turn, error, tries, began):
                    return None
                await self._sleep(_pause_after(tries))
        return None

    async def _in_turn(self, step: Step, turn: Turn) -> Step | None:
        """One step, when there is a place for it, and its time has come."""
        await self._enter()
        began = anyio.current_time()
        try:
            while self._report.waiting and not self._report.stopped:
                await self._resumed.wait()
                began = anyio.current_time()
            if self._report.stopped:
                raise _StoppedError
            following: Step | None = await step(turn)
            return following
        finally:
            self._pace.leave(anyio.current_time() - began)

    async def _enter(self) -> None:
        """Wait for a place; a pause of minutes ends when the migration stops."""
        if self._pace.enter_at_once():
            return
        with anyio.CancelScope() as entering:
            self._entering.add(entering)
            try:
                await self._pace.enter()
            finally:
                self._entering.discard(entering)
        if entering.cancelled_caught:
            raise _StoppedError

    def _gives_up(self, turn: Turn, error: GatewayError, tries: int, began: float) -> bool:
        """Whether a row that failed is not tried again, now."""
        now = anyio.current_time()
        self._failing_since = now if self._failing_since is None else self._failing_since
        others_are_answered = self._answered_at > began
        if isinstance(error, _SUSPECT) and tries >= _TRIES and not others_are_answered:
            self.stop(str(error))
        elif isinstance(error, _SUSPECT) and tries >= _TRIES and not turn.sent:
            self._reject(turn, _reasons(error))
            return True
        elif tries >= _TRIES and (others_are_answered or self._in_doubt is None):
            self._doubt(turn, error)
            return True
        elif now >= self._failing_since + self._patience:
            self.stop(f"the gateway has answered nothing for {self._patience:g} s: {error}")
        if self._report.stopped:
            self._leave(turn, str(error))
        return bool(self._report.stopped)

    async def _store(self, turn: Turn) -> Step | None:
        """Store it."""
        try:
            vault = await self._vaults.create(turn.request)
        except InvalidRequestError as error:
            self._refuse(turn.row, error.problems, turn.mark)
        except ValidationError as error:
            if "account_vault_api_id" in error.fields:
                self._answered()
                return partial(self._find, refused=error)
            self._reject(turn, _reasons(error))
        except _REFUSALS as error:
            self._reject(turn, _reasons(error))
        else:
            self._stored(turn, vault)
        self._answered()
        return None

    async def _find(self, turn: Turn, refused: StatusError | None = None) -> Step | None:
        """Look up what is stored under its id; if nothing is, it is to be stored.

        Args:
            turn: the row.
            refused: that it cannot be stored, perhaps because something is.
        """
        api_id = turn.mark.api_id if turn.known is None else turn.known.api_id
        try:
            vault = await self._vaults.get(ApiId(api_id, turn.request.location_id))
        except NotFoundError:
            return self._after_nothing_found(turn, api_id, refused)
        except RecordDeletedError:
            self._reject(turn, ("account_vault_api_id: an account was stored under it, and deleted",))
        except InvalidRequestError as error:
            self._refuse(turn.row, error.problems, turn.mark)
        else:
            self._found(turn, vault)
        self._answered()
        return None

    async def _resolve(self, turn: Turn, doubt: OutcomeUnknownError) -> Step | None:
        """Look for what may still arrive; only what certainly does not is sent again."""
        vault = await doubt.resolve()
        self._answered()
        if vault is None:
            return self._store
        self._found(turn, vault)
        return None

    def _after_nothing_found(self, turn: Turn, api_id: str, refused: StatusError | None) -> Step | None:
        self._answered()
        if refused is not None:
            self._reject(turn, _reasons(refused))
        elif api_id != turn.mark.api_id:
            self._reject(turn, (f"account_vault_api_id: an earlier run sent it as {api_id}",), keep=False)
        else:
            return self._store
        return None

    def _found(self, turn: Turn, vault: AccountVault) -> None:
        others = differences(turn.request, vault)
        if others:
            self._reject(turn, (f"account_vault_api_id: is another account's: {'; '.join(others)}",))
        else:
            self._stored(turn, vault)

    # --- the end of a row

    def _answered(self) -> None:
        self._answered_at = anyio.current_time()

    def _stored(self, turn: Turn, vault: AccountVault) -> None:
        self._report.stored += 1
        brand = vault.account_type or vault.payment_method
        facts = {"vault_id": vault.id, "last_four": vault.last_four, "brand": None if brand is None else str(brand)}
        self._end(turn.row, _end(turn.mark, RowState.STORED, **facts))

    def _reject(self, turn: Turn, reasons: Sequence[str], *, keep: bool = True) -> None:
        """A row that is not stored; the journal keeps it unless it has something else under its key."""
        self._report.rejected += 1
        end = _end(turn.mark, RowState.REJECTED, reasons=_shown(reasons))
        if keep:
            self._end(turn.row, end)
        else:
            self._tell(turn.row, end)

    def _refuse(self, row: VaultRow, reasons: Sequence[str], mark: Begin | None = None) -> None:
        """A row that was not even sent. It is looked at again by the next run: that costs nothing."""
        self._report.rejected += 1
        mark, begun = mark or Begin(key=row.key, api_id="", fingerprint="", line=row.line), mark is not None
        mark = attrs.evolve(mark, fingerprint="")
        end = _end(mark, RowState.REJECTED, reasons=_shown(reasons), begun=begun)
        if any(_key_problems(row)):
            self._tell(row, end)
        else:
            self._end(row, end)

    def _doubt(self, turn: Turn, error: GatewayError) -> None:
        """A row of which nobody knows: looked up when all others have ended, or left to the next run."""
        if self._in_doubt is not None and len(self._in_doubt) < _MOST_IN_DOUBT:
            self._in_doubt.append(turn)
        else:
            self._unknown(turn, str(error))

    def _leave(self, turn: Turn, why: str) -> None:
        """A row that has not ended when the migration stops."""
        if turn.sent:
            self._unknown(turn, why)
        elif turn.known is None:
            self._not_sent.append(turn.mark)

    def _unknown(self, turn: Turn, why: str) -> None:
        self._report.unknown += 1
        self._end(turn.row, _end(turn.mark, RowState.UNKNOWN, reasons=_shown((why,))))

    def _end(self, row: VaultRow, end: End) -> None:
        self._ended.append(end)
        self._tell(row, end)

    def _tell(self, row: VaultRow, end: End) -> None:
        if self._on_end is not None:
            self._on_end(row, end)


class _StoppedError(Exception):
    """The migration stops before this row was sent."""


def _pause_after(tries: int) -> float:
    return min(_SHORTEST_PAUSE * 2.0 ** min(tries - 1, 10), _LONGEST_PAUSE)


def _row(given: Row) -> VaultRow:
    if isinstance(given, VaultRow):
        return given
    if not isinstance(given, VaultCreate):
        raise InvalidRequestError(f"rows: must be VaultRows or vault-create requests, not {type(given).__name__}")
    return VaultRow(key=given.account_vault_api_id or "", request=given)


def _key_problems(row: VaultRow) -> Iterator[str]:
    if not row.key:
        yield "key: is missing, and so is account_vault_api_id"
    elif "\0" in row.key or not is_utf8(row.key):
        yield "key: holds a character that cannot be written"


def _end(mark: Begin, state: RowState, **facts: Any) -> End:
    return End(key=mark.key, api_id=mark.api_id, state=state, fingerprint=mark.fingerprint, line=mark.line, **facts)


def _where(entry: Entry) -> str:
    return "another row" if entry.line is None else f"line {entry.line}"


def _shown(reasons: Iterable[str]) -> tuple[str, ...]:
    """Reasons without card numbers, and such as any journal can write."""
    return tuple(mask_text(said).replace("\0", "?").encode(errors="replace").decode() for said in reasons)


def _reasons(error: StatusError) -> tuple[str, ...]:
    """What the gateway said, field by field."""
    lines = tuple(f"{name}: {line}" if name else line for name, said in error.fields.items() for line in said)
    return lines or (error.message or f"refused with {error.status_code}",)
