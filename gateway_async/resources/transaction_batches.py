"""`gateway.transaction_batches` (contract, *Transaction batches*)."""

from collections.abc import Sequence
from typing import Final

import attrs

from gateway_async._wire.noun import Noun
from gateway_async._wire.recovery import IS_SETTLED
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.resources.listed import Listed

__all__ = ["TRANSACTION_BATCH", "TransactionBatches"]

TRANSACTION_BATCH: Final = Noun(
    name="transactionbatch",
    plural="transactionbatches",
    record=TransactionBatch,
    resource="transaction_batches",
    moves_money=True,
)


@attrs.frozen
class TransactionBatches(Listed[TransactionBatch]):
    """What is settled together.

    Filters: `is_open`, `processing_status_id`, `product_transaction_id`, and a `TimeRange` for `created_ts` and
    `batch_close_ts`.
    """

    noun = TRANSACTION_BATCH

    async def get(self, id: str, *, expand: Sequence[str] = ()) -> TransactionBatch:  # noqa: A002
        """Read a batch.

        Raises:
            NotFoundError: there is none.
        """
        return await self._sender.send(TRANSACTION_BATCH.get(id, self._scope, expand))

    async def settle(self, id: str) -> TransactionBatch:  # noqa: A002
        """Close a batch and settle its transactions. Ask `.processing_status_id` of the result: it may have failed.

        A lost answer is settled by reading the batch: it is done when it is not open any more.

        Raises:
            ValidationError: the gateway refuses: it is closed, say; `.fields` says why.
            PermissionDeniedError: the user may not settle.
            OutcomeUnknownError: it may have been settled; `await error.resolve()` asks again.
        """
        return await self._sender.send(TRANSACTION_BATCH.verb(id, "settle", self._scope, mark=IS_SETTLED))
