"""The examples of the commands in the reference: what they print in a sandbox with a customer, a payment and files."""

import json
import re
import shlex
from typing import Final

import anyio
from typer.testing import CliRunner

from gateway_async import CardVaultCreate, ContactCreate, SqliteLedger, TransactionCreate
from gateway_async.cli.app import app
from gateway_async.postbacks import PostbackReceiver, SqliteInbox
from gateway_async.sandbox import Sandbox

from .documents import Block, blocks
from .shell_session import commands

COMMAND_EXAMPLES: Final = tuple(blocks("docs/reference/examples/commands.md", "console"))
CARDS: Final = """\
account_vault_api_id,account_number,exp_date
customer-7,4111111111111111,1230
customer-8,5454545454545454,1231
"""
POSTBACK: Final = {
    "resource": "contact",
    "type": "UPDATE",
    "number_of_attempts": 1,
    "data": {"id": "11e8b5a0c4d2f3a6b7c8d9e0", "last_name": "Lovelace"},
}


async def prepare(sandbox: Sandbox) -> None:
    """Create a customer and a payment, and write a ledger, an inbox and a file of cards."""
    async with sandbox.gateway(ledger=SqliteLedger("payments.db")) as gateway:
        card = await gateway.account_vaults.create(CardVaultCreate(account_number="4111111111111111", exp_date="1230"))
        await gateway.contacts.create(
            ContactCreate(first_name="Ada", last_name="Lovelace", contact_api_id="customer-42")
        )
        payment = TransactionCreate(
            action="sale", account_vault_id=card.id, transaction_amount="12.50", transaction_api_id="order-1001"
        )
        await gateway.transactions.create(payment)
    receiver = PostbackReceiver(allow_unauthenticated=True, inbox=SqliteInbox("inbox.db"))
    await receiver.accept(receiver.parse({"Content-Type": "application/json"}, json.dumps(POSTBACK)))
    await anyio.Path("cards.csv").write_text(CARDS, encoding="utf-8")


def run_commands(block: Block, environment: dict[str, str]) -> str:
    """Run the commands of a block in this process, and return what a console would show: each with its output."""
    shown = ""
    for command in commands(block):
        ended = CliRunner().invoke(app, shlex.split(command.text)[1:], env={**environment, "COLUMNS": "80"})
        shown += f"$ {command.text}\n{ended.output}"
    return shown


def matches(printed: str, shown: str) -> bool:
    """Return whether a text is the one that is shown, in which `…` is anything."""
    pattern = ".*?".join(map(re.escape, shown.strip().split("…")))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
