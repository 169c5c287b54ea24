"""The SQLite files of the stores: which are refused, and one that two processes make at once."""

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from gateway_async import JournalError, LedgerError, SqliteLedger
from gateway_async._storage import sqlite
from gateway_async._storage.backends import SqliteBackend
from gateway_async.migration import SqliteJournal
from gateway_async.migration.journal.store import _FORMAT as JOURNAL
from gateway_async.postbacks import InboxError, SqliteInbox
from tests.postbacks.inboxes import InboxFile, change
from tests.support.intents import SALE
from tests.support.ledgers import LedgerFile
from tests.support.sqlite_files import ask_sqlite


@attrs.frozen
class Kind:
    """One kind of file, its store, and calls of the store."""

    file: Callable[[Path], Any]
    store: Callable[[Path], Any]
    error: type[Exception]
    calls: tuple[Callable[[Any], Any], ...]
    renaming: str
    """Gives the table the columns of another version."""


KINDS = {
    "a ledger": Kind(
        file=LedgerFile,
        store=SqliteLedger,
        error=LedgerError,
        calls=(lambda ledger: ledger.record_intent(SALE), lambda ledger: ledger.open_intents()),
        renaming="ALTER TABLE intents RENAME COLUMN orphaned TO other",
    ),
    "an inbox": Kind(
        file=InboxFile,
        store=SqliteInbox,
        error=InboxError,
        calls=(lambda inbox: inbox.store(change()), lambda inbox: inbox.claim(1, 60), lambda inbox: inbox.list()),
        renaming="ALTER TABLE postback_inbox RENAME COLUMN deletes TO other",
    ),
    "a journal": Kind(
        file=partial(SqliteBackend, file_format=JOURNAL),
        store=SqliteJournal,
        error=JournalError,
        calls=(lambda journal: journal.start(None), lambda journal: journal.counts()),
        renaming="ALTER TABLE vaults RENAME COLUMN brand TO other",
    ),
}


def make_foreign(statement: str, path: Path, _: str) -> None:
    ask_sqlite(path, statement)


def make_other(path: Path, kind: str) -> None:
    next(each.file for name, each in KINDS.items() if name != kind)(path).close()


def make_alike(path: Path, kind: str) -> None:
    """Make a file with the store's identifier, whose tables are others."""
    KINDS[kind].file(own := path.with_name("own")).close()
    make_other(path, kind)
    for pragma in ("application_id", "user_version"):
        ((value,),) = ask_sqlite(own, f"PRAGMA {pragma}")
        ask_sqlite(path, f"PRAGMA {pragma} = {value}")


def make_version(difference: int, path: Path, kind: str) -> None:
    """Make a file of another version of the package, with the table's columns of then."""
    KINDS[kind].file(path).close()
    ask_sqlite(path, KINDS[kind].renaming)
    ((version,),) = ask_sqlite(path, "PRAGMA user_version")
    ask_sqlite(path, f"PRAGMA user_version = {version + difference}")


REFUSED: dict[str, tuple[Callable[[Path, str], Any], str]] = {
    "foreign": (partial(make_foreign, "CREATE TABLE theirs (x)"), "it is another program's"),
    "named": (partial(make_foreign, "PRAGMA application_id = 7"), "it is another program's"),
    "other": (make_other, "it is another program's"),
    "alike": (make_alike, "it is not {}, although its header says so"),
    "later": (partial(make_version, 1), "a later version of this package made it"),
    "earlier": (partial(make_version, -1), "an earlier version of this package made it"),
    "text": (lambda path, _: path.write_text("Dear diary, " * 100), "it is not {}"),
    "folder": (lambda path, _: path.mkdir(), "it cannot be opened or created"),
}


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


@pytest.mark.anyio
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", REFUSED)
async def test_foreign_file(tmp_path: Path, kind: str, case: str) -> None:
    """Another program's file is refused in plain words, and not a byte of it is changed."""
    path, (make, says) = tmp_path / "data", REFUSED[case]
    make(path, kind)
    before = content(path)
    store = KINDS[kind].store(path)
    for call in KINDS[kind].calls:
        with pytest.raises(KINDS[kind].error, match=says.format(kind)) as caught:
            await call(store)
        assert str(path) in str(caught.value)
    await store.aclose()
    assert content(path) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", ["ask_pragma", "_existing_names"])
def test_a_file_that_is_made_meanwhile_is_not_taken_for_another_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, step: str
) -> None:
    maker = threading.Thread(target=lambda: KINDS[kind].file(tmp_path / "data").close())
    ask = getattr(sqlite, step)

    def look(*arguments: Any) -> Any:
        found = ask(*arguments)
        if maker.ident is None:
            maker.start()
            maker.join(0.5)
        return found

    monkeypatch.setattr(sqlite, step, look)
    KINDS[kind].file(tmp_path / "data").close()
    maker.join()


@pytest.mark.parametrize("file", [each.file for each in KINDS.values()], ids=KINDS)
def test_synced_commit(file: Callable[[Path], Any], tmp_path: Path) -> None:
    """Each commit is synced, on macOS also from the cache of the disk."""
    store = file(tmp_path / "file.db")
    assert sqlite.ask_pragma(store._connection, "synchronous") == 2
    assert sqlite.ask_pragma(store._connection, "fullfsync") == 1
    store.close()
