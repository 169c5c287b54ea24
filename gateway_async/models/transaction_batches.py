"""Transaction batches: transactions that are settled together (contract, *Transaction batch*)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from gateway_async.models.codes import BatchStatus
from gateway_async.models.record import Record

__all__ = ["TransactionBatch"]


@attrs.frozen(kw_only=True, repr=False)
class TransactionBatch(Record):
    """A batch. `batch_close_ts` is None while it is open. `changelogs` is only in postbacks that expand it."""

    id: str
    batch_num: int | None = None
    product_transaction_id: str | None = None
    is_open: bool | None = None
    processing_status_id: BatchStatus | None = None
    batch_close_ts: datetime | None = None
    settlement_file_name: str | None = None
    changelogs: Sequence[Any] | None = attrs.field(default=None, hash=False)
    created_ts: datetime | None = None
