"""`SqliteInbox`: an inbox in one SQLite file, where concurrent postbacks share commits and disk syncs."""

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from time import time
from typing import Any, ParamSpec, TypeVar, cast

from gateway_async._arguments import retention_period
from gateway_async._storage.group_commit import GroupCommitWriter
from gateway_async._storage.sqlite import database_file, seal_address
from gateway_async.errors import InboxError
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox._mapping import row_of
from gateway_async.postbacks.inbox._operations import Steps
from gateway_async.postbacks.inbox._sql_inbox import SqlInbox
from gateway_async.postbacks.inbox._sqlite_store import InboxFile
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, Statement

__all__ = ["SqliteInbox"]

P = ParamSpec("P")
T = TypeVar("T")


class SqliteInbox(SqlInbox):
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
            day apart). Choose more than that, and more than `catch_up` looks back. Waiting and dead postbacks are
            always kept.
        shared: whether the file may be a database of your own program. The inbox then creates its two tables beside
            yours (`postback_inbox`, `postback_inbox_keys`) and switches the file to a write-ahead log.
        now: returns the current time, in seconds since 1970.

    Raises:
        InvalidRequestError: `keep_days` is not a number above 0, or `path` is an address.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keep_days: float = 30.0,
        shared: bool = False,
        now: Callable[[], float] = time,
    ) -> None:
        given = seal_address(path)
        del path  # an error's traceback shows local variables
        keep = retention_period(keep_days)
        self._path = database_file(given)
        self._new_writer = partial(
            GroupCommitWriter,
            "gateway_async inbox",
            partial(InboxFile, self._path, keep=keep, shared=shared, now=now),
            partial(InboxError, str(self._path), "it is closed"),
        )
        self._writer = self._new_writer()

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is on the disk when this returns."""
        return bool(await self._writer.submit(row_of(postback)))

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` in the same transaction."""
        return bool(await self._writer.submit(lambda file: file.complete(claim, state, statements)))

    def reopen(self) -> None:
        """Make the inbox usable again after `aclose`; the next use opens the file."""
        if self._writer.is_closed:
            self._writer = self._new_writer()

    async def aclose(self) -> None:
        """Write pending postbacks and close the file, within 15 seconds; a second close has no effect."""
        await self._writer.aclose()

    async def _run(self, operation: Callable[P, Steps[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        return cast("T", await self._writer.submit(lambda file: file.run(operation(*args, **kwargs))))

    def __repr__(self) -> str:
        return f"SqliteInbox({str(vars(self).get('_path', ''))!r})"  # also of one whose arguments are wrong
