"""The records of a gateway as a whole: what they count, more of them, and none."""

import asyncio
import secrets
import time

import attrs

from gateway_async.sandbox import end_of_day, seed
from gateway_async.sandbox.controls.faults import clear_faults
from gateway_async.sandbox.controls.payments import read_card_arguments
from gateway_async.sandbox.handlers.quick_invoices import read_file
from gateway_async.sandbox.ledger import COUNTED_EFFECTS
from gateway_async.sandbox.runtime.gateway import Gateway, SandboxInfo
from gateway_async.sandbox.schema import ACCOUNT_VAULT, TICKET, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators import cards
from gateway_async.sandbox.simulators.cards import TEST_CARDS

_VAULTS_PER_TRANSACTION = 5000
_SUMMARY_FIELDS = (
    "id",
    "location_id",
    "transaction_api_id",
    "account_vault_api_id",
    "account_vault_id",
    "transaction_amount",
    "auth_amount",
    "status_id",
    "type_id",
    "reason_code_id",
    "trx_source_id",
    "last_four",
    "is_open",
    "processing_status_id",
    "created_ts",
)


def ledger(gateway: Gateway) -> Row:
    """Count how often each integrator id was `charged`, `refunded` or `stored`, and return the records.

    A voided payment still counts as charged. A decline and an address check move
    no money.
    """
    counts = {name: effect.count_by_id(gateway) for name, effect in COUNTED_EFFECTS.items()}
    tables = (TRANSACTION, ACCOUNT_VAULT, TRANSACTION_BATCH)
    return counts | {table.plural: [_summarize(table, row) for row in gateway.store.select(table)] for table in tables}


def _summarize(table: Table, row: Row) -> Row:
    record = table.show(row)
    return {name: record[name] for name in _SUMMARY_FIELDS if name in record}


def file(gateway: Gateway, file_id: str) -> bytes:
    """Return the content of a file that is attached to an invoice.

    Raises:
        InvalidRequestError: The file is unknown.
    """
    content, _ = read_file(gateway, file_id)
    return content


def add_location(gateway: Gateway, name: str = "Second", parent_id: str | None = None) -> SandboxInfo:
    """Add a location with its own user, and return its info. `parent_id` is the location above it, if any."""
    return seed.add_location(gateway, gateway.info.developer_id, name, parent_id)


async def add_vaults(gateway: Gateway, count: int) -> None:
    """Store many account vaults, each with its own `account_vault_api_id`.

    Raises:
        InvalidRequestError: The count is negative.
    """
    if count < 0:
        raise ValueError("count: must be 0 or more.")
    card = cards.read_card(TEST_CARDS["visa"], "1230", "John Smith")
    values = attrs.asdict(card) | {"contact_id": gateway.info.contact_id}
    template = gateway.new_row(ACCOUNT_VAULT, gateway.first_location, values)
    series = secrets.token_hex(4)
    for start in range(0, count, _VAULTS_PER_TRANSACTION):
        with gateway.store.transaction():
            numbers = range(start, min(start + _VAULTS_PER_TRANSACTION, count))
            names = ({"account_vault_api_id": f"seed-{series}-{n}", "title": f"Vault {n}"} for n in numbers)
            gateway.store.insert(ACCOUNT_VAULT, *(template | {"id": gateway.ids.new()} | own for own in names))
        await asyncio.sleep(0)


def ticket(gateway: Gateway, card: str = "4111111111111111", exp_date: str = "1230") -> str:
    """Create a ticket, which can replace a card once.

    Raises:
        InvalidRequestError: The card number is invalid, or the expiry does not have the form MMYY.
    """
    values = attrs.asdict(read_card_arguments(card, exp_date))
    return str(gateway.create(TICKET, gateway.first_location, values)["id"])


async def reset(gateway: Gateway) -> None:
    """Cancel waiting calls, delete records and faults, and reset the clock."""
    await gateway.listener.cancel_requests()
    await clear_faults(gateway)
    await gateway.postback_delivery.cancel_attempts()
    gateway.clock.set(time.time())
    seed.delete_records(gateway)
    gateway.terminals.reset()
    end_of_day.skip_to_today(gateway)
