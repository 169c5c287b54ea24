"""Bill members every month: start a subscription for each, pause and resume one, and list the charges.

    gateway-async sandbox                    # in another terminal; paste the export lines that it shows
    python examples/recurring_billing.py start members.csv   # columns: member,account_vault_id,amount
    python examples/recurring_billing.py pause MEMBER
    python examples/recurring_billing.py resume MEMBER
    python examples/recurring_billing.py charges

The gateway makes the charges. `start` can be run again: a member who has a subscription is left out. The description of
a recurring names its member. An outcome that stays unknown is not repeated in the same run. The next `start` finds the
recurring, if there is one.
"""

import asyncio
import csv
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from gateway_async import (
    AsyncGateway,
    GatewayError,
    OutcomeUnknownError,
    Recurring,
    RecurringCreate,
    SqliteLedger,
)

PREFIX = "Member "


async def subscriptions(gateway: AsyncGateway) -> dict[str, Recurring]:
    """Read the subscriptions that have not ended, by member."""
    found: dict[str, Recurring] = {}
    async for recurring in gateway.recurrings.list():
        description = recurring.description or ""
        if description.startswith(PREFIX) and recurring.status != "ended":
            found[description.removeprefix(PREFIX)] = recurring
    return found


async def start(gateway: AsyncGateway, path: str) -> None:
    """Start a subscription for each member of a CSV file without one."""
    present = await subscriptions(gateway)
    with open(path, encoding="utf-8", newline="") as file:  # noqa: ASYNC230, PTH123  a short local file
        members = [row for row in csv.DictReader(file) if row["member"] not in present]
    for member in members:
        new = RecurringCreate(
            account_vault_id=member["account_vault_id"],
            transaction_amount=Decimal(member["amount"]),
            interval=1,
            interval_type="m",
            start_date=(datetime.now(UTC) + timedelta(days=1)).date(),
            description=PREFIX + member["member"],
        )
        try:
            recurring = await gateway.recurrings.create(new)
        except OutcomeUnknownError as error:
            print(f"{member['member']}: not known yet: {error}")
        except GatewayError as error:
            print(f"{member['member']}: not started: {error}")
        else:
            print(f"{member['member']}: first charge on {recurring.next_run_date}")


async def pause(gateway: AsyncGateway, member: str) -> None:
    """Place a member's subscription on hold."""
    recurring = await gateway.recurrings.hold((await subscriptions(gateway))[member].id)
    print(f"{member}: {recurring.status}")


async def resume(gateway: AsyncGateway, member: str) -> None:
    """Activate a member's subscription again."""
    recurring = await gateway.recurrings.activate(
        (await subscriptions(gateway))[member].id
    )
    print(f"{member}: {recurring.status}")


async def charges(gateway: AsyncGateway) -> None:
    """List the charges of all subscriptions."""
    for member, recurring in (await subscriptions(gateway)).items():
        async for payment in gateway.transactions.list({"recurring_id": recurring.id}):
            print(
                f"{member}: {payment.transaction_amount} {'approved' if payment.approved else payment.verbiage}"
            )


COMMANDS = {"start": start, "pause": pause, "resume": resume}


async def main(command: str = "", *arguments: str) -> None:
    """Run one command."""
    async with AsyncGateway.from_env(ledger=SqliteLedger("billing.db")) as gateway:
        for recovered in await gateway.recover(wait=0):  # of a run that was interrupted
            print(f"interrupted: {recovered.call}: {recovered.outcome}")
        if command == "charges":
            await charges(gateway)
        elif command in COMMANDS and len(arguments) == 1:
            await COMMANDS[command](gateway, *arguments)
        else:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyError as error:
        sys.exit(f"{error}: no such member or column")
    except GatewayError as error:
        sys.exit(str(error))
