"""A program that stores postbacks in an inbox and handles them, until it is killed."""

from collections.abc import Sequence
from typing import Any

import anyio
import uvicorn

from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import Claim, PostbackReceiver, PostgresInbox, SqliteInbox

LEASE = 1.0
"""Seconds until what a killed process was handling is handled by the next."""


MAX_ATTEMPTS = 100
"""More than the kills of one test, so that no postback is given up."""


class ShortSqliteInbox(SqliteInbox):
    """An inbox whose claims run out soon."""

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Take what is due."""
        return await super().claim(limit, min(seconds, LEASE))


class ShortPostgresInbox(PostgresInbox):
    """An inbox whose claims run out soon."""

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Take what is due."""
        return await super().claim(limit, min(seconds, LEASE))


def make_receiver(kind: str, location: str, table: str = "") -> PostbackReceiver:
    """Return a receiver whose handler writes an effect and a counter beside its inbox."""
    effects, counter, one, two = "effects", "counter", "?", "?"
    inbox: Any
    if kind != "postgres":
        inbox = ShortSqliteInbox(location)
    else:
        inbox = ShortPostgresInbox(location, table=table)
        effects, counter, one, two = f"{table}_effects", f"{table}_counter", "$1", "$2"
    receiver = PostbackReceiver("shop", "secret", inbox=inbox, max_attempts=MAX_ATTEMPTS)

    @receiver.on("transaction")
    async def handle(postback: Postback[Any]) -> None:
        await anyio.sleep(0.002)
        statement = f"INSERT INTO {effects} (record, change) VALUES ({one}, {two})"  # noqa: S608  our own words
        postback.execute(statement, postback.record_id, postback.raw["change"])
        postback.execute(f"UPDATE {counter} SET handled = handled + 1")  # noqa: S608  likewise
        await anyio.sleep(0.002)

    return receiver


async def main(port: int, kind: str, location: str, table: str = "") -> None:
    """Serve until killed."""
    receiver = make_receiver(kind, location, table)
    config = uvicorn.Config(receiver.asgi, port=port, lifespan="off", log_level="critical", access_log=False)
    async with receiver:
        await uvicorn.Server(config).serve()
