"""Stores whose write-ahead log is cut within its last record: everything before it is there, and nothing twice."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import attrs

from gateway_async._storage.backends import SqliteBackend
from gateway_async.migration.journal import _operations as journal_operations
from gateway_async.migration.journal.protocol import RowResult, RowStarted, RowState
from gateway_async.migration.journal.store import _FORMAT
from gateway_async.postbacks.inbox import _operations as inbox_operations
from gateway_async.postbacks.inbox._mapping import row_of
from tests.postbacks.inboxes import InboxFile, change
from tests.reliability.condition import Condition, Result
from tests.support.intents import SALE
from tests.support.ledgers import LedgerFile

_RECORDS: Final = 3
"""Records of a store; the write of the last one is cut."""


_MEMORY: Final = Path("/dev/shm")
"""A file system in memory: the cuts are made by hand, so that waiting for a disk shows nothing."""


@attrs.frozen
class _Kind:
    """A kind of store.

    Attributes:
        open: opens a file, or creates it.
        write: writes a record; it is acknowledged when this returns.
        read: returns the numbers of all records.
    """

    open: Callable[[Path], Any]
    write: Callable[[Any, int], object]
    read: Callable[[Any], Sequence[int]]


def _write_intent(ledger: LedgerFile, number: int) -> None:
    ledger.write([attrs.evolve(SALE, id=str(number))], [])


def _read_intents(ledger: LedgerFile) -> list[int]:
    return [int(intent.id) for intent in ledger.open_intents()]


def _write_postback(inbox: InboxFile, number: int) -> None:
    inbox.execute_batch([row_of(change(str(number)))])


def _read_postbacks(inbox: InboxFile) -> list[int]:
    (listed,) = inbox.execute_batch([partial(inbox_operations.list_postbacks, None, 0, 100)])
    return [int(stored.postback.record_id) for stored in listed]


def _write_row(journal: SqliteBackend, number: int) -> None:
    row = RowStarted(key=str(number), api_id=f"id-{number}", fingerprint="f", line=number)
    start = partial(journal_operations.record_starts, None, 0, 0, [row], is_alone=True)
    journal.execute_batch([start], [])
    result = RowResult(
        key=str(number), api_id=f"id-{number}", state=RowState.STORED, fingerprint="f", line=number, vault_id="v"
    )
    journal.execute_batch([], [partial(journal_operations.record_results, None, 0, [result])])


def _read_rows(journal: SqliteBackend) -> list[int]:
    entries = journal.run(partial(journal_operations.entries, None, None, None, 100))
    return [int(entry.key) for entry in entries if entry.state is RowState.STORED]


_KINDS: Final = {
    "ledger": _Kind(LedgerFile, _write_intent, _read_intents),
    "inbox": _Kind(InboxFile, _write_postback, _read_postbacks),
    "journal": _Kind(partial(SqliteBackend, file_format=_FORMAT), _write_row, _read_rows),
}


@attrs.frozen
class _Recording:
    """The bytes of a store at a kill: its file, its write-ahead log, and where the last record of the log begins."""

    file: bytes
    log: bytes
    last_record: int

    @classmethod
    def of(cls, kind: _Kind, folder: Path) -> "_Recording":
        """Write some records, and copy the files while the store is open, as a kill leaves them."""
        path = folder / "recorded.db"
        log = folder / "recorded.db-wal"
        store = kind.open(path)
        for number in range(_RECORDS - 1):
            kind.write(store, number)
        before = log.stat().st_size
        kind.write(store, _RECORDS - 1)
        recording = cls(path.read_bytes(), log.read_bytes(), before)
        store.close()
        return recording

    @property
    def cuts(self) -> Sequence[int]:
        """The lengths of the log from the start of the last record to the byte before its end."""
        return range(self.last_record, len(self.log))


def _cut(kind: _Kind, recording: _Recording, length: int, folder: Path) -> Result:
    """Open a store whose log ends at a byte, and write the last record again."""
    path = folder / "cut.db"
    path.write_bytes(recording.file)
    (folder / "cut.db-wal").write_bytes(recording.log[:length])
    store = kind.open(path)
    try:
        found = kind.read(store)
        kind.write(store, _RECORDS - 1)
        again = kind.read(store)
    finally:
        store.close()
    lost = set(range(_RECORDS - 1)) - set(found)
    lost |= set(range(_RECORDS)) - set(again)
    return Result(count=1, double=len(found) - len(set(found)) + len(again) - len(set(again)), lost=len(lost))


def _cut_everywhere(kind: _Kind, count: int) -> Result:
    """Cut the log at so many bytes of its last record, evenly spaced; at every byte if it has no more."""
    double = lost = 0
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        recording = _Recording.of(kind, Path(folder))
        cuts = recording.cuts[:: max(1, len(recording.cuts) // count)]
        for length in cuts:
            place = Path(folder, "cut")
            place.mkdir()
            result = _cut(kind, recording, length, place)
            shutil.rmtree(place)
            double, lost = double + result.double, lost + result.lost
    return Result(count=len(cuts), double=double, lost=lost)


CUT_CONDITIONS: Final = tuple(
    Condition(
        key=f"cut-{name}",
        text=f"write-ahead log cut at every byte of its last record: {name}",
        count=100_000,
        short_count=100,
        run=partial(_cut_everywhere, kind),
    )
    for name, kind in _KINDS.items()
)
