"""`SqliteLedger`: a ledger in one SQLite file."""

from functools import partial
from os import PathLike

from gateway_async._arguments import retention_period
from gateway_async._storage.sqlite import database_file, seal_address
from gateway_async.ledger._group_commit_ledger import GroupCommitLedger
from gateway_async.ledger._sqlite_store import LedgerFile

__all__ = ["SqliteLedger"]


class SqliteLedger(GroupCommitLedger):
    """A ledger in an SQLite file; each client needs its own object.

        AsyncGateway(..., ledger=SqliteLedger("payments.db"))

    Any number of ledgers can share one file. The file is opened or created on first use. An intent is on disk (WAL,
    `synchronous=FULL`) before its call is sent, and survives `kill -9` and a loss of power. Several processes of one
    machine may use one file at the same time. Do not put it on a network share, because SQLite's locks do not work
    there. It runs on asyncio and on trio, and under several event loops. In a process that was forked after its first
    use it is closed.

    Of a card or an account, the file contains only the last four digits, by which a stored card is recognized.

    Args:
        path: the file; the files with the suffixes `-wal` and `-shm` belong to it. Its folder must exist.
        keep_days: days for which resolved intents are kept for inspection. Open intents are kept until they are
            resolved.

    Raises:
        InvalidRequestError: `keep_days` is not a number above 0, or `path` is an address.
    """

    def __init__(self, path: str | PathLike[str], *, keep_days: float = 30.0) -> None:
        given = seal_address(path)
        del path  # an error's traceback shows local variables
        retention = retention_period(keep_days)
        file = database_file(given)
        super().__init__(str(file), partial(LedgerFile, file, retention), retention)
