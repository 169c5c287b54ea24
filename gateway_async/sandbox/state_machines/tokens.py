"""The state machine of a token (contract, "Token and hash key lifetimes")."""

from enum import StrEnum

from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.machine import StateMachine

__all__ = ["IDLE_SECONDS", "MACHINE", "State", "Trigger", "allows", "state_of"]


IDLE_SECONDS = 15 * 60
"""How long a token stays valid without a successful request."""


class State(StrEnum):
    """The state of a token."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Trigger(StrEnum):
    """The events that can change a token."""

    USE = "a request with it succeeds"
    IDLE = "15 minutes without a successful request"
    REVOKE = "DELETE"


MACHINE = StateMachine(
    "Token",
    {
        (State.VALID, Trigger.USE): State.VALID,
        (State.VALID, Trigger.IDLE): State.EXPIRED,
        (State.VALID, Trigger.REVOKE): State.REVOKED,
    },
)


def allows(trigger: Trigger, row: Row, now: float) -> bool:
    """Return whether a trigger is allowed for a token at a time."""
    return MACHINE.next_state(state_of(row, now), trigger) is not None


def state_of(row: Row, now: float) -> State:
    """Return the state of a stored token at a time."""
    if row["deleted_ts"] is not None:
        return State.REVOKED
    return State.EXPIRED if now - row["used_ts"] >= IDLE_SECONDS else State.VALID
