"""Files are readable only by their owner from the first byte, with any umask."""

import ast
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gateway_async
from gateway_async import InvalidRequestError, LedgerError
from gateway_async._storage.backends import SqliteBackend
from gateway_async._storage.private_file import create_private
from gateway_async.errors import InboxError
from gateway_async.migration import JournalEntry, RowResult, RowState, VaultRow
from gateway_async.migration.journal.store import _FORMAT as JOURNAL
from gateway_async.migration.output.files import AtomicFile, check_output
from gateway_async.migration.output.rejects import Rejects
from gateway_async.migration.output.tables import InputFormat, write_vault_ids
from gateway_async.postbacks.inbox.store import _FORMAT as INBOX
from gateway_async.sandbox.runtime.store import Store
from tests.support.ledgers import LedgerFile

PACKAGE = Path(gateway_async.__file__).parent
DATABASES: dict[str, Callable[[str], Any]] = {
    "ledger": LedgerFile,
    "inbox": partial(SqliteBackend, file_format=INBOX),
    "journal": partial(SqliteBackend, file_format=JOURNAL),
    "sandbox": Store,
}

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no modes")


@pytest.fixture(params=[0o000, 0o777], autouse=True)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    former = os.umask(request.param)
    yield
    os.umask(former)


@pytest.fixture
def modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record the name and mode of every file in the folder at each open and around each SQL statement."""
    seen: list[tuple[str, int]] = []

    def look() -> None:
        seen.extend((path.name, stat.S_IMODE(path.lstat().st_mode)) for path in tmp_path.iterdir())

    class Connection(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            look()
            try:
                return super().execute(*arguments)
            finally:
                look()

    def opened(*arguments: Any, **named: Any) -> int:
        number = real_open(*arguments, **named)
        look()
        return number

    real_open = os.open
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Connection))
    return seen


def modes_in(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize("kind", DATABASES)
def test_new_database(tmp_path: Path, modes: list[tuple[str, int]], kind: str) -> None:
    """The file and SQLite's side files have mode 0600 at every moment."""
    file = DATABASES[kind](str(tmp_path / "data"))
    assert {"data", "data-wal"} <= {name for name, _ in modes}
    file.close()
    assert {mode | 0o600 for _, mode in modes} == {0o600}  # a umask may remove more for a moment
    assert modes_in(tmp_path) == {"data": 0o600}


@pytest.mark.parametrize("kind", DATABASES)
def test_readable_database(tmp_path: Path, kind: str) -> None:
    """Opening a readable file of ours removes the permissions of others, also from its side files."""
    first = DATABASES[kind](str(tmp_path / "data"))
    if kind == "sandbox":  # the sandbox needs the file for itself
        first.close()
    for path in tmp_path.iterdir():
        path.chmod(0o664)
    second = DATABASES[kind](str(tmp_path / "data"))
    assert set(modes_in(tmp_path).values()) == {0o600}
    first.close()
    second.close()


def test_users_database(tmp_path: Path) -> None:
    """An inbox in the user's own database keeps its mode, and so does a rejected file."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE orders (id)")
    shop.close()
    path.chmod(0o640)
    SqliteBackend(path, INBOX, shared=True).close()
    with pytest.raises(LedgerError, match="another program's"):
        LedgerFile(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("kind", DATABASES)
def test_foreign_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Nothing is written to a file of another user, who could read it."""
    path = tmp_path / "data"
    path.touch(0o666)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises((LedgerError, InboxError, gateway_async.GatewayError, sqlite3.Error), match="another user"):
        DATABASES[kind](str(path))
    assert path.read_bytes() == b""


def test_links(tmp_path: Path) -> None:
    """A dangling symbolic link is rejected, and a link to a ledger is followed."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "ledger")
    with pytest.raises(LedgerError, match="cannot be opened or created"):
        LedgerFile(link)
    LedgerFile(tmp_path / "ledger").close()
    LedgerFile(link).close()


def rejects(path: Path, kind: str) -> Any:
    """Make rejects of one row, not yet moved to their path."""
    file = Rejects(path, lambda: InputFormat(format=kind, columns=("key",)))
    row = VaultRow(key="k", line=1, source={"key": "k"})
    file.add(row, RowResult(key="k", api_id="m", state=RowState.REJECTED, fingerprint="", line=1, reasons=("no",)))
    return file


async def one_entry() -> AsyncIterator[JournalEntry]:
    yield JournalEntry(
        key="k",
        api_id="m",
        state=RowState.STORED,
        fingerprint="",
        line=1,
        reasons=(),
        vault_id="v",
        last_four="1111",
        brand="visa",
        run=1,
        changed_at=datetime(2026, 11, 21, tzinfo=UTC),
    )


@pytest.mark.anyio
async def test_migration_outputs(tmp_path: Path, modes: list[tuple[str, int]]) -> None:
    """Vault ids, reports and rejects have mode 0600 while they are written and afterwards, and previous ones too."""
    (tmp_path / "rejects.csv").write_text("key,problems\n")
    (tmp_path / "rejects.csv").chmod(0o644)
    modes.clear()
    await write_vault_ids(tmp_path / "out.csv", one_entry())
    with AtomicFile(tmp_path / "report.html", "utf-8") as report:
        report.write("<p>")
    for kind in ("csv", "jsonl", "parquet"):
        file = rejects(tmp_path / f"rejects.{kind}", kind)
        assert stat.S_IMODE((tmp_path / f"rejects.{kind}.part").stat().st_mode) == 0o600
        assert file.close()
    assert {mode | 0o600 for name, mode in modes if name.endswith(".part")} == {0o600}
    names = ("out.csv", "report.html", "rejects.csv", "rejects.csv~", "rejects.jsonl", "rejects.parquet")
    assert modes_in(tmp_path) == dict.fromkeys(names, 0o600)


@pytest.mark.parametrize("force", [False, True])
def test_unsafe_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, force: bool) -> None:
    """A link and another user's file are rejected before anything is sent, and when the file is created."""
    link, other = tmp_path / "link.csv", tmp_path / "other.csv"
    link.symlink_to(tmp_path / "target.csv")
    other.touch()
    other.chmod(0o666)
    for option in ("out", "rejects", "report"):
        with pytest.raises(InvalidRequestError, match=r"link\.csv is a symbolic link"):
            check_output(option, link, force=force)
    monkeypatch.setattr(os, "geteuid", lambda: other.stat().st_uid + 1)
    for option in ("out", "rejects", "report"):
        with pytest.raises(InvalidRequestError, match=r"other\.csv belongs to another user"):
            check_output(option, other, force=force)
    for path in (link, other):
        with pytest.raises(PermissionError):
            AtomicFile(path, "utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "other.csv"]


@pytest.mark.anyio
async def test_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written on Windows, which has neither owners nor modes."""
    monkeypatch.delattr(os, "geteuid")
    monkeypatch.delattr(os, "fchmod")
    os.umask(0o077)
    for kind, make in DATABASES.items():
        make(str(tmp_path / kind)).close()
        make(str(tmp_path / kind)).close()
    assert await write_vault_ids(tmp_path / "out.csv", one_entry()) == 1
    assert rejects(tmp_path / "rejects.csv", "csv").close()


def test_a_file_is_created_or_rejected_but_never_truncated(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("former")
    with pytest.raises(FileExistsError):
        create_private(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "former"


WRITERS = {
    "_storage/private_file.py",
    "_storage/sqlite.py",  # files that `private_file` has created
    "sandbox/runtime/store.py",  # in memory
    "migration/rows/temporary_table.py",  # a file without a name, which SQLite makes private
    "ledger/reconciliation/tables.py",  # likewise
    "cli/standard_streams.py",  # the null device only
    "cli/demo/chapters.py",  # in a temporary folder
    "crash_testing/recording_ledger.py",  # in a temporary folder
}


def test_creating_module() -> None:
    """No other module has a call that creates a file with a name."""
    calls = {"write_text", "write_bytes", "touch", "mkstemp", "NamedTemporaryFile", "sqlite3.connect", "os.open"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            texts = {value.value for value in values if isinstance(value, ast.Constant)}
            opens = name.split(".")[-1] == "open" and texts & {"w", "a", "x", "wb", "ab", "xb", "w+", "a+", "r+"}
            if name in calls or name.split(".")[-1] in calls or (opens and "create_private" not in path.read_text()):
                found.add(path.relative_to(PACKAGE).as_posix())
    assert found == WRITERS
