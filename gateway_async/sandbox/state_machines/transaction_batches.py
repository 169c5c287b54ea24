"""The state machine of a transaction batch (contract, "States: Transaction batch").

A batch accepts payments while it is open: before it settles, and after a failed settlement. A batch is closed while
its processor works on it (5), and when it is settled (2) or forced closed (6).
"""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import NumericState, StateMachine

__all__ = ["BY_PROCESSOR", "MACHINE", "OPEN", "State", "Trigger"]


class State(NumericState):
    """`processing_status_id` of a batch."""

    TO_SETTLE = 1
    SETTLED = 2
    ERROR = 3
    REPROCESS = 4
    PROCESSING = 5
    FORCED_CLOSED = 6


class Trigger(StrEnum):
    """The settlements and processor steps that can change a batch."""

    SETTLE = "settled by hand or at midnight"
    SETTLE_WITH_ERROR = "settled by hand or at midnight, with an amount that makes it fail"
    PROCESS = "the processor starts to process it"
    FINISH = "the processor settles it"
    FAIL = "the processor fails"
    RETRY = "the processor will try again"
    FORCE = "the processor abandons it"


MACHINE = StateMachine(
    "Transaction batch",
    {
        (State.TO_SETTLE, Trigger.SETTLE): State.SETTLED,
        (State.TO_SETTLE, Trigger.SETTLE_WITH_ERROR): State.ERROR,
        (State.TO_SETTLE, Trigger.PROCESS): State.PROCESSING,
        (State.TO_SETTLE, Trigger.FORCE): State.FORCED_CLOSED,
        (State.PROCESSING, Trigger.FINISH): State.SETTLED,
        (State.PROCESSING, Trigger.FAIL): State.ERROR,
        (State.PROCESSING, Trigger.FORCE): State.FORCED_CLOSED,
        (State.ERROR, Trigger.SETTLE): State.SETTLED,
        (State.ERROR, Trigger.SETTLE_WITH_ERROR): State.SETTLED,
        (State.ERROR, Trigger.RETRY): State.REPROCESS,
        (State.ERROR, Trigger.FORCE): State.FORCED_CLOSED,
        (State.REPROCESS, Trigger.SETTLE): State.SETTLED,
        (State.REPROCESS, Trigger.SETTLE_WITH_ERROR): State.SETTLED,
        (State.REPROCESS, Trigger.PROCESS): State.PROCESSING,
        (State.REPROCESS, Trigger.FORCE): State.FORCED_CLOSED,
    },
)

OPEN = frozenset({State.TO_SETTLE, State.ERROR, State.REPROCESS})
"""States in which a batch takes payments and can be settled."""

BY_PROCESSOR: dict[int, Trigger] = {
    State.PROCESSING: Trigger.PROCESS,
    State.SETTLED: Trigger.FINISH,
    State.ERROR: Trigger.FAIL,
    State.REPROCESS: Trigger.RETRY,
    State.FORCED_CLOSED: Trigger.FORCE,
}
"""The trigger with which a processor sets each status of a batch."""
