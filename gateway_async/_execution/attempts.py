"""`Attempts`: send a call once, and decide with tenacity whether to send it again.

`_wire/retry_policy.py` says which errors allow another attempt. No other file uses tenacity.
"""

import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from gateway_async._exceptions import describe_error
from gateway_async._execution.call_state import CallState
from gateway_async._execution.circuit_breaker import CircuitBreaker, CircuitState
from gateway_async._execution.events import EventEmitter
from gateway_async._execution.http_client import HttpClient, interruption_error
from gateway_async._http.progress import Progress, Stage
from gateway_async._wire.call import Call, Lookup, LookupResult
from gateway_async._wire.retry_policy import Decision, backoff, decide
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    ConnectionLostError,
    DeadlineExceededError,
    DuplicateError,
    GatewayError,
    NotSentError,
)
from gateway_async.observe import (
    AttemptEnded,
    AttemptFailed,
    AttemptStarted,
    CircuitClosed,
    CircuitOpened,
    NextStep,
    RetryBudgetExhausted,
)

__all__ = ["Attempts", "NotExecutedError"]

T = TypeVar("T")


_CLOSING_SECONDS: Final = 10.0
"""Maximum seconds for closing the transport, and for revoking a token before."""


class NotExecutedError(GatewayError):
    """A lookup found that the write was not executed, so it may be sent again."""

    def __init__(self, cause: GatewayError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Attempts:
    """Makes the attempts of a client's calls.

    Args:
        http: sends the requests; closed with this object.
        max_attempts: maximum number of attempts for a lookup.
        events: receives failed attempts.
        circuit_breaker: counts the attempts, if the client has one.
    """

    def __init__(
        self, http: HttpClient, max_attempts: int, events: EventEmitter, circuit_breaker: CircuitBreaker | None = None
    ) -> None:
        self._http = http
        self._max_attempts = max_attempts
        self._events = events
        self._circuit_breaker = circuit_breaker
        self._closed = False
        self._event_loop: object = None

    def check(self, call: Call[Any]) -> None:
        """Check that the client can send a call.

        Raises:
            InvalidRequestError: the gateway does not accept the client's credentials for it.
            NotSentError: the client is closed, or belongs to another event loop.
        """
        self.check_usable(call)
        self._http.check(call)

    def check_usable(self, call: Call[Any] | str) -> None:
        """Check that the client is open and belongs to this event loop.

        A connection belongs to the event loop that opened it, and would hang in another one.

        Raises:
            NotSentError: it is closed, or belongs to another event loop.
        """
        self.check_open(call)
        here = anyio.lowlevel.current_token()
        self._event_loop = self._event_loop or here
        if self._event_loop != here:
            raise _in_another_event_loop(call)

    def check_closable(self) -> None:
        """Check that an open client is closed in its own event loop.

        Raises:
            NotSentError: it belongs to another event loop.
        """
        if not self._closed and self._event_loop not in (None, anyio.lowlevel.current_token()):
            raise _in_another_event_loop("aclose()")

    def check_open(self, call: Call[Any] | str) -> None:
        """Raise `ClientClosedError` if the client is closed."""
        if self._closed:
            raise ClientClosedError(call=str(call))

    async def make(self, state: CallState[T]) -> T:
        """Send the request once, within the time that is left for attempts.

        Raises:
            DeadlineExceededError: a read got no response in time.
            GatewayError: the attempt failed; `state` says whether it may have been executed.
        """
        call, progress = state.call, Progress()
        self.check_open(call)
        progress.stage = Stage.QUEUED
        progress.before_sending = state.before_sending
        state.begin_attempt(progress)
        started = self._emit_started(state) if state.is_observed else None
        try:
            with anyio.CancelScope(deadline=state.attempts_until):
                result = await self._http.send(call, progress, state.attempt_timeout)
                state.may_have_been_sent = True  # whatever happens to the result
                if self._circuit_breaker is not None:
                    self._count(state, self._circuit_breaker)
                if started is not None:
                    self._emit_ended(state, started)
                return result
        except GatewayError as error:
            state.record_failure(error)
            if self._circuit_breaker is not None:
                self._count(state, self._circuit_breaker, error)
            self._emit_ended(state, started, error)
            raise
        except Exception as error:
            failure = interruption_error(describe_error(error), call, progress)
            state.record_failure(failure)
            self._emit_ended(state, started, failure)
            raise failure from error
        except BaseException as error:
            state.record_failure(interruption_error("cancelled", call, progress))
            self._emit_ended(state, started, error)
            raise
        lost = interruption_error(f"no response within {state.attempt_timeout:g} s (read timeout)", call, progress)
        if self._circuit_breaker is not None:
            self._count(state, self._circuit_breaker, lost)
        if call.kind.is_read:
            late: GatewayError = DeadlineExceededError(state.seconds, call=str(call))
        else:
            late = lost
            state.record_failure(lost)
        self._emit_ended(state, started, late)
        raise late

    def _count(self, state: CallState[Any], breaker: CircuitBreaker, error: GatewayError | None = None) -> None:
        """Record an attempt in the circuit breaker, and report a change."""
        if breaker.record(error):
            changed = CircuitClosed if breaker.state is CircuitState.CLOSED else CircuitOpened
            self._events.emit(changed(**state.event_facts()))

    def _emit_started(self, state: CallState[Any]) -> float:
        """Emit the start of an attempt, and return its time."""
        gateway = self._http.gateway
        self._events.emit(AttemptStarted(**state.event_facts(), attempt=state.attempt, gateway=gateway))
        return anyio.current_time()

    def _emit_ended(self, state: CallState[Any], started: float | None, error: BaseException | None = None) -> None:
        """Emit the end of an attempt whose start was emitted."""
        if started is None:
            return
        ended = AttemptEnded(
            **state.event_facts(),
            attempt=state.attempt,
            seconds=anyio.current_time() - started,
            status_code=state.status_code,
            error=error,
        )
        self._events.emit(ended)

    async def read(self, lookup: Lookup[T], seconds: float) -> LookupResult[T]:
        """Execute a lookup within `seconds`, with attempts of its own.

        Raises:
            GatewayError: the lookup failed.
        """
        self.check(lookup)
        state = CallState(lookup, seconds, self._max_attempts)
        state.is_observed = self._events.wants_routine
        try:
            return await self.repeat(state, partial(self._make_and_report, state))
        except GatewayError:
            raise
        except Exception as error:
            raise ConnectionLostError(describe_error(error), call=str(lookup)) from error

    async def _make_and_report(self, state: CallState[T]) -> T:
        try:
            return await self.make(state)
        except GatewayError as error:
            self.report(state, error)
            raise

    def report(self, state: CallState[Any], error: GatewayError) -> Decision:
        """Decide what follows a failed attempt, and emit its event."""
        decision = decide(
            state.call.kind,
            error,
            may_have_been_sent_before=state.may_have_been_sent_before,
            on_reused_connection=state.progress is not None and state.progress.is_reused,
        )
        recovery = state.call.recovery
        if (
            isinstance(error, DuplicateError)
            and decision.step is NextStep.STOP
            and recovery
            and recovery.accepts_existing
        ):
            decision = Decision(NextStep.LOOK_UP)  # the record that has the id may be the result
        if not isinstance(error, DeadlineExceededError):  # the call has ended
            failed = AttemptFailed(
                **state.event_facts(),
                attempt=state.attempt,
                seconds=anyio.current_time() - state.started,
                status_code=state.status_code,
                error=error,
                next_step=decision.step,
            )
            self._events.emit(failed)
        return decision

    async def repeat(self, state: CallState[Any], attempt: Callable[[], Awaitable[T]]) -> T:
        """Call `attempt` again until it succeeds or must not be repeated.

        It is not repeated after the maximum number of attempts, or if no time or no retry budget is left.

        Raises:
            GatewayError: the error of the last attempt.
        """

        def is_retryable(error: BaseException) -> bool:
            if isinstance(error, NotExecutedError):
                return True
            return isinstance(error, GatewayError) and decide(state.call.kind, error).step is NextStep.AGAIN

        def seconds_to_wait(retry: RetryCallState) -> float:
            error = retry.outcome and retry.outcome.exception()
            cause = error.cause if isinstance(error, NotExecutedError) else error
            return backoff(cause, state.attempt, random.random()) if isinstance(cause, GatewayError) else 0.0  # noqa: S311

        def must_stop(retry: RetryCallState) -> bool:
            error = retry.outcome and retry.outcome.exception()
            cause = error.cause if isinstance(error, NotExecutedError) else error
            if isinstance(cause, AuthenticationError):  # one attempt more with a new token
                first, state.has_new_token = not state.has_new_token, True
                state.max_attempts += first
                return not first or anyio.current_time() >= state.attempts_until
            if state.attempt >= state.max_attempts:
                return True
            return anyio.current_time() + retry.upcoming_sleep >= state.attempts_until or not self._withdraw(state)

        retrying = AsyncRetrying(
            retry=retry_if_exception(is_retryable),
            wait=seconds_to_wait,
            stop=must_stop,
            sleep=anyio.sleep,
            reraise=True,
        )
        return await retrying(attempt)

    def _withdraw(self, state: CallState[Any]) -> bool:
        """Withdraw a retry from the budget; return whether there was one."""
        if state.try_withdraw():
            return True
        self._events.emit(RetryBudgetExhausted(**state.event_facts()))
        return False

    async def aclose(self) -> None:
        """Close the connections; later calls are rejected.

        Raises:
            GatewayError: they do not close in time.
        """
        self._closed = True
        with anyio.move_on_after(_CLOSING_SECONDS):
            await self._http.aclose()
            return
        raise GatewayError(f"the connections were not closed within {_CLOSING_SECONDS:g} s")


def _in_another_event_loop(call: Call[Any] | str) -> NotSentError:
    return NotSentError("the client belongs to another event loop (expected one client for each loop)", call=str(call))
