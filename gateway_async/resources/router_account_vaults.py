"""`gateway.router_account_vaults` (contract, *Router account vaults*)."""

from typing import Any, Final

import attrs

from gateway_async._net.sender import Sender
from gateway_async._wire.belonging import check_belongs
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.inquiry import Inquiry
from gateway_async._wire.newcomer import check_new, newcomer, read_before
from gateway_async._wire.noun import Noun, Scope
from gateway_async.models.account_vaults import AccountVault, RouterAccountVaultCreate
from gateway_async.observe import OnProgress
from gateway_async.resources.account_vaults import ACCOUNT_VAULT

__all__ = ["ROUTER_ACCOUNT_VAULT", "RouterAccountVaults"]

ROUTER_ACCOUNT_VAULT: Final = Noun(
    name="routeraccountvault",
    plural="routeraccountvaults",
    record=AccountVault,
    creates=(RouterAccountVaultCreate,),
    answers=("accountvault", "routeraccountvault"),
    resource="router_account_vaults",
    moves_money=True,
)


@attrs.frozen
class RouterAccountVaults:
    """Cards stored from a terminal."""

    _sender: Sender
    _scope: Scope

    async def create(self, new: RouterAccountVaultCreate, *, on_progress: OnProgress | None = None) -> AccountVault:
        """Store the card that the customer presents; waits up to the client's `terminal_timeout`, holding no thread.

        Calls for one terminal run one after the other, as those of `router_transactions.create` do, with the same
        queue, lease, `on_progress` and three ways to end; but where cancel is pressed on the device there is no record
        to say so: it is a `ValidationError`.

        The gateway takes no integrator id here, so one more read goes before: of the contact's newest vaults, of which
        only the ids are kept. After a lost answer they are read again, and the only new card is the result. One that
        somebody else stores at a terminal for the same contact in that time would be taken for it.

        Args:
            new: whose card is to be stored, and at which terminal.
            on_progress: told how the call stands, as in `router_transactions.create`.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            NotSentError: nothing was sent: no connection, the contact's vaults cannot be listed, or the lease or the
                ledger cannot be had.
            TerminalBusyError: nothing was stored: somebody else has the terminal, or an earlier call there is not
                settled; `.holder` says which.
            ValidationError: the gateway refuses: unknown terminal or contact, no card; `.fields` says which.
            OutcomeUnknownError: no answer came, and the card may have been stored: there is no new vault, or there are
                several, which the error names; `await error.resolve()` asks again.
        """
        return await self._sender.send(_stored(new, self._scope), on_progress)


def _stored(new: RouterAccountVaultCreate, scope: Scope) -> Call[AccountVault]:
    """The call, preceded by the read that lets its vault be told from those that were there."""
    call = ROUTER_ACCOUNT_VAULT.create(new, scope, kind=Kind.TERMINAL)
    nameless = {"contact_id": new.contact_id, "account_vault_api_id": None}

    def prepared(inquiry: Inquiry) -> Call[AccountVault]:
        def read(content: Any) -> AccountVault:
            answer = ROUTER_ACCOUNT_VAULT.unwrapped(content)
            check_belongs(nameless, answer)
            check_new(inquiry, answer)
            return call.read(content)

        entry = call.entry and attrs.evolve(call.entry, inquiry=inquiry)
        return attrs.evolve(call, read=read, lookup=newcomer(ACCOUNT_VAULT, inquiry), entry=entry, first=None)

    expected = {"contact_id": new.contact_id, "payment_method": "cc"}
    return attrs.evolve(call, first=read_before(ACCOUNT_VAULT, expected, prepared))
