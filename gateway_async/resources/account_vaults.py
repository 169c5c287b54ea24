"""`gateway.account_vaults` (contract, *Account vaults*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.resource import ResourceSpec
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
from gateway_async.models.record import ApiId
from gateway_async.resources._resource import CreatableResource, DeletableResource, UpdatableResource

ACCOUNT_VAULT: Final = ResourceSpec(
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
VAULT_BIN_INFO: Final = ResourceSpec(name="bininfo", plural="accountvaults", record=BinInfo)


class AccountVaults(
    DeletableResource[AccountVault],
    UpdatableResource[AccountVault, AccountVaultUpdate],
    CreatableResource[AccountVault, VaultCreate],
):
    """Stored cards and bank accounts.

    `expand` accepts account_vault_cau_logs, account_vault_cau_product_transaction, changelogs, contact,
    created_user, location, product_transaction, signature and tags.
    """

    spec = ACCOUNT_VAULT

    async def create(self, new: VaultCreate) -> AccountVault:
        """Store a card or a bank account.

        The account can also come from a ticket, a transaction or another vault. `account_vault_api_id` is generated
        when omitted: it finds the vault if the response is lost.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects the account; `.fields` says why.
            OutcomeUnknownError: it may have been stored; `resolve(error)` looks it up again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(ACCOUNT_VAULT.create(new, self._defaults))

    async def bin_info(self, id: str | ApiId) -> BinInfo:
        """Read what the card's first digits reveal: issuer, country, product.

        Raises:
            NotFoundError: the vault does not exist.
        """
        return await self._executor.execute(ACCOUNT_VAULT.sub_resource(id, VAULT_BIN_INFO, self._defaults))
