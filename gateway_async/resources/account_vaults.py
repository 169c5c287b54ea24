"""`gateway.account_vaults` (contract, *Account vaults*)."""

from collections.abc import Sequence
from typing import Final

import attrs

from gateway_async._wire.noun import Noun
from gateway_async.models.account_vaults import (
    AccountVault,
    AccountVaultUpdate,
    AchVaultCreate,
    BinInfo,
    CardVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
    VaultCreate,
)
from gateway_async.models.identifiers import ApiId
from gateway_async.resources.listed import Listed

__all__ = ["ACCOUNT_VAULT", "AccountVaults"]

ACCOUNT_VAULT: Final = Noun(
    name="accountvault",
    plural="accountvaults",
    record=AccountVault,
    creates=(
        CardVaultCreate,
        SwipedVaultCreate,
        AchVaultCreate,
        TicketVaultCreate,
        TransactionVaultCreate,
        VaultCopyCreate,
    ),
    updates=(AccountVaultUpdate,),
    api_id="account_vault_api_id",
    resource="account_vaults",
    moves_money=True,
)
BIN_INFO: Final = Noun(name="bininfo", plural="accountvaults", record=BinInfo)


@attrs.frozen
class AccountVaults(Listed[AccountVault]):
    """Stored cards and bank accounts."""

    noun = ACCOUNT_VAULT

    async def create(self, new: VaultCreate) -> AccountVault:
        """Store an account: a card, a bank account, or what a ticket, a transaction or another vault holds.

        `account_vault_api_id` is made up when left out, so that a lost answer can be looked up.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses the account; `.fields` says why.
            OutcomeUnknownError: it may have been stored; `await error.resolve()` asks again.
        """
        return await self._sender.send(ACCOUNT_VAULT.create(new, self._scope))

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> AccountVault:  # noqa: A002
        """Read a vault. `expand` adds related records (location, contact, signature, …) to `.extra`.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it was deleted.
        """
        return await self._sender.send(ACCOUNT_VAULT.get(id, self._scope, expand))

    async def update(self, id: str | ApiId, changes: AccountVaultUpdate) -> AccountVault:  # noqa: A002
        """Change a vault; a lost answer is settled by reading the vault.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses a value; `.fields` says which.
        """
        return await self._sender.send(ACCOUNT_VAULT.update(id, changes, self._scope))

    async def delete(self, id: str | ApiId) -> None:  # noqa: A002
        """Delete a vault.

        Raises:
            ValidationError: the gateway refuses, because a recurring payment uses it, say; `.fields` says why.
            NotFoundError: there is none; `RecordDeletedError` where it is gone already.
        """
        await self._sender.send(ACCOUNT_VAULT.delete(id, self._scope))

    async def bin_info(self, id: str | ApiId) -> BinInfo:  # noqa: A002
        """What the card's first digits say: issuer, country, product.

        Raises:
            NotFoundError: there is no such vault.
        """
        return await self._sender.send(ACCOUNT_VAULT.part(id, BIN_INFO, self._scope))
