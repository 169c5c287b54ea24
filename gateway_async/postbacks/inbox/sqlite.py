"""`SqliteInbox`: an inbox in one SQLite file, where concurrent postbacks share commits and disk syncs."""

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from secrets import token_hex
from time import time
from typing import Any, TypeVar, cast

from gateway_async._arguments import retention_period
from gateway_async._storage.group_commit import GroupCommitWriter
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox._mapping import row_of
from gateway_async.postbacks.inbox._sqlite_store import InboxFile
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement, StoredPostback

__all__ = ["SqliteInbox"]

T = TypeVar("T")


class SqliteInbox:
    """Inbox in an SQLite file, for any number of processes on one machine.

        receiver = PostbackReceiver(username="…", password="…", inbox=SqliteInbox("inbox.db"))

    The file is opened, or created, on first use. A postback is on the disk (WAL, `synchronous=FULL`) before it is
    acknowledged, so it survives `kill -9` and a power failure. Do not place the file on a network share: SQLite's locks
    do not work there. The inbox runs on asyncio and on trio.

    The file holds the records exactly as they were received. It may also contain tables of your own, and
    `Postback.execute` writes to them. Amounts and times are written as text (`"12.50"`, ISO 8601 in UTC). Foreign keys
    are not enforced. Keep the statements of a handler short, because they block every other use of the file.

    Args:
        path: the file; the files `-wal` and `-shm` beside it belong to it. Its folder must exist.
        keep_days: how many days postbacks are kept after they were handled or discarded. During that time, repeated
            deliveries and older states of a record are recognized. A gateway may repeat for 4 days (5 attempts, one
            day apart). Choose more than that, and more than `reconcile` looks back. Waiting and dead postbacks are
            always kept.
        shared: whether the file may be a database of your own program. The inbox then creates its two tables beside
            yours (`postback_inbox`, `postback_inbox_keys`) and switches the file to a write-ahead log.
        now: returns the current time, in seconds since 1970.

    Raises:
        InvalidRequestError: `keep_days` is not a number above 0.
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
        keep = retention_period(keep_days)
        self._new_writer = partial(
            GroupCommitWriter,
            "gateway_async inbox",
            partial(InboxFile, self._path, keep=keep, shared=shared, now=now),
            partial(InboxError, str(self._path), "it is closed"),
        )
        self._writer = self._new_writer()
        self._is_closed = False

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is on the disk when this returns."""
        return bool(await self._writer.submit(row_of(postback)))

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        token = token_hex(8)
        return await self._submit(lambda file: file.claim(limit, seconds, token))

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims."""
        await self._submit(lambda file: file.extend(claims, seconds))

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        await self._submit(lambda file: file.release(claims))

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        return bool(await self._submit(lambda file: file.complete(claim, state, statements)))

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        await self._submit(lambda file: file.fail(claim, error, retry_in))

    async def list(
        self, state: PostbackState | None = None, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredPostback]:
        """List stored postbacks."""
        return await self._submit(lambda file: file.list(state, after, limit))

    async def replay(self, number: int) -> bool:
        """Make a postback waiting again."""
        return bool(await self._submit(lambda file: file.replay(number)))

    async def discard(self, number: int) -> bool:
        """Give up a dead postback."""
        return bool(await self._submit(lambda file: file.discard(number)))

    def reopen(self) -> None:
        """Make the inbox usable again after `aclose`; the next use opens the file."""
        if self._is_closed:
            self._writer, self._is_closed = self._new_writer(), False

    async def aclose(self) -> None:
        """Write pending postbacks and close the file, within 15 seconds; a second close has no effect."""
        self._is_closed = True
        await self._writer.aclose()

    async def _submit(self, operation: Callable[[InboxFile], T]) -> T:
        return cast("T", await self._writer.submit(operation))

    def __repr__(self) -> str:
        return f"SqliteInbox({str(self._path)!r})"
