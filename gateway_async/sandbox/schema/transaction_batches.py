"""The fields of a transaction batch (contract, "Transaction batch").

The location of a batch is stored but not shown.
"""

from gateway_async.sandbox.schema.fields import NEVER, Field, Table
from gateway_async.sandbox.schema.kinds import BIT, CODE, INTEGER, TEXT, TIMESTAMP

__all__ = ["TRANSACTION_BATCH"]


TRANSACTION_BATCH = Table(
    "transactionbatch",
    "transactionbatches",
    (
        Field("id", CODE, settable=NEVER),
        Field("batch_num", INTEGER, settable=NEVER),
        Field("is_open", BIT, settable=NEVER, default=1),
        Field("processing_status_id", INTEGER, settable=NEVER, default=1),
        Field("product_transaction_id", CODE, settable=NEVER),
        Field("created_ts", TIMESTAMP, settable=NEVER),
        Field("settlement_file_name", TEXT, settable=NEVER),
        Field("batch_close_ts", TIMESTAMP, settable=NEVER),
        Field("location_id", CODE, settable=NEVER, shown=False),
    ),
    page_size=15,
)
