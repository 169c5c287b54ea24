"""`SqliteInbox`: an inbox in one SQLite file. A thousand postbacks at once share a few syncs of the disk."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from os import PathLike
from pathlib import Path
from secrets import token_hex
from time import monotonic, time
from typing import Any, Final, TypeVar, cast

from gateway_async._scribe import Scribe
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks._inbox_file import Demand, InboxFile
from gateway_async.postbacks._rows import check_keep_days, row_of
from gateway_async.postbacks.inbox import Claim, Letter, LetterState, Write

__all__ = ["SqliteInbox"]

T = TypeVar("T")

_PRUNING_SECONDS: Final = 60.0


class SqliteInbox:
    """An inbox in an SQLite file, for any number of processes of one machine.

        receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

    The file is opened, or made, when it is first needed. A postback is on the disk (WAL, `synchronous=FULL`) before it
    is acknowledged, and outlives `kill -9` and a loss of power. SQLite's locks do not hold over a network share. It
    runs on asyncio and on trio.

    The file holds the records as they came. Tables of your own may stand in it, and `Postback.write` writes into them;
    amounts and times are written as text (`"12.50"`, ISO 8601 in UTC), foreign keys are not enforced. A handler's
    statements hold up every other use of the file, so let them be short.

    Args:
        path: the file; `-wal` and `-shm` beside it belong to it. Its folder must exist.
        keep_days: how long postbacks are kept after they were handled or discarded. For so long a repeated delivery is
            known as one, and an older state of a record as older. A gateway may repeat for 4 days (5 attempts, a day
            between them), so let it be more than that, and more than `reconcile` looks back. What waits, and what is
            dead, is kept.
        shared: whether the file may be a database of your own program: then the inbox makes its two tables beside
            yours (`postback_inbox`, `postback_inbox_lanes`), and has it use a write-ahead log.
        now: the time, in seconds since 1970.

    Raises:
        InvalidRequestError: `keep_days` is no number above 0.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keep_days: float = 30.0,
        shared: bool = False,
        now: Callable[[], float] = time,
    ) -> None:
        self._path = Path(path).absolute()
        keep = timedelta(days=check_keep_days(keep_days))
        self._new_scribe = partial(
            Scribe,
            "gateway_async inbox",
            partial(_Book, partial(InboxFile, self._path, shared=shared, now=now), keep),
            partial(InboxError, str(self._path), "it is closed"),
        )
        self._scribe = self._new_scribe()
        self._is_closed = False

    async def put(self, postback: Postback[Any]) -> bool:
        """Keep a postback, once; it is on the disk when this returns."""
        return bool(await self._scribe.ask(row_of(postback)))

    async def claim(self, at_most: int, seconds: float) -> Sequence[Claim]:
        """Take postbacks that are due."""
        token = token_hex(8)
        return await self._ask(lambda file: file.claim(at_most, seconds, token))

    async def prolong(self, claims: Sequence[Claim], seconds: float) -> None:
        """Keep claims."""
        await self._ask(lambda file: file.prolong(claims, seconds))

    async def release(self, claims: Sequence[Claim]) -> None:
        """Give claims back."""
        await self._ask(lambda file: file.release(claims))

    async def done(self, claim: Claim, state: LetterState, writes: Sequence[Write] = ()) -> bool:
        """Note that a postback is handled, and carry out `writes`."""
        return bool(await self._ask(lambda file: file.done(claim, state, writes)))

    async def failed(self, claim: Claim, error: str, again_in: float | None) -> None:
        """Note that a handler failed."""
        await self._ask(lambda file: file.failed(claim, error, again_in))

    async def letters(self, state: LetterState | None = None, *, after: int = 0, limit: int = 1000) -> Sequence[Letter]:
        """What is kept."""
        return await self._ask(lambda file: file.letters(state, after, limit))

    async def replay(self, number: int) -> bool:
        """Have a postback handled again."""
        return bool(await self._ask(lambda file: file.replay(number)))

    async def discard(self, number: int) -> bool:
        """Give a dead postback up."""
        return bool(await self._ask(lambda file: file.discard(number)))

    def reopen(self) -> None:
        """Be usable again after `aclose`: the file is opened when it is next needed."""
        if self._is_closed:
            self._scribe, self._is_closed = self._new_scribe(), False

    async def aclose(self) -> None:
        """Write what waits and close the file, in 15 seconds at most; a second close is harmless."""
        self._is_closed = True
        await self._scribe.aclose()

    async def _ask(self, demand: Callable[[InboxFile], T]) -> T:
        return cast("T", await self._scribe.ask(demand))

    def __repr__(self) -> str:
        return f"SqliteInbox({str(self._path)!r})"


class _Book:
    """The file, which now and then forgets what is old.

    Args:
        open_file: opens it.
        keep: how long handled postbacks are kept.
    """

    def __init__(self, open_file: Callable[[], InboxFile], keep: timedelta) -> None:
        self._file = open_file()
        self._keep = keep
        self._pruned = float("-inf")

    def carry_out(self, asked: Sequence[Demand], left: Sequence[Any]) -> Sequence[Any]:  # noqa: ARG002  nothing is left
        """Do what is asked."""
        answers = self._file.carry_out(asked)
        self._prune()
        return answers

    def _prune(self) -> None:
        if monotonic() >= self._pruned + _PRUNING_SECONDS:
            self._pruned = monotonic()
            with suppress(InboxError):
                self._file.prune(self._keep)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
