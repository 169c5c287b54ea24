"""`gateway.router_account_vaults` (contract, *Router account vaults*)."""

from functools import partial
from typing import Any, Final

import attrs

from gateway_async._wire.call import Call, Kind, Recovery
from gateway_async._wire.new_record import check_new, new_record, read_before
from gateway_async._wire.outcome_query import OutcomeQuery
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import check_belongs
from gateway_async._wire.scope import Scope
from gateway_async.models.account_vaults import AccountVault, RouterAccountVaultCreate
from gateway_async.observe import OnProgress
from gateway_async.resources._resource import Resource
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

__all__ = ["ROUTER_ACCOUNT_VAULT", "RouterAccountVaults"]

ROUTER_ACCOUNT_VAULT: Final = ResourceSpec(
    name="routeraccountvault",
    plural="routeraccountvaults",
    record=AccountVault,
    creates=(RouterAccountVaultCreate,),
    response_keys=("accountvault", "routeraccountvault"),
    resource="router_account_vaults",
    moves_money=True,
)


@attrs.frozen
class RouterAccountVaults(Resource):
    """Account vaults that are created from a card at a terminal."""

    spec = ROUTER_ACCOUNT_VAULT

    async def create(self, new: RouterAccountVaultCreate, *, on_progress: OnProgress | None = None) -> AccountVault:
        """Store the card that the customer presents at a terminal.

        The call waits up to the client's `terminal_timeout` without blocking a thread. Calls for one terminal run one
        after the other, with the same queue, lease, `on_progress` and three ways to end as
        `router_transactions.create`. One thing differs: if cancel is pressed on the device, the gateway creates no
        record, and the call raises `ValidationError`.

        The gateway takes no integrator id here. The client therefore first reads the contact's newest vaults and keeps
        their ids. If the response is lost, it reads them again, and the only new card is the result. A card that
        another client stores at a terminal for the same contact in that time would be mistaken for it.

        Args:
            new: the contact and the terminal.
            on_progress: function that gets the progress of the call, as in `router_transactions.create`.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            NotSentError: nothing was sent: no connection, the contact's vaults cannot be listed, or the lease or the
                ledger is not available.
            TerminalBusyError: nothing was stored: another client uses the terminal, or the outcome of an earlier call
                there is unknown; `.holder` says which.
            ValidationError: the gateway refuses: unknown terminal or contact, no card; `.fields` says which.
            OutcomeUnknownError: no response came, and the card may have been stored. The lookup found no new vault, or
                several, which the error lists; `await error.resolve()` looks again.
        """
        return await self._executor.execute(_create_call(new, self._scope), on_progress)


def _create_call(new: RouterAccountVaultCreate, scope: Scope) -> Call[AccountVault]:
    """Build the call; its prerequisite reads the existing vaults."""
    call = ROUTER_ACCOUNT_VAULT.create(new, scope, kind=Kind.TERMINAL)
    expected_in_response = {"contact_id": new.contact_id, "account_vault_api_id": None}

    def add_lookup(outcome_query: OutcomeQuery) -> Call[AccountVault]:
        def read(content: Any) -> AccountVault:
            record = ROUTER_ACCOUNT_VAULT.unwrap(content)
            check_belongs(expected_in_response, record)
            check_new(outcome_query, record)
            return call.read(content)

        entry = call.ledger_entry and attrs.evolve(call.ledger_entry, outcome_query=outcome_query)
        recovery = Recovery(lookup=partial(new_record, ACCOUNT_VAULT, outcome_query))
        return attrs.evolve(call, read=read, recovery=recovery, ledger_entry=entry, prerequisite=None)

    expected = {"contact_id": new.contact_id, "payment_method": "cc"}
    return attrs.evolve(call, prerequisite=read_before(ACCOUNT_VAULT, expected, add_lookup))
