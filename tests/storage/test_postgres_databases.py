"""The PostgreSQL stores say at once in which databases and event loops they cannot be used."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from gateway_async import JournalError, LedgerError, PostgresLedger
from gateway_async.migration import PostgresJournal
from gateway_async.postbacks import InboxError, PostgresInbox
from tests.support.servers import POSTGRES, postgres_only

pytestmark = postgres_only
pytest.importorskip("asyncpg")


async def open_ledger(address: str) -> None:
    """Open a ledger, and read it."""
    ledger = PostgresLedger(address)
    try:
        await ledger.open_intents()
    finally:
        await ledger.aclose()


async def open_inbox(address: str) -> None:
    """Open an inbox, and read it."""
    inbox = PostgresInbox(address)
    try:
        await inbox.list()
    finally:
        await inbox.aclose()


async def open_journal(address: str) -> None:
    """Open a journal."""
    journal = PostgresJournal(address, "cards")
    try:
        await journal.start("cards")
    finally:
        await journal.aclose()


def ask(statement: str, address: str = POSTGRES) -> list[str]:
    """Return the first column of a statement's rows."""
    import asyncpg

    async def run() -> list[str]:
        connection = await asyncpg.connect(address)
        try:
            return [str(row[0]) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return asyncio.run(run())


@pytest.fixture(params=["LATIN1", "SQL_ASCII"])
def encoded(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A database with another encoding: its address, and the encoding."""
    name = f"encoding_{token_hex(6)}"
    ask(f"CREATE DATABASE {name} ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    yield urlunsplit(urlsplit(POSTGRES)._replace(path=f"/{name}")), request.param
    ask(f"DROP DATABASE {name}")


@pytest.mark.parametrize(
    ("open_store", "error"),
    [(open_ledger, LedgerError), (open_inbox, InboxError), (open_journal, JournalError)],
    ids=["ledger", "inbox", "journal"],
)
def test_a_database_that_is_not_in_utf_8(
    encoded: tuple[str, str], open_store: Callable[[str], Coroutine[Any, Any, None]], error: type[Exception]
) -> None:
    """A name with an emoji could not be stored later, so the store is not opened, and no table is created."""
    address, encoding = encoded
    with pytest.raises(error, match=rf"the database has the encoding {encoding} \(expected UTF8\)"):
        asyncio.run(open_store(address))
    assert ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", address) == []


def test_an_inbox_belongs_to_its_event_loop() -> None:
    """The use and the end in another one fail with one sentence each."""
    table = f"inbox_{token_hex(6)}"
    inbox = PostgresInbox(POSTGRES, table=table)
    with asyncio.Runner() as own:
        own.run(inbox.list())
        for use in (inbox.list, inbox.aclose):
            with pytest.raises(InboxError, match="belongs to another event loop") as failed:
                asyncio.run(use())
            assert failed.value.__cause__ is None
        own.run(inbox.aclose())
    asyncio.run(inbox.aclose())
    ask(f"DROP TABLE {table}, {table}_keys")
