"""`gateway.router_account_vaults` (contract, *Router account vaults*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.call import Call, RepeatEffect
from gateway_async._wire.new_record import with_new_record_lookup
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.account_vaults import AccountVault, RouterAccountVaultCreate
from gateway_async.observe import OnProgress
from gateway_async.resources._resource import WritableResource
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

ROUTER_ACCOUNT_VAULT: Final = ResourceSpec(
    name="routeraccountvault",
    plural="routeraccountvaults",
    record=AccountVault,
    creates=(RouterAccountVaultCreate,),
    response_keys=("accountvault", "routeraccountvault"),
    resource="router_account_vaults",
    moves_money=True,
)


class RouterAccountVaults(WritableResource[AccountVault]):
    """Account vaults created from a card at a terminal."""

    spec = ROUTER_ACCOUNT_VAULT

    async def create(self, new: RouterAccountVaultCreate, *, on_progress: OnProgress | None = None) -> AccountVault:
        """Store the card that the customer presents at a terminal.

        The call waits up to the client's `terminal_timeout` without blocking a thread. Calls for one terminal run one
        after the other, with the same queue, lease, `on_progress` and three ways to end as in
        `router_transactions.create`. One thing differs: if cancel is pressed on the device, the gateway creates no
        record, and the call raises `ValidationError`.

        The gateway takes no integrator id here, so the client first reads the contact's newest vaults and keeps their
        ids. If the response is lost, it reads them again, and the only new card is the result. A card that
        another client stores at a terminal for the same contact in that time would be mistaken for it.

        Args:
            new: the contact and the terminal.
            on_progress: gets the progress of the call, as in `router_transactions.create`.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            NotSentError: nothing was sent: no connection, the contact's vaults cannot be listed, or the lease or the
                ledger is not available.
            TerminalBusyError: nothing was stored: another client uses the terminal, or the outcome of an earlier call
                there is unknown; `.holder` says which.
            ValidationError: the gateway refuses: unknown terminal or contact, no card; `.fields` says which.
            OutcomeUnknownError: no response came, and the card may have been stored. The lookup found no new vault, or
                several, which the error lists; `resolve(error)` looks again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(_create_call(new, self._defaults), on_progress)


def _create_call(new: RouterAccountVaultCreate, defaults: RequestDefaults) -> Call[AccountVault]:
    return with_new_record_lookup(
        ROUTER_ACCOUNT_VAULT.create(new, defaults, repeat_effect=RepeatEffect.TERMINAL),
        ACCOUNT_VAULT,
        {"contact_id": new.contact_id, "payment_method": "cc"},
        in_response={"contact_id": new.contact_id, "account_vault_api_id": None},
        response_spec=ROUTER_ACCOUNT_VAULT,
    )
