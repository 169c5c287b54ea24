"""`gateway.router_transactions` (contract, *Endpoints appearing only as usage*)."""

from typing import Final

import attrs

from gateway_async._net.sender import Sender
from gateway_async._wire.call import Kind
from gateway_async._wire.noun import Noun, Scope
from gateway_async.models.transactions import RouterTransactionCreate, Transaction
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
)


@attrs.frozen
class RouterTransactions:
    """Payments at a terminal."""

    _sender: Sender
    _scope: Scope

    async def create(self, new: RouterTransactionCreate) -> Transaction:
        """Let the customer pay at a terminal; waits up to the client's `terminal_timeout`, holding no thread.

        Calls for one terminal run one after the other, and are never sent twice. `transaction_api_id` is made up when
        left out: a lost answer is looked up by it. Cancelling the task looks the payment up before it ends (10 seconds
        at most) and tells observers what was found.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses: unknown terminal, say; `.fields` says why.
            OutcomeUnknownError: the customer may have paid; `await error.resolve()` asks again.
        """
        return await self._sender.send(ROUTER_TRANSACTION.create(new, self._scope, kind=Kind.TERMINAL))
