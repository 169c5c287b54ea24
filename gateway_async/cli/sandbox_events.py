"""The events that `gateway-async trigger` causes: a change of each kind that a postback can report."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import anyio.to_thread

from gateway_async import (
    AccountVaultUpdate,
    AsyncGateway,
    CardVaultCreate,
    ContactCreate,
    ContactUpdate,
    Transaction,
    TransactionCreate,
)
from gateway_async.cli.sandbox_control import SandboxControl

__all__ = ["EVENTS"]

_CARD: Final = "4111111111111111"  # a published test card
_EXPIRY: Final = "1230"


async def _create_contact(gateway: AsyncGateway) -> str:
    return (await gateway.contacts.create(ContactCreate(last_name="Trigger"))).id


async def _update_contact(gateway: AsyncGateway) -> str:
    contact_id = await _create_contact(gateway)
    await gateway.contacts.update(contact_id, ContactUpdate(city="Rome"))
    return contact_id


async def _delete_contact(gateway: AsyncGateway) -> str:
    contact_id = await _create_contact(gateway)
    await gateway.contacts.delete(contact_id)
    return contact_id


async def _create_vault(gateway: AsyncGateway) -> str:
    new = CardVaultCreate(account_number=_CARD, exp_date=_EXPIRY, contact_id=await _create_contact(gateway))
    return (await gateway.account_vaults.create(new)).id


async def _update_vault(gateway: AsyncGateway) -> str:
    vault_id = await _create_vault(gateway)
    await gateway.account_vaults.update(vault_id, AccountVaultUpdate(title="Triggered"))
    return vault_id


async def _delete_vault(gateway: AsyncGateway) -> str:
    vault_id = await _create_vault(gateway)
    await gateway.account_vaults.delete(vault_id)
    return vault_id


async def _sell(gateway: AsyncGateway) -> Transaction:
    new = TransactionCreate(action="sale", transaction_amount="1.00", account_number=_CARD, exp_date=_EXPIRY)
    return await gateway.transactions.create(new)


async def _create_transaction(gateway: AsyncGateway) -> str:
    return (await _sell(gateway)).id


async def _update_transaction(gateway: AsyncGateway) -> str:
    sale = await _sell(gateway)
    await gateway.transactions.void(sale.id)
    return sale.id


async def _create_batch(gateway: AsyncGateway, *, settle: bool = False) -> str:
    """Sell in a new batch. The user's open batch stays as it is."""
    sale = await _sell(gateway)
    isolate = partial(SandboxControl(gateway.base_url).isolate_payment, sale.id, settle=settle)
    return await anyio.to_thread.run_sync(isolate)


EVENTS: Final[Mapping[str, Callable[[AsyncGateway], Awaitable[str]]]] = {
    "transaction.create": _create_transaction,
    "transaction.update": _update_transaction,
    "transactionbatch.create": _create_batch,
    "transactionbatch.update": partial(_create_batch, settle=True),
    "accountvault.create": _create_vault,
    "accountvault.update": _update_vault,
    "accountvault.delete": _delete_vault,
    "contact.create": _create_contact,
    "contact.update": _update_contact,
    "contact.delete": _delete_contact,
}
"""Event → a function that makes the change, and returns the id of the record."""
