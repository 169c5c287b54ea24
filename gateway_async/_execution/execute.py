"""`CallExecutor`: run a `Call` to its result, or to the error that says what is known of it.

Read it downwards, beside the money rules of the documentation: `_run` records the intent, sends once, and records the
outcome; `_after_failure` looks up, repeats or stops, as the table in `_wire/retry_policy.py` says.
"""

from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from copy import copy
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.lowlevel
import attrs
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from gateway_async._execution.circuit_breaker import CircuitBreaker, RetryBudget, event_of_change
from gateway_async._execution.events import EventEmitter, TerminalReporter, event_facts, new_call_id
from gateway_async._execution.http_client import HttpClient, interruption_error
from gateway_async._execution.lease_holder import LeaseHolder
from gateway_async._execution.lookup import OutcomeLookup
from gateway_async._execution.recorder import RECORDING_SECONDS, LedgerRecorder
from gateway_async._execution.recovery import CrashRecovery, LookupOf
from gateway_async._execution.state import LOOKUP_SECONDS, CallPlan, CallState
from gateway_async._execution.terminals import TerminalQueues, UnresolvedCalls
from gateway_async._text import describe_error, first_error
from gateway_async._wire.call import Call, Lookup, LookupResult, LookupStatus, RepeatEffect
from gateway_async._wire.reply import says_busy
from gateway_async._wire.retry_policy import BACK_OFF, Decision, decide, is_final_refusal, renews_token, retry_after
from gateway_async.errors import (
    ClientClosedError,
    ConnectionLostError,
    DeadlineExceededError,
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
from gateway_async.observe import (
    AttemptEnded,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    CallStarted,
    NextStep,
    Observer,
    OnProgress,
    RetryBudgetExhausted,
    TerminalState,
)
from gateway_async.telemetry.health import Health, PoolUse

T = TypeVar("T")


class CallExecutor:
    """Executes calls. `AsyncGateway` describes the arguments."""

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
        self._http = http
        self._timeout = timeout
        self._terminal_timeout = terminal_timeout
        self._max_attempts = max_attempts
        self._in_doubt_seconds = in_doubt_seconds
        self._prepared_calls: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._retry_budget = RetryBudget()
        self._events = EventEmitter(observers)
        self._circuit_breaker = circuit_breaker
        self._ledger_recorder = LedgerRecorder(ledger, http.gateway, http.user, in_doubt_seconds)
        self._terminals = TerminalQueues(
            max_terminals,
            UnresolvedCalls(blocks=block_unresolved_terminals, ledger=ledger),
            LeaseHolder(terminal_lease, self._events.emit) if terminal_lease is not None else None,
        )
        self._lookup = OutcomeLookup(self._read, timeout, self._ledger_recorder, self._terminals, self._events)

    def with_limits(
        self, *, timeout: float | None, terminal_timeout: float | None, max_attempts: int | None
    ) -> "CallExecutor":
        """Copy this executor with other limits; everything else is shared, and None keeps a limit.

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
        self._http.check(call)
        if call.repeat_effect is RepeatEffect.TERMINAL:
            emit = self._events.emit if self._events.wants_routine else None
            return self._execute_at_terminal(call, TerminalReporter(call, on_progress, emit))
        breaker = None if call.repeat_effect.is_read else self._circuit_breaker
        if breaker is None and call.prerequisite is None:
            return self._run(self._new_state(call, self._timeout))
        return self._execute_prepared(call, breaker)

    async def _execute_prepared(self, call: Call[T], breaker: CircuitBreaker | None) -> T:
        """Execute a call that the circuit breaker admits, after its prerequisite reads."""
        if breaker is not None and not breaker.admit(call):
            error = NotSentError("the circuit breaker is open, because the gateway was unreachable", call=str(call))
            facts = event_facts(call, new_call_id())
            self._events.emit(CallStarted(**facts))
            self._events.emit(CallEnded(**facts, attempts=0, seconds=0.0, error=error))
            raise error
        try:
            if call.prerequisite is None:
                return await self._run(self._new_state(call, self._timeout))
            until = anyio.current_time() + self._timeout
            async with self._alone(call, call.prerequisite):
                prepared = await self._read_prerequisites(call, (until - anyio.current_time()) / 2)
                return await self._run(self._new_state(prepared, until - anyio.current_time()))
        finally:
            if breaker is not None:
                breaker.release(call)

    @asynccontextmanager
    async def _alone(self, call: Call[Any], prerequisite: Call[Any]) -> AsyncIterator[None]:
        """Wait, for half of the call's time, until no other call with the same prerequisite is in progress.

        The effect of one would be taken for the effect of another.
        """
        request = prerequisite.request
        lock = self._prepared_calls.setdefault(f"{request.path}?{request.params}", anyio.Lock())
        with anyio.move_on_after(self._timeout / 2) as waiting:
            await lock.acquire()
        if waiting.cancelled_caught:
            raise NotSentError("another call of this client for the same record is in progress", call=str(call))
        try:
            yield
        finally:
            lock.release()

    async def _execute_at_terminal(self, call: Call[T], reporter: TerminalReporter) -> T:
        """Wait for the terminal, then execute the call."""
        state: CallState[T] | None = None
        results: list[T] = []
        try:
            async with self._terminals.acquire(call, reporter) as before_sending:
                call = await self._read_prerequisites(call, self._timeout)
                reporter.report(TerminalState.AT_TERMINAL, seconds=self._terminal_timeout)
                state = self._new_state(
                    call,
                    self._terminal_timeout + LOOKUP_SECONDS,
                    call_id=reporter.call_id,
                    before_sending=before_sending,
                    on_lookup=partial(reporter.report, TerminalState.LOOKING_UP, seconds=LOOKUP_SECONDS),
                )
                try:
                    results.append(await self._run(state))
                except StatusError as error:
                    if not says_busy(error):
                        raise
                    raise TerminalBusyError(call.terminal_id or "", call=str(call)) from error
                finally:
                    self._terminals.remember_unresolved(state)
            await anyio.lowlevel.cancel_shielded_checkpoint()  # lets a `Task.cancel()` end the call here, not later
        except BaseException as raised:
            ended_by = self._own_error(raised, call, state)
            reporter.end_wait(ended_by)
            if ended_by is raised:
                if results and state is not None:
                    self._lookup.note_outcome(state, raised, results[0])
                raise
            raise ended_by from raised
        else:
            return results[0]

    async def _read_prerequisites(self, call: Call[T], seconds: float) -> Call[T]:
        """Make the reads that the call depends on, within `seconds` in total; return the call to send."""
        until = anyio.current_time() + seconds
        try:
            while call.prerequisite is not None:
                left = max(until - anyio.current_time(), 0.0)
                call = await self._run(self._new_state(call.prerequisite, left))
        except GatewayError as error:
            if is_final_refusal(error) and call.repeat_effect is not RepeatEffect.TERMINAL:
                raise  # it says more than "not sent", and nothing was sent either
            raise NotSentError(f"its prerequisite read failed: {error}", call=str(call)) from error
        return call

    def _new_state(self, call: Call[T], seconds: float, **more: Any) -> CallState[T]:
        self._retry_budget.deposit()
        plan = CallPlan(
            call=call,
            seconds=seconds,
            max_attempts=self._max_attempts,
            in_doubt_seconds=self._in_doubt_seconds,
            started=self._http.now(),
            **more,
        )
        return CallState(plan)

    async def _run(self, state: CallState[T]) -> T:
        """Record the intent, send the request, and record the outcome."""
        is_observed = state.is_observed = self._events.wants_routine
        if is_observed:
            self._events.emit(CallStarted(**state.facts))
        error: BaseException | None = None
        try:
            if state.call.ledger_entry is not None:
                await self._ledger_recorder.record_intent(state, state.call.ledger_entry)
            try:
                result = await self._send_once(state)
            except GatewayError as failure:
                result = await self._after_failure(state, failure)
            if state.intent_id is not None:
                left = state.plan.until - anyio.current_time()
                await self._ledger_recorder.record_outcome(
                    state.intent_id, "done", result, min(left, RECORDING_SECONDS)
                )
        except BaseException as raised:
            error = self._own_error(raised, state.call, state)
            await self._end_failed(state, error)
            if error is raised:
                raise
            raise error from raised
        else:
            return result
        finally:
            if state.intent_id is not None:
                self._ledger_recorder.forget(state.intent_id)
            if is_observed or error is not None:
                self._events.emit(CallEnded(**state.end_facts, attempts=state.attempt, error=error))

    async def _send_once(self, state: CallState[T]) -> T:
        """Send the request once; if that fails, `state` says whether it may have been executed."""
        call, plan = state.call, state.plan
        if self._http.is_closed:
            raise ClientClosedError(call=str(call))
        progress = state.begin_attempt()
        started = 0.0
        if state.is_observed:
            self._events.emit(AttemptStarted(**state.facts, attempt=state.attempt, gateway=self._http.gateway))
            started = anyio.current_time()
        ended_by: BaseException | None = None
        seconds = plan.seconds_for_attempts
        deadline = self._http.deadline(plan.started + seconds)
        try:
            with deadline:
                result = await self._http.send(call, progress)
                state.may_have_been_executed = True  # whatever happens to the result
                if self._circuit_breaker is not None and self._circuit_breaker.record(None):
                    self._events.emit(event_of_change(self._circuit_breaker, state.facts))
                return result
            no_response = f"no response within {seconds:g} s (read timeout)"
            reason = no_response if progress.may_have_been_sent else f"it could not be sent within {seconds:g} s"
            lost = interruption_error(reason, call, progress)
            if call.repeat_effect.is_read:
                raise DeadlineExceededError(plan.seconds, call=str(call)) from lost  # noqa: TRY301  recorded below
            raise lost  # noqa: TRY301  recorded below
        except GatewayError as error:
            state.record_failure(error)
            if self._circuit_breaker is not None and self._circuit_breaker.record(error):
                self._events.emit(event_of_change(self._circuit_breaker, state.facts))
            ended_by = error
            raise
        except Exception as error:
            ended_by = interruption_error(describe_error(error), call, progress)
            state.record_failure(ended_by)
            raise ended_by from error
        except BaseException as error:
            state.record_failure(interruption_error("cancelled", call, progress))
            ended_by = error
            raise
        finally:
            self._http.forget(deadline)
            if state.is_observed:
                facts = {**state.end_facts, "seconds": anyio.current_time() - started}
                self._events.emit(AttemptEnded(**facts, attempt=state.attempt, error=ended_by))

    async def _after_failure(self, state: CallState[T], error: GatewayError) -> T:
        """Act on each failed attempt as the table says: look up, repeat, or stop.

        `error` comes from the first attempt. The call is repeated while attempts, time and retry budget are left.
        """
        async for repeat in AsyncRetrying(
            wait=_pause,
            stop=lambda retry: anyio.current_time() + retry.upcoming_sleep >= state.plan.attempts_until,
            retry=retry_if_exception_type(GatewayError),
            retry_error_callback=_leave_the_loop,
            sleep=anyio.sleep,
        ):
            if repeat.retry_state.attempt_number > 1:
                try:
                    return await self._send_once(state)
                except GatewayError as failed:
                    error = failed
            decision = self._decide(state, error)
            step = decision.step
            if step is NextStep.LOOK_UP:
                found = await self._lookup.after_failure(state, error, decision.if_not_found)
                if found.status is LookupStatus.EXECUTED:
                    state.may_have_been_executed = True  # whatever happens to the result
                    return found.record  # type: ignore[return-value]
                step = decision.if_not_found
            if step is NextStep.UNKNOWN:
                raise self._lookup.outcome_unknown(state, error) from error
            if step is NextStep.STOP and not isinstance(error, NotSentError):
                raise error
            if not self._reserve_attempt(state, step):
                break
            with repeat:
                raise error  # tenacity waits, and begins the next round
        final = self._lookup.unknown_if_executed(state, error)
        raise final from error.__cause__ if final is error else error

    def _reserve_attempt(self, state: CallState[Any], step: NextStep) -> bool:
        """Reserve another attempt; return whether one was left. The one with a new token does not count."""
        match step:
            case NextStep.RENEW_TOKEN if not state.has_new_token:
                state.has_new_token = True
                return True
            case NextStep.AGAIN if state.attempt < state.plan.max_attempts + state.has_new_token:
                if state.call.repeat_effect is RepeatEffect.LOOKUP or self._retry_budget.try_withdraw():
                    return True
                self._events.emit(RetryBudgetExhausted(**state.facts))
        return False

    def _decide(self, state: CallState[Any], error: GatewayError) -> Decision:
        """Decide what follows a failed attempt, and emit its event."""
        decision = decide(
            state.call.repeat_effect,
            error,
            may_have_been_executed_before=state.may_have_been_executed_before,
            on_reused_connection=state.is_on_reused_connection,
        )
        resolver = state.call.resolver
        if isinstance(error, DuplicateError) and decision.step is NextStep.STOP:
            if resolver and resolver.accepts_existing:
                decision = Decision(NextStep.LOOK_UP)  # the record that has the id may be the result
        elif isinstance(error, MismatchedReplyError) and state.call.repeat_effect.is_read:
            state.call = attrs.evolve(state.call, fresh_connection=True)
        if not isinstance(error, DeadlineExceededError):  # the call has ended
            failed = AttemptFailed(**state.end_facts, attempt=state.attempt, error=error, next_step=decision.step)
            self._events.emit(failed)
        return decision

    async def _end_failed(self, state: CallState[Any], error: BaseException) -> None:
        """Record the outcome of a failed call; look up an interrupted write that may have been sent."""
        call = state.call
        is_interrupted = isinstance(error, (anyio.get_cancelled_exc_class(), KeyboardInterrupt, SystemExit))
        if isinstance(error, OutcomeUnknownError):
            state.unresolved = error
        elif is_interrupted and state.may_have_been_executed and not call.repeat_effect.is_read:
            await self._lookup.after_cancellation(state, error)
        if state.unresolved is not None and state.may_have_been_executed:
            self._lookup.unknown_outcomes += 1
        await self._ledger_recorder.record_failure(state, error)
        if isinstance(error, DuplicateError) and call.resolver and call.resolver.existing:
            kept = state.without_body()
            await self._lookup.record_duplicate(kept)
            error.read_with(partial(self._fetch, call.resolver.existing, kept), call.record_type)

    async def _fetch(self, existing: Any, state: CallState[T]) -> T:
        """Read the record of a duplicate, and record the outcome."""
        record: T = await self.execute(existing())
        await self._lookup.record_duplicate(state)
        return record

    def _own_error(self, error: BaseException, call: Call[Any], state: CallState[Any] | None) -> BaseException:
        """The error that ends a call.

        Any other exception, such as an `OSError` of the event loop or a `MemoryError`, says nothing about the call. Its
        attempts decide whether it was not executed, or its outcome is unknown.
        """
        if isinstance(error, GatewayError) or not isinstance(error, Exception):
            return error
        reason = describe_error(first_error(error))
        if state is not None and state.may_have_been_executed:
            lost = ConnectionLostError(reason, call=str(call))
            state.record_failure(lost, unclear=True)
            return self._lookup.unknown_if_executed(state, lost)
        known = error.__context__  # the error that was being handled when this one came
        return copy(known) if isinstance(known, GatewayError) else NotSentError(reason, call=str(call))

    async def _read(self, lookup: Lookup[T], seconds: float) -> LookupResult[T]:
        """Execute a lookup within `seconds`, with attempts of its own."""
        self._http.check(lookup)
        state = CallState(CallPlan(call=lookup, seconds=seconds, max_attempts=self._max_attempts))
        state.is_observed = self._events.wants_routine
        try:
            try:
                return await self._send_once(state)
            except GatewayError as failure:
                return await self._after_failure(state, failure)
        except GatewayError:
            raise
        except Exception as error:
            raise ConnectionLostError(describe_error(error), call=str(lookup)) from error

    async def recover(self, lookup_of: LookupOf, wait: float | None) -> list[Recovered]:
        """Find the outcome of each open intent in the ledger, and record it.

        Waits at most `wait` seconds for calls that may still be executed; None waits until none may.

        Raises:
            NotSentError: the client is closed, or belongs to another event loop.
            LedgerError: the ledger cannot be read.
        """
        self._http.check_usable("recover()")
        recovery = CrashRecovery(self._ledger_recorder, self._lookup, lookup_of, self._terminals, self._events)
        return await recovery.recover(wait)

    def check_usable(self, call: str) -> None:
        """Check that the client is open and belongs to this event loop; raise `NotSentError` otherwise."""
        self._http.check_usable(call)

    def observing(self, observer: Observer) -> AbstractContextManager[None]:
        return self._events.observing(observer)

    async def count_open_intents(self) -> int:
        return len(await self._ledger_recorder.open_intents())

    def health(self, ordinary: PoolUse | None, terminal: PoolUse | None) -> Health:
        return Health(
            ordinary=ordinary,
            terminal=terminal,
            terminal_queues=self._terminals.lengths(),
            retries_left=self._retry_budget.retries_left,
            recorded_calls=self._ledger_recorder.calls_in_progress,
            unknown_outcomes=self._lookup.unknown_outcomes,
        )

    async def aclose(self) -> None:
        """Close the connections, the leases and the ledger; later calls are rejected.

        Raises:
            NotSentError: nothing was closed, because the client belongs to another event loop.
            GatewayError: one of them does not close in time. The others are closed all the same.
        """
        self._http.check_closable()
        try:
            await self._http.aclose()
        finally:
            try:
                await self._terminals.aclose()  # after the connections: interrupted calls extend their leases first
            finally:
                await self._ledger_recorder.aclose()


_back_off: Final = wait_random_exponential(multiplier=BACK_OFF[0], max=BACK_OFF[1])


def _pause(retry: RetryCallState) -> float:
    """The seconds to wait before the next attempt: `Retry-After`, plus a random time."""
    error: Any = retry.outcome and retry.outcome.exception()
    if renews_token(error):
        return 0.0  # the login takes its time
    return retry_after(error) + _back_off(retry)


def _leave_the_loop(_: RetryCallState) -> None:
    """Let tenacity end its loop without an error of its own."""
