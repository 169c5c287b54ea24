"""A till that sells and waits for the response: the demo kills its process. `python -m … LEDGER API_ID`."""

import sys

import anyio

from gateway_async import AsyncGateway, SqliteLedger, TransactionCreate

__all__: list[str] = []


async def _sell(file: str, api_id: str) -> None:
    new = TransactionCreate(
        action="sale",
        account_number="4111111111111111",  # a published test card
        exp_date="1230",
        transaction_amount="36.00",
        transaction_api_id=api_id,
    )
    async with AsyncGateway.from_env(ledger=SqliteLedger(file)) as gateway:
        await gateway.transactions.create(new)


if __name__ == "__main__":
    anyio.run(_sell, sys.argv[1], sys.argv[2])
