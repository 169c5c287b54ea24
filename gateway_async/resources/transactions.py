"""`gateway.transactions` (contract, *Endpoints appearing only as usage*)."""

from decimal import Decimal
from typing import Final

import attrs

from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.codes import TransactionAction
from gateway_async.models.identifiers import ApiId
from gateway_async.models.request import UNSET
from gateway_async.models.transactions import Transaction, TransactionCreate, TransactionUpdate
from gateway_async.resources._resource import ListableResource

__all__ = ["TRANSACTION", "Transactions"]

TRANSACTION: Final = ResourceSpec(
    name="transaction",
    plural="transactions",
    record=Transaction,
    creates=(TransactionCreate,),
    updates=(TransactionUpdate,),
    api_id="transaction_api_id",
    moves_money=True,
)


@attrs.frozen
class Transactions(ListableResource[Transaction]):
    """Payments without a terminal, and the actions on existing payments.

    `expand` also accepts is_voidable, is_refundable, is_settled and is_completable.
    """

    spec = TRANSACTION

    async def create(self, new: TransactionCreate) -> Transaction:
        """Charge, reserve or return money.

        A decline is a normal result: check `.approved`, or call `.raise_for_decline()`. `transaction_api_id` is
        generated when omitted. If the response is lost, the client looks up the transaction by this id. It sends the
        transaction again, under the same id, only if the lookup does not find it.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway rejects it; `.fields` says why.
            OutcomeUnknownError: the money may have moved; `await error.resolve()` looks it up again. Do not charge
                again.
        """
        return await self._executor.execute(TRANSACTION.create(new, self._scope))

    async def update(self, id: str | ApiId, changes: TransactionUpdate) -> Transaction:  # noqa: A002
        """Perform `changes.action` on a transaction. If the response is lost, the client reads the transaction.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` lists what to correct.
            ValidationError: the gateway refuses, for example because it is already settled; `.fields` says why.
            OutcomeUnknownError: it may have been executed; `await error.resolve()` looks it up again.
        """
        return await self._executor.execute(TRANSACTION.update_with_action(id, changes, self._scope))

    async def void(self, id: str | ApiId) -> Transaction:  # noqa: A002
        """Void a transaction before it settles. Its amount becomes 0, and `auth_amount` stays.

        Raises:
            ValidationError: it cannot be voided; `.fields` says why.
        """
        return await self.update(id, TransactionUpdate(action=TransactionAction.VOID))

    async def increment(self, id: str | ApiId, amount: Decimal | int | str) -> Transaction:  # noqa: A002
        """Raise an authorization to the new total `amount`.

        Raises:
            ValidationError: it cannot be raised; `.fields` says why.
        """
        changes = TransactionUpdate(action=TransactionAction.AUTH_INCREMENT, transaction_amount=amount)
        return await self.update(id, changes)

    async def complete(self, id: str | ApiId, amount: Decimal | int | str | None = None) -> Transaction:  # noqa: A002
        """Capture an authorization, for its full amount or for `amount`.

        Raises:
            ValidationError: it cannot be captured; `.fields` says why.
        """
        capture = UNSET if amount is None else amount
        changes = TransactionUpdate(action=TransactionAction.AUTH_COMPLETE, transaction_amount=capture)
        return await self.update(id, changes)
