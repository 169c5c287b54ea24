"""The state machine of tokens (contract, "Token and hash key lifetimes")."""

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
    """Whether a trigger is allowed for a token at a time."""
    return TOKEN_MACHINE.next_state(token_state_of(row, now), trigger) is not None


def token_state_of(row: Row, now: float) -> TokenState:
    """The state of a stored token at a time."""
    if row["deleted_ts"] is not None:
        return TokenState.REVOKED
    return TokenState.EXPIRED if now - row["used_ts"] >= IDLE_SECONDS else TokenState.VALID
