"""`CallExecutor`: execute a `Call` within its deadline.

A call passes through `execute` → `Attempts.make` → `HttpClient.send` → transport. This file also waits for terminals,
records in the ledger, and acts on a failed attempt: it looks up the outcome, repeats the call, or raises an error.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakValueDictionary

import anyio
import attrs

from gateway_async._exceptions import describe_error, first_error
from gateway_async._execution.attempts import Attempts, NotExecutedError
from gateway_async._execution.call_state import LOOKUP_SECONDS, CallState
from gateway_async._execution.circuit_breaker import CircuitBreaker
from gateway_async._execution.events import EventEmitter, TerminalWait
from gateway_async._execution.http_client import HttpClient
from gateway_async._execution.outcomes.crash_recovery import CrashRecovery, LookupOf
from gateway_async._execution.outcomes.ledger_recorder import RECORDING_SECONDS, LedgerRecorder
from gateway_async._execution.outcomes.outcome_lookup import OutcomeLookup
from gateway_async._execution.outcomes.outcome_resolver import OutcomeResolver
from gateway_async._execution.retry_budget import RetryBudget
from gateway_async._execution.terminals.lease_holder import LeaseHolder
from gateway_async._execution.terminals.progress_reporter import ProgressReporter, progress_reporter
from gateway_async._execution.terminals.queue import TerminalQueues
from gateway_async._execution.terminals.unresolved_calls import UnresolvedCalls
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.reply import says_busy
from gateway_async._wire.retry_policy import is_refusal
from gateway_async.errors import (
    ConnectionLostError,
    DuplicateError,
    GatewayError,
    MismatchedReplyError,
    NotSentError,
    OutcomeUnknownError,
    StatusError,
    TerminalBusyError,
)
from gateway_async.leases import TerminalLease
from gateway_async.ledger.protocol import Ledger, Recovered
from gateway_async.observe import CallEnded, CallStarted, NextStep, Observer, OnProgress, TerminalState

if TYPE_CHECKING:
    from gateway_async.telemetry.health import Health, PoolUse

__all__ = ["CallExecutor"]

T = TypeVar("T")


class CallExecutor:
    """Executes calls.

    Args:
        http: sends the requests; closed with the executor.
        timeout: total seconds for an ordinary call, with attempts, waits and lookups.
        terminal_timeout: seconds a router call may stay open at the terminal.
        max_terminals: how many router calls may be open at once.
        terminal_lease: shares the terminals with other clients; closed with the executor.
        block_unresolved_terminals: whether a terminal takes no call while an earlier one may still be executed there.
        in_doubt_seconds: seconds after its last attempt in which the gateway may still execute a write.
        ledger: records calls so that they can be resolved after a crash; closed with the executor.
        max_attempts: maximum number of attempts for a call.
        circuit_breaker: rejects new writes while the gateway is unreachable.
        observers: receive every event.
    """

    def __init__(
        self,
        http: HttpClient,
        *,
        timeout: float,
        terminal_timeout: float,
        max_terminals: int,
        terminal_lease: TerminalLease | None,
        block_unresolved_terminals: bool,
        in_doubt_seconds: float,
        ledger: Ledger | None,
        max_attempts: int,
        circuit_breaker: CircuitBreaker | None,
        observers: Iterable[Observer],
    ) -> None:
        self._timeout = timeout
        self._terminal_timeout = terminal_timeout
        self._max_attempts = max_attempts
        self._in_doubt_seconds = in_doubt_seconds
        self._prepared_calls: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._retry_budget = RetryBudget()
        self._events = EventEmitter(observers)
        self._circuit_breaker = circuit_breaker
        self._attempts = Attempts(http, max_attempts, self._events, circuit_breaker)
        self._lookup = OutcomeLookup(self._attempts.read, timeout)
        self._ledger_recorder = LedgerRecorder(ledger, http.gateway, in_doubt_seconds)
        self._terminals = TerminalQueues(
            max_terminals,
            UnresolvedCalls(blocks=block_unresolved_terminals, ledger=ledger),
            LeaseHolder(terminal_lease, self._events.emit) if terminal_lease is not None else None,
        )
        self._outcome_resolver = OutcomeResolver(
            self._lookup,
            timeout=timeout,
            ledger_recorder=self._ledger_recorder,
            terminals=self._terminals,
            events=self._events,
        )

    def with_limits(
        self, *, timeout: float | None, terminal_timeout: float | None, max_attempts: int | None
    ) -> "CallExecutor":
        """Return an executor with other limits that shares everything else; None keeps a limit.

        Lookups keep the limits of the client.
        """
        limits = {"_timeout": timeout, "_terminal_timeout": terminal_timeout, "_max_attempts": max_attempts}
        other = copy(self)
        vars(other).update({name: value for name, value in limits.items() if value is not None})
        return other

    def execute(self, call: Call[T], on_progress: OnProgress | None = None) -> Coroutine[Any, Any, T]:
        """Execute `call` and return its result.

        `on_progress` receives the progress of a call that waits for a terminal.

        Raises:
            GatewayError: one of the error tree in `errors.py`.
        """
        self._attempts.check(call)
        if call.kind is Kind.TERMINAL:
            return self._execute_at_terminal(call, progress_reporter(call, on_progress))
        if self._circuit_breaker is not None and not call.kind.is_read:
            return self._execute_guarded(call, self._circuit_breaker)
        if call.prerequisite is not None:
            return self._execute_prepared(call)
        return self._execute(self._new_state(call, self._timeout))

    async def recover(self, lookup_of: LookupOf, wait: float | None) -> list[Recovered]:
        """Find the outcome of each open intent in the ledger.

        Waits at most `wait` seconds for calls that may still be executed; None waits until none may.

        Raises:
            NotSentError: the client is closed, or belongs to another event loop.
            LedgerError: the ledger cannot be read.
        """
        self._attempts.check_usable("recover()")
        recovery = CrashRecovery(self._ledger_recorder, self._lookup, lookup_of, self._terminals, self._events)
        return await recovery.recover(wait)

    def check_usable(self, call: str) -> None:
        """Check that the client is open and belongs to this event loop.

        Raises:
            NotSentError: it is closed, or belongs to another event loop.
        """
        self._attempts.check_usable(call)

    def observing(self, observer: Observer) -> AbstractContextManager[None]:
        """Add an observer for the duration of the block."""
        return self._events.observing(observer)

    async def count_open_intents(self) -> int:
        """Count the open intents in the ledger, without calls in progress.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        return len(await self._ledger_recorder.open_intents())

    def health(self, ordinary: "PoolUse | None", terminal: "PoolUse | None") -> "Health":
        """Return the load of the client and its connection pools."""
        from gateway_async.telemetry.health import Health  # most programs never ask

        return Health(
            ordinary=ordinary,
            terminal=terminal,
            terminal_queues=self._terminals.lengths(),
            retries_left=self._retry_budget.retries_left,
            recorded_calls=self._ledger_recorder.calls_in_progress,
            unknown_outcomes=self._outcome_resolver.unknown_outcomes,
        )

    async def aclose(self) -> None:
        """Close the connections, the leases and the ledger; later calls are rejected.

        Raises:
            NotSentError: nothing was closed, because the client belongs to another event loop.
            GatewayError: one of them does not close in time. The others are closed all the same.
        """
        self._attempts.check_closable()
        try:
            await self._attempts.aclose()
        finally:
            try:
                await self._terminals.aclose()  # after the connections: interrupted calls extend their leases first
            finally:
                await self._ledger_recorder.aclose()

    async def _execute_at_terminal(self, call: Call[T], progress: ProgressReporter) -> T:
        """Wait for the terminal, then execute the call."""
        wait = TerminalWait(call, self._events.emit) if self._events.wants_routine else None
        state: CallState[T] | None = None
        try:
            async with progress.ticking(), self._terminals.acquire(call, progress) as before_sending:
                if wait is not None:
                    wait.end()
                self._attempts.check_open(call)
                call = await self._prepare(call)
                state = self._new_state(call, self._terminal_timeout + LOOKUP_SECONDS)
                state.call_id = "" if wait is None else wait.call_id
                state.before_sending = before_sending
                progress.report(TerminalState.AT_TERMINAL, seconds=self._terminal_timeout)
                try:
                    return await self._execute(state, progress.report_lookup)
                except OutcomeUnknownError as error:
                    state.unresolved = error
                    raise
                except StatusError as error:
                    if not says_busy(error):
                        raise
                    raise TerminalBusyError(call.terminal_id or "", call=str(call)) from error
                finally:
                    self._terminals.remember_unresolved(state)
        except BaseException as raised:
            ended_by = self._own_error(raised, call, state)
            if wait is not None:
                wait.end(ended_by)
            if ended_by is raised:
                raise
            raise ended_by from raised

    async def _execute_guarded(self, call: Call[T], breaker: CircuitBreaker) -> T:
        """Execute a write, unless the circuit breaker is open."""
        if not breaker.admit(call):
            raise self._rejection(call)
        try:
            if call.prerequisite is not None:
                return await self._execute_prepared(call)
            return await self._execute(self._new_state(call, self._timeout))
        finally:
            breaker.release(call)

    def _rejection(self, call: Call[Any]) -> NotSentError:
        """Build the error of a rejected write, and emit its events."""
        facts = CallState(call, self._timeout, self._max_attempts).event_facts()
        error = NotSentError("the circuit breaker is open, because the gateway was unreachable", call=str(call))
        self._events.emit(CallStarted(**facts))
        self._events.emit(CallEnded(**facts, attempts=0, seconds=0.0, error=error))
        return error

    async def _execute_prepared(self, call: Call[T]) -> T:
        """Execute the call's prerequisite reads, then the call, within one total time.

        Calls with the same read run one after the other: the effect of one would be taken for that of another.
        """
        until = anyio.current_time() + self._timeout
        async with self._alone(call):
            try:
                call = await self._read_prerequisites(call, (until - anyio.current_time()) / 2)
            except GatewayError as error:
                if is_refusal(error):
                    raise  # it says more than "not sent", and nothing was sent either
                raise _prerequisite_error(call, error) from error
            return await self._execute(self._new_state(call, until - anyio.current_time()))

    @asynccontextmanager
    async def _alone(self, call: Call[Any]) -> AsyncIterator[None]:
        """Wait until no other call with the same prerequisite is in progress.

        Raises:
            NotSentError: it takes more than half of the call's time.
        """
        request = cast("Call[Any]", call.prerequisite).request
        lock = self._prepared_calls.setdefault(f"{request.path}?{request.params}", anyio.Lock())
        with anyio.move_on_after(self._timeout / 2) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            raise NotSentError("another call of this client that changes the same is in progress", call=str(call))
        try:
            yield
        finally:
            lock.release()

    async def _prepare(self, call: Call[T]) -> Call[T]:
        """Execute the prerequisite reads of a terminal call; return the call to send."""
        try:
            return await self._read_prerequisites(call, self._timeout)
        except GatewayError as error:
            raise _prerequisite_error(call, error) from error

    async def _read_prerequisites(self, call: Call[T], seconds: float) -> Call[T]:
        until = anyio.current_time() + seconds
        while call.prerequisite is not None:
            left = max(until - anyio.current_time(), 0.0)
            call = await self._execute(self._new_state(call.prerequisite, left))
        return call

    def _new_state(self, call: Call[T], seconds: float) -> CallState[T]:
        self._retry_budget.deposit()
        return CallState(call, seconds, self._max_attempts, self._retry_budget, self._in_doubt_seconds)

    async def _execute(self, state: CallState[T], on_lookup: Callable[[], object] | None = None) -> T:
        """Execute a call within its deadline, and emit its events.

        `on_lookup` is called before each lookup of the outcome.
        """
        call = state.call
        is_observed = state.is_observed = self._events.wants_routine
        if is_observed:
            self._events.emit(CallStarted(**state.event_facts()))
        error: BaseException | None = None
        try:
            if self._ledger_recorder.records(call):
                await self._ledger_recorder.record_intent(state)
            try:
                result = await self._attempts.make(state)
            except GatewayError as failure:
                result = await self._continue(state, failure, on_lookup)
            if state.intent_id is not None:
                await self._record_success(state, result)
        except BaseException as raised:
            error = self._own_error(raised, call, state)
            await self._end_failed(state, error, on_lookup)
            if error is raised:
                raise
            raise error from raised
        else:
            return result
        finally:
            self._ledger_recorder.forget(state)
            if is_observed or error is not None:
                ended = CallEnded(
                    **state.event_facts(),
                    attempts=state.attempt,
                    seconds=anyio.current_time() - state.started,
                    status_code=state.status_code,
                    error=error,
                )
                self._events.emit(ended)

    def _own_error(self, error: BaseException, call: Call[Any], state: CallState[Any] | None) -> BaseException:
        """Return the error with which a call ends.

        An exception of something else, such as an `OSError` of the event loop or a `MemoryError`, says nothing about
        the call. What is known of its attempts decides: the call was not executed, or its outcome is unknown.
        """
        if isinstance(error, GatewayError) or not isinstance(error, Exception):
            return error
        reason = describe_error(first_error(error))
        if state is not None and state.may_have_been_sent:
            lost = ConnectionLostError(reason, call=str(call))
            state.record_failure(lost, unclear=True)
            return self._outcome_resolver.final_error(state, lost)
        known = error.__context__
        return copy(known) if isinstance(known, GatewayError) else NotSentError(reason, call=str(call))

    async def _continue(
        self, state: CallState[T], failure: GatewayError | None, on_lookup: Callable[[], object] | None
    ) -> T:
        """Look up or repeat the call, as its failed attempts require.

        `failure` is the error of the first attempt.
        """

        async def attempt() -> T:
            nonlocal failure
            error, failure = failure, None
            if error is None:
                try:
                    return await self._attempts.make(state)
                except GatewayError as raised:
                    error = raised
            return await self._resolve(state, error, on_lookup)

        try:
            return await self._attempts.repeat(state, attempt)
        except NotExecutedError as error:
            raise self._outcome_resolver.final_error(state, error.cause) from error.cause.__cause__
        except NotSentError as error:
            raise self._outcome_resolver.final_error(state, error) from error.__cause__

    async def _resolve(self, state: CallState[T], error: GatewayError, on_lookup: Callable[[], object] | None) -> T:
        """Look up the outcome of a failed attempt if it is uncertain; otherwise raise its error.

        A read whose response belongs to another request is repeated on a connection of its own.
        """
        decision = self._attempts.report(state, error)
        if state.call.kind.is_read and isinstance(error, MismatchedReplyError):
            state.call = attrs.evolve(state.call, fresh_connection=True)
        if decision.step is not NextStep.LOOK_UP:
            raise error
        if on_lookup is not None:
            on_lookup()
        return await self._outcome_resolver.resolve(state, error, decision.if_not_found)

    async def _record_success(self, state: CallState[T], result: T) -> None:
        """Record a result in the ledger.

        The recording is shielded from cancellation, so that a successful call is not recorded as something else.
        """
        left = state.until - anyio.current_time()
        await self._ledger_recorder.record_outcome(state.intent_id, "done", result, min(left, RECORDING_SECONDS))

    async def _end_failed(
        self, state: CallState[Any], error: BaseException, on_lookup: Callable[[], object] | None
    ) -> None:
        """Record the outcome of a failed call; look up a cancelled write that may have been sent."""
        call = state.call
        cancelled = isinstance(error, anyio.get_cancelled_exc_class())
        if cancelled and state.may_have_been_sent and not call.kind.is_read:
            if on_lookup is not None:
                on_lookup()
            lost = ConnectionLostError("cancelled", call=str(call))
            state.unresolved = self._outcome_resolver.unknown_error(state, lost)
            if await self._outcome_resolver.resolve_cancelled(state, lost, error):
                state.unresolved = None
        if state.unresolved is not None or (isinstance(error, OutcomeUnknownError) and state.may_have_been_sent):
            self._outcome_resolver.unknown_outcomes += 1
        await self._ledger_recorder.record_failure(state, error)
        if isinstance(error, DuplicateError) and call.recovery and call.recovery.existing:
            kept = state.without_body()
            await self._outcome_resolver.record_duplicate(kept)
            error.read_with(partial(self._fetch, call.recovery.existing, kept), call.record_type)

    async def _fetch(self, existing: Callable[[], Call[T]], state: CallState[T]) -> T:
        """Read the record of a duplicate, and record the outcome."""
        record = await self.execute(existing())
        await self._outcome_resolver.record_duplicate(state)
        return record


def _prerequisite_error(call: Call[Any], error: GatewayError) -> NotSentError:
    return NotSentError(f"its prerequisite read failed: {error}", call=str(call))
