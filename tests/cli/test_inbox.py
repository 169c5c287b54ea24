"""`gateway-async inbox`: what it lists, what it has handled again, and how it ends."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from secrets import token_hex

import anyio
import pytest

from gateway_async._wire.postback import postback_of
from gateway_async.postbacks import Inbox, PostbackState, PostgresInbox, SqliteInbox
from tests.support.in_process import run
from tests.support.ledgers import ask_postgres
from tests.support.processes import Ended, run_on_terminal
from tests.support.servers import POSTGRES, postgres_only


async def fill(inbox: Inbox) -> None:
    """One postback that is dead, one handled, one that waits."""
    for record in ("dead", "handled", "waiting"):
        raw = {"id": record, "modified_ts": 1_700_000_000, "description": "planted-body"}
        await inbox.store(postback_of("UPDATE", "transaction", raw))
    dead, handled = await inbox.claim(2, 60)
    await inbox.fail(dead, "ValueError: no such \u200dorder\x9b", None)
    await inbox.complete(handled, PostbackState.HANDLED)
    await inbox.aclose()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    anyio.run(fill, SqliteInbox(tmp_path / "inbox.db"))
    return tmp_path / "inbox.db"


@pytest.fixture
def table() -> Iterator[str]:
    name = f"inbox_{token_hex(6)}"
    anyio.run(fill, PostgresInbox(POSTGRES, table=name))
    yield name
    ask_postgres(f"DROP TABLE {name}, {name}_keys")


def listed(ended: Ended) -> list[tuple[int, str, str]]:
    rows = map(json.loads, ended.stdout.splitlines())
    return [(row["number"], row["record_id"], row["state"]) for row in rows]


def test_listing(path: Path) -> None:
    """People get number, time, record and error, no body, and what to do; status 3 says that some are dead."""
    ended = run_on_terminal("inbox", str(path))
    assert ended.returncode == 3
    for shown in ("transaction", "UPDATE", "dead", "waiting", "ValueError: no such \u200dorder?", "--replay-dead"):
        assert shown in ended.stdout
    assert "handled " not in ended.stdout.replace("handled again", "")
    assert "planted-body" not in ended.stdout


@pytest.mark.parametrize(
    ("options", "status", "numbers"),
    [((), 3, [1, 3]), (("--dead",), 3, [1]), (("--waiting",), 0, [3]), (("--all",), 3, [1, 2, 3])],
    ids=["", "dead", "waiting", "all"],
)
def test_lines_of_json(path: Path, options: tuple[str, ...], status: int, numbers: list[int]) -> None:
    """One line for each postback, with its state and without its body."""
    ended = run("inbox", str(path), "--json", *options)
    everything = [(1, "dead", "dead"), (2, "handled", "handled"), (3, "waiting", "waiting")]
    assert (ended.returncode, ended.stderr) == (status, "")
    assert listed(ended) == [row for row in everything if row[0] in numbers]
    assert "planted-body" not in ended.stdout


@pytest.mark.parametrize("options", [("--replay", "1"), ("--replay-dead",)], ids=["one", "dead"])
def test_what_is_replayed_waits_again_and_is_listed_so(path: Path, options: tuple[str, ...]) -> None:
    ended = run("inbox", str(path), "--json", *options)
    assert (ended.returncode, ended.stderr, listed(ended)) == (0, "", [(1, "dead", "waiting")])
    assert listed(run("inbox", str(path), "--json")) == [(1, "dead", "waiting"), (3, "waiting", "waiting")]
    ended = run_on_terminal("inbox", str(path), "--dead")
    assert (ended.returncode, ended.stdout) == (0, "No such postbacks in the inbox.\n")
    assert run("inbox", str(path), "--dead").stdout == ""


def test_given_up(path: Path) -> None:
    """Postbacks that were given up are listed no longer: the exit status is that of an inbox in good order."""
    ended = run("inbox", str(path), "--json", "--discard", "1")
    assert (ended.returncode, ended.stderr, listed(ended)) == (0, "", [(1, "dead", "discarded")])
    ended = run("inbox", str(path), "--json")
    assert (ended.returncode, listed(ended)) == (0, [(3, "waiting", "waiting")])
    missing = [("--discard", number, f"no dead postback {number}") for number in ("1", "2", "3", "99")]
    for option, number, said in [*missing, ("--replay", "99", "no postback 99")]:
        ended = run("inbox", str(path), option, number)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == f"gateway-async: {option}: {said}\n"


def test_invalid_files(tmp_path: Path) -> None:
    """One line, status 1, and it is left as it is; an empty or a missing one is wrong usage and is not made."""
    theirs, empty = tmp_path / "theirs.db", tmp_path / "empty.db"
    with closing(sqlite3.connect(theirs)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    empty.touch()
    before = theirs.read_bytes()
    for path, status, said in (
        (theirs, 1, f"the inbox {theirs} cannot be used: it is another program's"),
        (empty, 2, f"FILE: {empty} is empty"),
        (tmp_path / "none.db", 2, f"FILE: {tmp_path / 'none.db'} does not exist"),
    ):
        ended = run("inbox", str(path))
        assert (ended.returncode, ended.stdout) == (status, "")
        assert ended.stderr.startswith(f"gateway-async: {said}")
    assert (theirs.read_bytes(), empty.read_bytes()) == (before, b"")
    assert not (tmp_path / "none.db").exists()


@postgres_only
def test_an_inbox_in_postgresql_is_listed_and_replayed_like_a_file(table: str) -> None:
    ended = run("inbox", POSTGRES, "--table", table, "--json")
    assert (ended.returncode, listed(ended)) == (3, [(1, "dead", "dead"), (3, "waiting", "waiting")])
    assert listed(run("inbox", POSTGRES, "--table", table, "--json", "--replay-dead")) == [(1, "dead", "waiting")]


@postgres_only
def test_missing_tables() -> None:
    """Listing does not create a file."""
    ended = run("inbox", POSTGRES, "--table", "inbox_that_is_not_there")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "there is no such table" in ended.stderr
