"""The state machine of recurrings."""

from enum import StrEnum

from gateway_async.sandbox.state_machines.machine import StateMachine


class RecurringState(StrEnum):
    """`status` of a recurring."""

    ACTIVE = "active"
    ON_HOLD = "on hold"
    ENDED = "ended"


class RecurringTrigger(StrEnum):
    """The events that can change a recurring."""

    RUN = "a charge runs, approved or not"
    SKIP = "skipPayment"
    DEFER = "deferPayment"
    HOLD = "placeOnHold"
    ACTIVATE = "activate"
    CHANGE = "PUT"
    FINISH = "no charge is left"


RECURRING_MACHINE = StateMachine(
    "Recurring",
    {
        (RecurringState.ACTIVE, RecurringTrigger.RUN): RecurringState.ACTIVE,
        (RecurringState.ACTIVE, RecurringTrigger.SKIP): RecurringState.ACTIVE,
        (RecurringState.ACTIVE, RecurringTrigger.DEFER): RecurringState.ACTIVE,
        (RecurringState.ACTIVE, RecurringTrigger.CHANGE): RecurringState.ACTIVE,
        (RecurringState.ACTIVE, RecurringTrigger.HOLD): RecurringState.ON_HOLD,
        (RecurringState.ACTIVE, RecurringTrigger.FINISH): RecurringState.ENDED,
        (RecurringState.ON_HOLD, RecurringTrigger.ACTIVATE): RecurringState.ACTIVE,
        (RecurringState.ON_HOLD, RecurringTrigger.CHANGE): RecurringState.ON_HOLD,
        (RecurringState.ENDED, RecurringTrigger.CHANGE): RecurringState.ENDED,
    },
)
