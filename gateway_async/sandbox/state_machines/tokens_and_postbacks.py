"""The state machines of tokens (contract, "Token and hash key lifetimes") and postbacks (contract, "Events")."""

from enum import StrEnum

from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.machine import StateMachine

IDLE_SECONDS = 15 * 60
"""How long a token stays valid without a successful request."""


class TokenState(StrEnum):
    """The state of a token."""

    VALID = "valid"
    EXPIRED = "expired"
    REVOKED = "revoked"


class TokenTrigger(StrEnum):
    """The events that can change a token."""

    USE = "a request with it succeeds"
    IDLE = "15 minutes without a successful request"
    REVOKE = "DELETE"


TOKEN_MACHINE = StateMachine(
    "Token",
    {
        (TokenState.VALID, TokenTrigger.USE): TokenState.VALID,
        (TokenState.VALID, TokenTrigger.IDLE): TokenState.EXPIRED,
        (TokenState.VALID, TokenTrigger.REVOKE): TokenState.REVOKED,
    },
)


def allows(trigger: TokenTrigger, row: Row, now: float) -> bool:
    """Return whether a trigger is allowed for a token at a time."""
    return TOKEN_MACHINE.next_state(token_state_of(row, now), trigger) is not None


def token_state_of(row: Row, now: float) -> TokenState:
    """Return the state of a stored token at a time."""
    if row["deleted_ts"] is not None:
        return TokenState.REVOKED
    return TokenState.EXPIRED if now - row["used_ts"] >= IDLE_SECONDS else TokenState.VALID


class DeliveryState(StrEnum):
    """The state of a postback."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DeliveryTrigger(StrEnum):
    """The events that can change a postback."""

    ACKNOWLEDGE = "an attempt gets a 2xx"
    FAIL = "an attempt fails, and others remain"
    FAIL_AT_LAST = "the last attempt fails"
    CANCEL = "its config is deleted or no longer active"
    REPLAY = "replay"


DELIVERY_MACHINE = StateMachine(
    "Postback",
    {
        (DeliveryState.WAITING, DeliveryTrigger.ACKNOWLEDGE): DeliveryState.DELIVERED,
        (DeliveryState.WAITING, DeliveryTrigger.FAIL): DeliveryState.WAITING,
        (DeliveryState.WAITING, DeliveryTrigger.FAIL_AT_LAST): DeliveryState.FAILED,
        (DeliveryState.WAITING, DeliveryTrigger.CANCEL): DeliveryState.CANCELLED,
        (DeliveryState.WAITING, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.DELIVERED, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.FAILED, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.CANCELLED, DeliveryTrigger.REPLAY): DeliveryState.WAITING,
        (DeliveryState.CANCELLED, DeliveryTrigger.ACKNOWLEDGE): DeliveryState.DELIVERED,
    },
)
"""An attempt in progress may still succeed after its config was deleted or became inactive."""
