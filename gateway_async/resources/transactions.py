"""`gateway.transactions` (contract, *Endpoints appearing only as usage*)."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import attrs

from gateway_async._wire.noun import Noun
from gateway_async.models.codes import TransactionAction
from gateway_async.models.identifiers import ApiId
from gateway_async.models.request import UNSET
from gateway_async.models.transactions import Transaction, TransactionCreate, TransactionUpdate
from gateway_async.resources.listed import Listed

__all__ = ["TRANSACTION", "Transactions"]

TRANSACTION: Final = Noun(
    name="transaction",
    plural="transactions",
    record=Transaction,
    creates=(TransactionCreate,),
    updates=(TransactionUpdate,),
    api_id="transaction_api_id",
    moves_money=True,
)


@attrs.frozen
class Transactions(Listed[Transaction]):
    """Payments without a terminal, and all that is done to a payment afterwards.

    `expand` also knows is_voidable, is_refundable, is_settled and is_completable.
    """

    noun = TRANSACTION

    async def create(self, new: TransactionCreate) -> Transaction:
        """Charge, reserve or return money. A decline is a result: ask `.approved`, or `.raise_for_decline()`.

        `transaction_api_id` is made up when left out. When the answer is lost, the transaction is looked up by it, and
        sent again, under the same id, only when it is not there.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses it; `.fields` says why.
            OutcomeUnknownError: the money may have moved; `await error.resolve()` asks again. Do not charge anew.
        """
        return await self._sender.send(TRANSACTION.create(new, self._scope))

    async def get(self, id: str | ApiId, *, expand: Sequence[str] = ()) -> Transaction:  # noqa: A002
        """Read a transaction.

        Raises:
            NotFoundError: there is none.
        """
        return await self._sender.send(TRANSACTION.get(id, self._scope, expand))

    async def update(self, id: str | ApiId, changes: TransactionUpdate) -> Transaction:  # noqa: A002
        """Do something to a transaction, as `changes.action` says; a lost answer is settled by reading it.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses: it is settled already, say; `.fields` says why.
            OutcomeUnknownError: it may have been done; `await error.resolve()` asks again.
        """
        return await self._sender.send(TRANSACTION.act(id, changes, self._scope))

    async def void(self, id: str | ApiId) -> Transaction:  # noqa: A002
        """Take a transaction back before it settles: its amount becomes 0, `auth_amount` stays.

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
        """Capture an authorization, for its whole amount or for `amount`.

        Raises:
            ValidationError: it cannot be captured; `.fields` says why.
        """
        capture = UNSET if amount is None else amount
        changes = TransactionUpdate(action=TransactionAction.AUTH_COMPLETE, transaction_amount=capture)
        return await self.update(id, changes)
