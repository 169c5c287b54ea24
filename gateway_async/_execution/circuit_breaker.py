"""`CircuitBreaker` and `RetryBudget`: spare a gateway that is unreachable or overloaded.

Every attempt of the client counts, including reads, lookups and payments at terminals. Only new writes are
rejected, before anything is recorded or sent. The breaker therefore never changes what is known about a payment.
"""

import enum
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._arguments import number_problems
from gateway_async._wire.retry_policy import AttemptResult, classify, is_final_refusal
from gateway_async.errors import GatewayError, InvalidRequestError, StatusError
from gateway_async.observe import CircuitClosed, CircuitOpened

_UNAVAILABLE: Final = frozenset({502, 503})
"""Statuses that say that the gateway is down. A 504 does not: it may be executing one slow request."""

DEPOSIT: Final = 0.2
"""Retries that each call deposits."""

MAX_BALANCE: Final = 100.0
"""The initial and maximum number of retries."""


class CircuitState(enum.StrEnum):
    """State of a circuit breaker."""

    CLOSED = "closed"
    """Every write is sent."""
    OPEN = "open"
    """Every new write is rejected."""
    HALF_OPEN = "half-open"
    """One write at a time is sent as a probe, and the others are rejected."""


class CircuitBreaker:
    """Rejects new writes at once while the gateway is unreachable.

        breaker = CircuitBreaker(failures=5, reset_after=30.0)
        gateway = AsyncGateway.from_env(circuit_breaker=breaker)

    A rejected write raises `NotSentError`. Nothing was sent, and a ledger has no intent for it. Reads, lookups and
    calls to terminals are never rejected. Clients of one gateway may share a breaker within one event loop.

    These attempts are failures: no connection could be opened, or the response was a 502 or 503. A success, or a
    rejection by the gateway itself, closes the breaker. Other attempts, such as a lost response, change nothing.

    Args:
        failures: number of failures in a row that opens the breaker.
        reset_after: seconds from then until one write is sent as a probe.
        clock: returns the monotonic time in seconds; for tests.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` names every one.
    """

    def __init__(
        self, *, failures: int = 5, reset_after: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        problems = [
            *number_problems(whole=True, above=0, failures=failures),
            *number_problems("seconds", above=0, finite=False, reset_after=reset_after),
        ]
        if problems:
            raise InvalidRequestError(problems)
        self._max_failures = failures
        self._reset_after = reset_after
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._probe: object = None

    @property
    def state(self) -> CircuitState:
        if self._opened_at is None:
            return CircuitState.CLOSED
        has_waited = self._clock() - self._opened_at >= self._reset_after
        return CircuitState.HALF_OPEN if has_waited else CircuitState.OPEN

    def admit(self, call: object) -> bool:
        """Whether a new write may be sent; `release` it at its end."""
        state = self.state
        if state is CircuitState.HALF_OPEN and self._probe is None:
            self._probe = call
        return state is CircuitState.CLOSED or self._probe is call

    def release(self, call: object) -> None:
        """End an admitted write, so that another one can be the probe."""
        if self._probe is call:
            self._probe = None

    def record(self, error: GatewayError | None) -> bool:
        """Record an attempt with its error, if it failed; return whether the breaker opened or closed."""
        if error is not None and _is_failure(error):
            return self._count_failure()
        return (error is None or _is_from_gateway(error)) and self._close()

    def _close(self) -> bool:
        was_closed = self._opened_at is None
        self._failures, self._opened_at = 0, None
        return not was_closed

    def _count_failure(self) -> bool:
        """Count a failure, and return whether it opened the breaker; one failed probe opens it again."""
        state = self.state
        if state is CircuitState.OPEN:
            return False
        self._failures += 1
        if state is CircuitState.CLOSED and self._failures < self._max_failures:
            return False
        self._opened_at = self._clock()
        return True


def event_of_change(breaker: CircuitBreaker, facts: Mapping[str, Any]) -> CircuitOpened | CircuitClosed:
    """The event of a change that `CircuitBreaker.record` reported; `facts` are the call's."""
    return (CircuitClosed if breaker.state is CircuitState.CLOSED else CircuitOpened)(**facts)


class RetryBudget:
    """The retries that a client has left, so that it does not overload a failing gateway.

    Each call deposits a fifth of a retry, and each retry withdraws one. Over time a client sends at most 20 % more
    requests than it makes calls. A full budget covers a restart of the gateway, which breaks every connection of a busy
    client. Lookups of lost writes withdraw nothing: the outcome of a payment is always worth a request.
    """

    def __init__(self) -> None:
        self._balance = MAX_BALANCE

    @property
    def retries_left(self) -> int:
        return int(self._balance)

    def deposit(self) -> None:
        self._balance = min(self._balance + DEPOSIT, MAX_BALANCE)

    def try_withdraw(self) -> bool:
        """Withdraw a retry, and return whether there was one."""
        if self._balance < 1:
            return False
        self._balance -= 1
        return True


def _is_failure(error: GatewayError) -> bool:
    """Whether the attempt or its login shows an unreachable gateway."""
    cause = error.__cause__ if isinstance(error.__cause__, GatewayError) else error
    if isinstance(cause, StatusError):
        return cause.status_code in _UNAVAILABLE
    return classify(cause) is AttemptResult.UNWRITTEN


def _is_from_gateway(error: GatewayError) -> bool:
    """Whether the gateway itself, and not a proxy, rejected the request."""
    return isinstance(error, StatusError) and error.is_from_gateway and is_final_refusal(error)
