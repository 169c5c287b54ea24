"""Transaction batches: transactions that are settled together (contract, *Transaction batch*)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from gateway_async.models.codes import BatchStatus
from gateway_async.models.record import Record


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TransactionBatch(Record):
    """Transactions of one merchant account that are settled together."""

    id: str
    """The gateway's id, 24 to 36 characters."""
    batch_num: int | None = None
    """The number of the batch in its merchant account."""
    product_transaction_id: str | None = None
    """The merchant account that gets the money."""
    is_open: bool | None = None
    """Whether payments are still added."""
    processing_status_id: BatchStatus | None = None
    """The state: 1 to settle, 2 settled, 3 error, 4 re-process, 5 processing, 6 forced closed."""
    batch_close_ts: datetime | None = None
    """When it was closed, in UTC; None while it is open."""
    settlement_file_name: str | None = None
    """The name of the processor's file. None until the batch is settled."""
    status_message: str | None = None
    """The reason why the last close failed."""
    changelogs: Sequence[Any] | None = attrs.field(default=None, hash=False)
    """The changes to the batch; only in postbacks, and in records that expand it."""
    created_ts: datetime | None = None
    """When its first payment was made, in UTC."""
