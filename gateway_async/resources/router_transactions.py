"""`gateway.router_transactions` (contract, *Endpoints appearing only as usage*)."""

from typing import Final

import attrs

from gateway_async._net.sender import Sender
from gateway_async._wire.call import Kind
from gateway_async._wire.noun import Noun, Scope
from gateway_async.models.transactions import RouterTransactionCreate, Transaction
from gateway_async.observe import OnProgress
from gateway_async.resources.transactions import TRANSACTION

__all__ = ["ROUTER_TRANSACTION", "RouterTransactions"]

ROUTER_TRANSACTION: Final = Noun(
    name="routertransaction",
    plural="routertransactions",
    record=Transaction,
    creates=(RouterTransactionCreate,),
    api_id="transaction_api_id",
    answers=("routertransaction", "transaction"),
    filed_as=TRANSACTION,
    resource="router_transactions",
    moves_money=True,
)


@attrs.frozen
class RouterTransactions:
    """Payments at a terminal."""

    _sender: Sender
    _scope: Scope

    async def create(self, new: RouterTransactionCreate, *, on_progress: OnProgress | None = None) -> Transaction:
        """Let the customer pay at a terminal; waits up to the client's `terminal_timeout`, holding no thread.

        Calls for one terminal run one after the other, and are never sent twice. `transaction_api_id` is made up when
        left out: a lost answer is looked up by it. A wait can end in three ways besides an approval:

        - *Cancel is pressed on the device*, or the issuer says no: the result is a transaction that is `.declined`,
          with the reason in `.verbiage`.
        - *`terminal_timeout` passes*: the payment is looked up for up to 10 seconds. What is found is the result;
          if nothing is, `OutcomeUnknownError`.
        - *The task is cancelled*: the device is not. The payment is looked up under a shield, for 10 seconds at most,
          and observers get a `LookedUp` with `cancelled=True`; then the cancellation goes on. With a ledger, the
          intent stays open unless the payment was found.

        While the outcome of a call is unknown its customer may still pay, so the client sends the terminal no other
        (unless `block_unsettled_terminals` is False). The next call first looks the earlier one up, for 10 seconds at
        most, and goes on once it is found: pressing cancel on the device is enough. Else it is `TerminalBusyError`,
        until 30 seconds after the earlier call's `terminal_timeout` at the latest.

        Args:
            new: what is to be paid, and at which terminal.
            on_progress: a plain function that gets a `TerminalProgress` at each change and each second, for a till's
                screen: in line, held by somebody else, at the terminal, looking it up. One that raises is logged and
                ignored.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            NotSentError: nothing was sent: no connection, or the lease or the ledger cannot be had.
            TerminalBusyError: nothing was charged: somebody else has the terminal, or an earlier call there is not
                settled; `.holder` says which.
            ValidationError: the gateway refuses: unknown terminal, say; `.fields` says why.
            OutcomeUnknownError: the customer may have paid; `await error.resolve()` asks again.
        """
        return await self._sender.send(ROUTER_TRANSACTION.create(new, self._scope, kind=Kind.TERMINAL), on_progress)
