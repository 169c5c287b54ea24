"""`gateway.transaction_batches` (contract, *Transaction batches*)."""

from typing import Final

from gateway_async._wire.evidence import IS_SETTLED
from gateway_async._wire.resource import ResourceSpec
from gateway_async.models.transaction_batches import TransactionBatch
from gateway_async.resources._resource import ListableResource, WritableResource

TRANSACTION_BATCH: Final = ResourceSpec(
    name="transactionbatch",
    plural="transactionbatches",
    record=TransactionBatch,
    resource="transaction_batches",
    moves_money=True,
)


class TransactionBatches(ListableResource[TransactionBatch], WritableResource[TransactionBatch]):
    """Batches of transactions that settle together.

    Filters: `is_open`, `processing_status_id`, `product_transaction_id`, and a `TimeRange` for `created_ts` and
    `batch_close_ts`. `expand` accepts changelogs and product_transaction.
    """

    spec = TRANSACTION_BATCH

    async def settle(self, id: str) -> TransactionBatch:
        """Close a batch and settle its transactions.

        Settlement may fail: check `.processing_status_id` of the result. If the response is lost or the gateway
        refuses, the client reads the batch. A batch that is no longer open is returned as it is.

        Raises:
            ValidationError: the gateway refuses, and the batch is open; `.fields` says why.
            PermissionDeniedError: the user is not allowed to settle.
            OutcomeUnknownError: it may have been settled; `resolve(error)` looks it up again.
        """
        return await self._executor.execute(TRANSACTION_BATCH.action(id, "settle", self._defaults, evidence=IS_SETTLED))
