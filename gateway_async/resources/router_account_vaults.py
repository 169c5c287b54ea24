"""`gateway.router_account_vaults` (contract, *Router account vaults*)."""

from typing import Final

import attrs

from gateway_async._net.sender import Sender
from gateway_async._wire.call import Kind
from gateway_async._wire.noun import Noun, Scope
from gateway_async.models.account_vaults import AccountVault, RouterAccountVaultCreate

__all__ = ["ROUTER_ACCOUNT_VAULT", "RouterAccountVaults"]

ROUTER_ACCOUNT_VAULT: Final = Noun(
    name="routeraccountvault",
    plural="routeraccountvaults",
    record=AccountVault,
    creates=(RouterAccountVaultCreate,),
    answers=("accountvault", "routeraccountvault"),
)


@attrs.frozen
class RouterAccountVaults:
    """Cards stored from a terminal."""

    _sender: Sender
    _scope: Scope

    async def create(self, new: RouterAccountVaultCreate) -> AccountVault:
        """Store the card that the customer presents; waits up to the client's `terminal_timeout`, holding no thread.

        Calls for one terminal run one after the other. The gateway takes no integrator id here, so a lost answer
        cannot be looked up.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses: unknown terminal or contact; `.fields` says which.
            OutcomeUnknownError: no answer came; the card may have been stored: list the contact's vaults.
        """
        return await self._sender.send(ROUTER_ACCOUNT_VAULT.create(new, self._scope, kind=Kind.TERMINAL))
