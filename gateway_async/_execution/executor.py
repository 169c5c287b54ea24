"""`CallExecutor`: execute a `Call` with attempts, deadlines and observers.

`_wire/retry_policy.py` decides what follows a failed attempt; `CallState` knows whether time and attempts are left.
This file acts on both. No other file uses tenacity.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
from tenacity import AsyncRetrying, retry_if_exception

from gateway_async._execution.call_state import LOOKUP_SECONDS, CallState, NotExecutedError
from gateway_async._execution.crash_recovery import CrashRecovery, LookupOf
from gateway_async._execution.http_client import HttpClient, interruption_error
from gateway_async._execution.ledger_recorder import RECORDING_SECONDS, LedgerRecorder
from gateway_async._execution.outcome_resolver import OutcomeResolver
from gateway_async._execution.retry_budget import RetryBudget
from gateway_async._execution.terminals.lease_holder import LeaseHolder
from gateway_async._execution.terminals.progress_reporter import ProgressReporter, progress_reporter
from gateway_async._execution.terminals.queue import TerminalQueues
from gateway_async._execution.terminals.unresolved_calls import UnresolvedCalls
from gateway_async._http.progress import Progress, Stage
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.reply import says_busy
from gateway_async._wire.retry_policy import NextStep, decide
from gateway_async.errors import (
    ClientClosedError,
    DeadlineExceededError,
    DuplicateError,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    StatusError,
    TerminalBusyError,
)
from gateway_async.leases import TerminalLease
from gateway_async.ledger.protocol import Intent, Ledger, Recovered
from gateway_async.observe import (
    AttemptFailed,
    CallEnded,
    CallStarted,
    Event,
    Observer,
    OnProgress,
    RetryBudgetExhausted,
    TerminalState,
    log_event,
    notify,
)

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
        observers: Iterable[Observer],
    ) -> None:
        self._http = http
        self._timeout = timeout
        self._terminal_timeout = terminal_timeout
        self._terminals = TerminalQueues(
            max_terminals,
            UnresolvedCalls(blocks=block_unresolved_terminals, ledger=ledger),
            LeaseHolder(terminal_lease, self._emit) if terminal_lease is not None else None,
        )
        self._max_attempts = max_attempts
        self._in_doubt_seconds = in_doubt_seconds
        self._retry_budget = RetryBudget()
        self._ledger_recorder = LedgerRecorder(ledger, http.gateway, in_doubt_seconds)
        self._observers = (log_event, *observers)
        self._closed = False
        self._event_loop: object = None
        self._outcome_resolver = OutcomeResolver(
            self._run_attempts,
            timeout=timeout,
            max_attempts=max_attempts,
            check_usable=self._check_usable,
            ledger_recorder=self._ledger_recorder,
            on_resolved=self._on_call_resolved,
            emit=self._emit,
        )

    async def execute(self, call: Call[T], on_progress: OnProgress | None = None) -> T:
        """Execute `call` and return its result.

        `on_progress` receives the progress of a call that waits for a terminal.

        Raises:
            GatewayError: one of the error tree in `errors.py`.
        """
        self._check_usable(call)
        self._http.check(call)
        if call.kind is not Kind.TERMINAL:
            return await self._execute(self._new_state(call, self._timeout))
        progress = progress_reporter(call, on_progress)
        async with progress.ticking(), self._terminals.acquire(call, progress):
            return await self._execute_at_terminal(call, progress)

    async def recover(self, lookup_of: LookupOf, wait: float) -> list[Recovered]:
        """Find the outcome of each open intent in the ledger.

        Waits at most `wait` seconds for calls that may still be executed.

        Raises:
            NotSentError: the client is closed, or belongs to another event loop.
            LedgerError: the ledger cannot be read.
        """
        self._check_usable("recover()")
        recovery = CrashRecovery(self._ledger_recorder, self._read, lookup_of, self._on_intent_resolved, self._emit)
        return await recovery.recover(wait)

    async def _on_call_resolved(self, state: CallState[Any]) -> None:
        await self._terminals.forget_resolved(state.call.terminal_id, identity=state.identity)

    async def _on_intent_resolved(self, intent: Intent) -> None:
        await self._terminals.forget_resolved(intent.terminal_id, intent_id=intent.id)

    async def _read(self, lookup: Call[T]) -> T:
        self._http.check(lookup)
        return await self._run_within_deadline(CallState(lookup.as_lookup(), self._timeout, self._max_attempts))

    async def aclose(self) -> None:
        """Close the connections, the leases and the ledger; later calls are rejected."""
        self._closed = True
        try:
            await self._http.aclose()
        finally:
            try:
                await self._terminals.aclose()  # after the connections: interrupted calls extend their leases first
            finally:
                await self._ledger_recorder.aclose()

    def _check_usable(self, call: Call[Any] | str) -> None:
        self._check_open(call)
        self._check_event_loop(call)

    def _check_open(self, call: Call[Any] | str) -> None:
        if self._closed:
            raise ClientClosedError(call=str(call))

    def _check_event_loop(self, call: Call[Any] | str) -> None:
        """Reject a call from another event loop.

        A connection belongs to the event loop that opened it, and would hang in another one.
        """
        here = anyio.lowlevel.current_token()
        self._event_loop = self._event_loop or here
        if self._event_loop != here:
            raise NotSentError(
                "the client belongs to another event loop (expected one client for each loop)", call=str(call)
            )

    async def _execute_at_terminal(self, call: Call[T], progress: ProgressReporter) -> T:
        """Execute a call that has acquired its terminal."""
        self._check_open(call)
        call = await self._prepare(call)
        state = self._new_state(call, self._terminal_timeout + LOOKUP_SECONDS)
        state.on_lookup = progress.report_lookup
        progress.report(TerminalState.AT_TERMINAL, seconds=self._terminal_timeout)
        try:
            return await self._execute(state)
        except OutcomeUnknownError as error:
            state.unresolved = error
            raise
        except StatusError as error:
            if not says_busy(error):
                raise
            raise TerminalBusyError(call.terminal_id or "", call=str(call)) from error
        finally:
            self._terminals.remember_unresolved(state)

    async def _prepare(self, call: Call[T]) -> Call[T]:
        """Execute the call's prerequisite read, if any; return the call to send."""
        if call.prerequisite is None:
            return call
        try:
            return await self._execute(self._new_state(call.prerequisite, self._timeout))
        except GatewayError as error:
            raise NotSentError(f"its prerequisite read failed: {error}", call=str(call)) from error

    def _new_state(self, call: Call[T], seconds: float) -> CallState[T]:
        self._retry_budget.deposit()
        return CallState(call, seconds, self._max_attempts, self._retry_budget, self._in_doubt_seconds)

    async def _execute(self, state: CallState[T]) -> T:
        """Execute a call within its deadline and emit its events.

        A cancelled write that may have been sent is looked up.
        """
        call = state.call
        self._emit(CallStarted(call=str(call), api_id=call.api_id))
        error: BaseException | None = None
        try:
            result = await self._run_within_deadline(state)
            if state.intent_id is not None:
                await self._record_success(state, result)
        except BaseException as raised:
            error = raised
            cancelled = isinstance(raised, anyio.get_cancelled_exc_class())
            if cancelled and state.may_have_been_sent and not call.kind.is_read:
                await self._outcome_resolver.resolve_cancelled(state)
            await self._ledger_recorder.record_failure(state, raised)
            if isinstance(raised, DuplicateError) and call.existing is not None:
                raised.read_with(partial(self._fetch, call.existing))
            raise
        else:
            return result
        finally:
            self._ledger_recorder.forget(state)
            spent = anyio.current_time() - state.started
            self._emit(
                CallEnded(call=str(call), api_id=call.api_id, attempts=state.attempt, seconds=spent, error=error)
            )

    async def _fetch(self, existing: Callable[[], Call[T]]) -> T:
        return await self.execute(existing())

    async def _run_within_deadline(self, state: CallState[T]) -> T:
        try:
            with state.deadline_scope():
                await self._ledger_recorder.record_intent(state)
                return await self._run_attempts(state)
        except NotExecutedError as error:
            raise self._outcome_resolver.final_error(state, error.cause) from error.cause.__cause__
        except NotSentError as error:
            raise self._outcome_resolver.final_error(state, error) from error.__cause__
        raise self._deadline_error(state)

    async def _record_success(self, state: CallState[T], result: T) -> None:
        """Record a result in the ledger.

        The recording is shielded from cancellation, so that a successful call is not recorded as something else.
        """
        left = state.started + state.seconds - anyio.current_time()
        state.may_have_been_sent = True  # never "not_sent", also if `asyncio.Task.cancel` ignores the shield
        await self._ledger_recorder.record_outcome(state.intent_id, "done", result, min(left, RECORDING_SECONDS))

    def _deadline_error(self, state: CallState[Any]) -> GatewayError:
        call, deadline_exceeded = state.call, DeadlineExceededError(state.seconds, call=str(state.call))
        if call.kind.is_read:
            return deadline_exceeded
        if not state.may_have_been_sent:
            return NotSentError(f"no connection within {state.seconds:g} s", call=str(call))
        return self._outcome_resolver.unknown_error(state, deadline_exceeded)

    async def _run_attempts(self, state: CallState[T]) -> T:
        """Run the first attempt directly and retries under tenacity.

        A call that succeeds at once does not pay for tenacity.
        """
        try:
            return await self._attempt_or_resolve(state)
        except GatewayError as error:
            if not self._should_retry(state, error):
                raise
            await anyio.sleep(state.pause)
        return await AsyncRetrying(
            retry=retry_if_exception(partial(self._should_retry, state)),
            wait=lambda _: state.pause,
            sleep=anyio.sleep,
            reraise=True,
        )(self._attempt_or_resolve, state)

    def _should_retry(self, state: CallState[Any], error: BaseException) -> bool:
        """Return whether to retry; if so, withdraw the retry from the budget."""
        if not state.can_retry(error, random.random()):  # noqa: S311
            return False
        if state.try_withdraw():
            return True
        self._emit(RetryBudgetExhausted(call=str(state.call), api_id=state.call.api_id))
        return False

    async def _attempt_or_resolve(self, state: CallState[T]) -> T:
        """Make one attempt; look up its outcome if that is uncertain."""
        call, sent_before = state.call, state.may_have_been_sent
        state.attempt += 1
        try:
            return await self._attempt(state)
        except GatewayError as error:
            decision = decide(call.kind, error, may_have_been_sent_before=sent_before)
            self._emit(
                AttemptFailed(
                    call=str(call),
                    api_id=call.api_id,
                    attempt=state.attempt,
                    error=error,
                    verdict=decision.step.value,
                )
            )
            if decision.step is not NextStep.LOOK_UP:
                raise
            return await self._outcome_resolver.resolve(state, error, decision.if_not_found)

    async def _attempt(self, state: CallState[T]) -> T:
        """Send the request once, within the attempt's time limit."""
        call, progress = state.call, Progress()
        self._check_open(call)
        progress.stage = Stage.QUEUED
        try:
            with state.attempt_scope():
                return await self._http.send(call, progress, state.attempt_timeout)
        except GatewayError as error:
            state.record_failure(error)
            raise
        except BaseException:
            state.record_failure(interruption_error("cancelled", call, progress))
            raise
        timeout_error = interruption_error(
            f"no response within {state.attempt_timeout:g} s (read timeout)", call, progress
        )
        state.record_failure(timeout_error)
        raise timeout_error

    @contextmanager
    def observing(self, observer: Observer) -> Iterator[None]:
        """Add an observer for the duration of the block."""
        self._observers = (*self._observers, observer)
        try:
            yield
        finally:
            self._observers = tuple(each for each in self._observers if each is not observer)

    def _emit(self, event: Event) -> None:
        notify(self._observers, event)
