"""`SqliteLedger`: a ledger in one SQLite file. Intents are waited for; outcomes go along with the next ones."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any, Final, cast

from gateway_async._ledger_file import LedgerFile, Outcome
from gateway_async._scribe import Scribe
from gateway_async.errors import InvalidRequestError, LedgerError
from gateway_async.ledger import KEPT, Intent

__all__ = ["SqliteLedger"]

_PRUNING_SECONDS: Final = 60.0


class SqliteLedger:
    """A ledger in an SQLite file: one for each client, any number of them on one file.

        AsyncGateway(..., ledger=SqliteLedger("payments.db"))

    The file is opened, or made, when it is first needed. An intent is on the disk (WAL, `synchronous=FULL`) before its
    call is sent, and outlives `kill -9` and a loss of power. Clients of several processes of one machine may use one
    file at once; not over a network share, as SQLite's locks do not hold there. It runs on asyncio and on trio, and
    under several event loops; in a process that was forked off after its first use it is closed.

    There is nothing of a card or an account in the file, but the last four digits by which a stored card is known to
    be the one.

    Args:
        path: the file; `-wal` and `-shm` beside it belong to it. Its folder must exist.
        keep_days: how long settled intents are kept for your own eyes; open ones are kept until they are settled.

    Raises:
        InvalidRequestError: `keep_days` is no number above 0.
    """

    def __init__(self, path: str | PathLike[str], *, keep_days: float = 30.0) -> None:
        if isinstance(keep_days, bool) or not isinstance(keep_days, int | float) or not 0 < keep_days < 1e6:  # noqa: PLR2004
            raise InvalidRequestError("keep_days: must be a number of days above 0")
        self._path = Path(path).absolute()
        self._scribe = Scribe(
            "gateway_async ledger",
            partial(_Book, self._path, timedelta(days=keep_days)),
            partial(LedgerError, str(self._path), "it is closed"),
        )

    async def intend(self, intent: Intent) -> None:
        """Put an intent on the disk.

        Raises:
            LedgerError: it cannot be written.
        """
        await self._scribe.ask(intent)

    def settle(self, intent_id: str, outcome: str, record_id: str | None = None) -> Awaitable[None]:
        """Note what became of an intent; it is on the disk a moment later.

        Raises:
            LedgerError: the ledger is closed.
        """
        self._scribe.leave(Outcome(intent_id, outcome, record_id, datetime.now(UTC)))
        return KEPT

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """The intents that are not settled, the oldest first; only those of a terminal where one is named.

        Raises:
            LedgerError: the file cannot be read.
        """
        question: _Question = lambda file: file.open_intents(terminal_id)  # noqa: E731
        return cast("Sequence[Intent]", await self._scribe.ask(question))

    async def aclose(self) -> None:
        """Write what waits and close the file, in 15 seconds at most; a second close is harmless.

        A client closes the ledger that it was given. What is asked of it afterwards raises `LedgerError`.
        """
        await self._scribe.aclose()

    def __repr__(self) -> str:
        return f"SqliteLedger({str(self._path)!r})"


_Question = Callable[[LedgerFile], Sequence[Intent]]


class _Book:
    """The file, which now and then forgets what is old.

    Args:
        path: where it is.
        keep: how long settled intents are kept.
    """

    def __init__(self, path: Path, keep: timedelta) -> None:
        self._file = LedgerFile(path)
        self._keep = keep
        self._pruned = float("-inf")

    def carry_out(self, asked: Sequence[Intent | _Question], left: Sequence[Outcome]) -> Sequence[Any]:
        """Write the intents and the outcomes, then answer the questions."""
        self._file.write([each for each in asked if isinstance(each, Intent)], left)
        self._prune()
        return [None if isinstance(each, Intent) else self._answer(each) for each in asked]

    def _answer(self, question: _Question) -> Sequence[Intent] | LedgerError:
        try:
            return question(self._file)
        except LedgerError as error:
            return error

    def _prune(self) -> None:
        if monotonic() >= self._pruned + _PRUNING_SECONDS:
            self._pruned = monotonic()
            with suppress(LedgerError):
                self._file.prune(datetime.now(UTC) - self._keep)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
