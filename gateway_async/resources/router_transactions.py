"""`gateway.router_transactions` (contract, *Endpoints appearing only as usage*)."""

from typing import Final

from gateway_async._secrets import seal
from gateway_async._wire.call import RepeatEffect
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.transactions import RouterTransactionCreate, Transaction
from gateway_async.observe import OnProgress
from gateway_async.resources._resource import CreatableResource
from gateway_async.resources.transactions import TRANSACTION

ROUTER_TRANSACTION: Final = ResourceSpec(
    name="routertransaction",
    plural="routertransactions",
    record=Transaction,
    creates=(RouterTransactionCreate,),
    api_id="transaction_api_id",
    response_keys=("routertransaction", "transaction"),
    stored_as=TRANSACTION,
    resource="router_transactions",
    moves_money=True,
)


class RouterTransactions(CreatableResource[Transaction, RouterTransactionCreate]):
    """Payments at a terminal."""

    spec = ROUTER_TRANSACTION

    async def create(self, new: RouterTransactionCreate, *, on_progress: OnProgress | None = None) -> Transaction:
        """Take a payment at a terminal.

        The call waits up to the client's `terminal_timeout` without blocking a thread. Calls for one terminal run one
        after the other, and a call is never sent twice. `transaction_api_id` is generated when omitted: it finds the
        payment if the response is lost. Besides an approval, the wait can end in three ways:

        - *Cancel is pressed on the device*, or the issuer declines: the result is a transaction that is `.declined`,
          with the reason in `.verbiage`.
        - *`terminal_timeout` passes*: the client looks the payment up for up to 10 seconds. It returns the payment if
          it finds it, and raises `OutcomeUnknownError` otherwise.
        - *The task is cancelled*: the device keeps waiting. The client looks the payment up for at most 10 seconds,
          shielded from the cancellation, and observers get an `OutcomeLookedUp` with `cancelled=True`. Then the
          cancellation continues. With a ledger, the intent stays open unless the payment was found.

        While the outcome of a call is unknown, its customer may still pay. The client then sends no other call to the
        terminal, unless `block_unresolved_terminals` is False. The next call first looks up the earlier one, for at
        most 10 seconds, and proceeds once it is found; pressing cancel on the device is enough. Otherwise it raises
        `TerminalBusyError`. The block ends at the latest when 300 seconds, the time that the contract gives a device,
        and the client's `in_doubt_seconds` have passed since the earlier call was sent.

        Args:
            new: the payment and the terminal.
            on_progress: a synchronous function that gets a `TerminalProgress` at each change and every second, for
                display at a till: queued, in use by another client, at the terminal, looking up. If it raises, the
                error is logged and ignored.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            NotSentError: nothing was sent: no connection, or the lease or the ledger is not available.
            TerminalBusyError: nothing was charged: another client uses the terminal, or the outcome of an earlier call
                there is unknown; `.holder` says which.
            ValidationError: the gateway refuses, for example an unknown terminal; `.fields` says why.
            OutcomeUnknownError: the customer may have paid; `resolve(error)` looks it up again.
        """
        new = seal(new)  # a mapping by mistake, and an error's traceback shows local variables
        return await self._executor.execute(
            ROUTER_TRANSACTION.create(new, self._defaults, repeat_effect=RepeatEffect.TERMINAL), on_progress
        )

    async def create_once(self, new: RouterTransactionCreate, *, on_progress: OnProgress | None = None) -> Transaction:
        """Take a payment, or return the existing one with its `transaction_api_id`.

        `new` needs an id of your own. The gateway refuses a taken id before it uses the terminal.

        Args:
            new: the payment and the terminal.
            on_progress: gets the progress of the call, as in `create`.

        Raises:
            MismatchedWriteError: the payment with this id differs: it is in `.record`.
            DuplicateError: the id is taken, but its payment cannot be found.
            InvalidRequestError: nothing was sent: the id is missing, or another problem in `.problems`.
            GatewayError: as for `create`.
        """
        new = seal(new)  # as above
        return await self._once.create(new, on_progress=on_progress)
