"""Make sales at one terminal under a lease, in a separate process. The argument is one JSON object."""

import asyncio
import json
import sys
from typing import Any

from gateway_async import AsyncGateway, RedisTerminalLease, RouterTransactionCreate, UserApiKey


async def sell(facts: dict[str, Any]) -> None:
    """Make `count` sales at once; print a line before the first, and the id of each."""
    lease = RedisTerminalLease(facts["redis"], owner=facts["owner"], seconds=facts["seconds"])
    async with AsyncGateway(
        facts["base_url"],
        developer_id=facts["developer_id"],
        credentials=UserApiKey(facts["user_id"], facts["user_api_key"]),
        location_id=facts["location_id"],
        terminal_lease=lease,
    ) as gateway:
        sale = RouterTransactionCreate(action="sale", terminal_id=facts["terminal_id"], transaction_amount="1.00")
        print("ready", flush=True)  # noqa: T201
        made = await asyncio.gather(*(gateway.router_transactions.create(sale) for _ in range(facts["sales"])))
        print(json.dumps([each.transaction_api_id for each in made]))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(sell(json.loads(sys.argv[1])))
