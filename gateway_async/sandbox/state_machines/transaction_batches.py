"""The state machine of transaction batches."""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine


class BatchState(NumericState):
    """`processing_status_id` of a batch."""

    TO_SETTLE = 1
    SETTLED = 2
    ERROR = 3
    REPROCESS = 4
    PROCESSING = 5
    FORCED_CLOSED = 6


class BatchTrigger(StrEnum):
    """The settlements and processor steps that can change a batch."""

    SETTLE = "settled by hand or at midnight"
    SETTLE_WITH_ERROR = "settled by hand or at midnight, with an amount that makes it fail"
    PROCESS = "the processor starts to process it"
    FINISH = "the processor settles it"
    FAIL = "the processor fails"
    RETRY = "the processor will try again"
    FORCE = "the processor abandons it"


BATCH_MACHINE = StateMachine(
    "Transaction batch",
    {
        (BatchState.TO_SETTLE, BatchTrigger.SETTLE): BatchState.SETTLED,
        (BatchState.TO_SETTLE, BatchTrigger.SETTLE_WITH_ERROR): BatchState.ERROR,
        (BatchState.TO_SETTLE, BatchTrigger.PROCESS): BatchState.PROCESSING,
        (BatchState.TO_SETTLE, BatchTrigger.FORCE): BatchState.FORCED_CLOSED,
        (BatchState.PROCESSING, BatchTrigger.FINISH): BatchState.SETTLED,
        (BatchState.PROCESSING, BatchTrigger.FAIL): BatchState.ERROR,
        (BatchState.PROCESSING, BatchTrigger.FORCE): BatchState.FORCED_CLOSED,
        (BatchState.ERROR, BatchTrigger.SETTLE): BatchState.SETTLED,
        (BatchState.ERROR, BatchTrigger.SETTLE_WITH_ERROR): BatchState.SETTLED,
        (BatchState.ERROR, BatchTrigger.RETRY): BatchState.REPROCESS,
        (BatchState.ERROR, BatchTrigger.FORCE): BatchState.FORCED_CLOSED,
        (BatchState.REPROCESS, BatchTrigger.SETTLE): BatchState.SETTLED,
        (BatchState.REPROCESS, BatchTrigger.SETTLE_WITH_ERROR): BatchState.SETTLED,
        (BatchState.REPROCESS, BatchTrigger.PROCESS): BatchState.PROCESSING,
        (BatchState.REPROCESS, BatchTrigger.FORCE): BatchState.FORCED_CLOSED,
    },
)

OPEN = frozenset({BatchState.TO_SETTLE, BatchState.ERROR, BatchState.REPROCESS})
"""States in which a batch takes payments and can be settled."""

BY_PROCESSOR: dict[int, BatchTrigger] = {
    BatchState.PROCESSING: BatchTrigger.PROCESS,
    BatchState.SETTLED: BatchTrigger.FINISH,
    BatchState.ERROR: BatchTrigger.FAIL,
    BatchState.REPROCESS: BatchTrigger.RETRY,
    BatchState.FORCED_CLOSED: BatchTrigger.FORCE,
}
"""The trigger with which a processor sets each status of a batch."""
