"""A program that takes postbacks, keeps them in an inbox, and statements what its handlers do; it is run to be killed.

python receiver_process.py PORT sqlite FILE
python receiver_process.py PORT postgres ADDRESS TABLE
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio
import uvicorn

from gateway_async.models.postbacks import Postback
from gateway_async.postbacks import Claim, PostbackReceiver, PostgresInbox, SqliteInbox

LEASE = 1.0
"""Seconds until what a killed process was handling is handled by the next."""


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


async def main(port: int, kind: str, place: str, table: str = "") -> None:
    """Serve until killed."""
    effects, counter, one, two = "effects", "counter", "?", "?"
    inbox: Any = ShortSqliteInbox(place)
    if kind == "postgres":
        inbox = ShortPostgresInbox(place, table=table)
        effects, counter, one, two = f"{table}_effects", f"{table}_counter", "$1", "$2"
    receiver = PostbackReceiver("shop", "secret", inbox=inbox)

    @receiver.on("transaction")
    async def handle(postback: Postback[Any]) -> None:
        await anyio.sleep(0.002)
        statement = f"INSERT INTO {effects} (record, change) VALUES ({one}, {two})"  # noqa: S608  our own words
        postback.execute(statement, postback.record_id, postback.raw["change"])
        postback.execute(f"UPDATE {counter} SET handled = handled + 1")  # noqa: S608  likewise
        await anyio.sleep(0.002)

    config = uvicorn.Config(receiver.asgi, port=port, lifespan="off", log_level="critical", access_log=False)
    async with receiver:
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    anyio.run(partial(main, int(sys.argv[1]), *sys.argv[2:]))
