"""`OutcomeLookup`: find out whether a write with a lost response was executed.

It sends only reads, except where no read shows the effect: a change of a postback config and the revocation of a token
are sent again. Where the result depends on it, a list must confirm that a record is missing. If the outcome cannot be
decided, the error is `OutcomeUnknownError`. `CallExecutor` uses it in a call, and `CrashRecovery` after a crash.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any, Final, TypeVar, cast

import anyio

from gateway_async._arguments import check_numbers
from gateway_async._background import finish
from gateway_async._backoff import exponential_backoffs
from gateway_async._execution.events import EventEmitter
from gateway_async._execution.recorder import LedgerRecorder
from gateway_async._execution.state import LOOKUP_SECONDS, CallState
from gateway_async._execution.terminals import TerminalQueues
from gateway_async._secrets import mask_text
from gateway_async._wire.call import Lookup, LookupResult, LookupStatus, RepeatEffect
from gateway_async._wire.retry_policy import classify, says_absent
from gateway_async.errors import (
    ConnectionLostError,
    DeadlineExceededError,
    DuplicateError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    MismatchedWriteError,
    OutcomeUnknownError,
    RecordDeletedError,
    StatusError,
)
from gateway_async.observe import Event, LookupOutcome, LookupStarted, NextStep, OutcomeLookedUp, RecordDiffers

T = TypeVar("T")

Read = Callable[[Lookup[Any], float], Awaitable[Any]]
"""Executes a lookup within a number of seconds."""

_RESOLVE_SECONDS: Final = 2.0
"""Seconds in which a healthy gateway shows the record of a write that it has received."""


class OutcomeLookup:
    """Looks up the outcome of writes.

    If that becomes known after the call has ended, the ledger records it, and the call's terminal is free again.

    Attributes:
        unknown_outcomes: the number of calls that have ended with an unknown outcome.
    """

    def __init__(
        self,
        read: Read,
        timeout: float,
        ledger_recorder: LedgerRecorder,
        terminals: TerminalQueues,
        events: EventEmitter,
    ) -> None:
        self._read = read
        self._timeout = timeout
        self._ledger_recorder = ledger_recorder
        self._terminals = terminals
        self._events = events
        self.unknown_outcomes = 0

    async def after_failure(self, state: CallState[T], error: GatewayError, if_not_found: NextStep) -> LookupResult[T]:
        """Find out whether a write that failed with `error` was executed.

        `if_not_found` is the next step if no record is found.

        Raises:
            OutcomeUnknownError: the outcome cannot be decided.
            GatewayError: `error` itself, if the lookup confirms it.
        """
        grace = _seconds_to_appear(state, error, if_not_found)
        found = await self._look_up_write(state, error, grace, until=state.plan.until)
        if _says_gone(state, error) and (found.status is LookupStatus.NO_RECORD or found.record is True):
            raise error  # there was nothing to change, or (True) nothing to delete
        if found.status is not LookupStatus.EXECUTED and _is_absence(state, error):
            _keep_open(state, error)
            raise self.outcome_unknown(state, error) from error  # it exists: the response was to another request
        return found

    async def after_cancellation(self, state: CallState[Any], cancellation: BaseException) -> None:
        """Look up a cancelled write, which stays `state.unresolved` unless it was certainly executed.

        The observers receive the outcome, and `cancellation` gets a note about it.
        """
        lost = ConnectionLostError("cancelled", call=str(state.call))
        state.unresolved = self.outcome_unknown(state, lost)
        found: LookupResult[Any] | None = None

        async def look_up() -> None:
            nonlocal found
            found = await self._look_up_write(state, lost, _RESOLVE_SECONDS, cancelled=True)
            if found.status is LookupStatus.EXECUTED:
                state.unresolved = None
                await self._ledger_recorder.record_outcome(state.intent_id, "done", found.record)

        with suppress(Exception):
            await finish(look_up, LOOKUP_SECONDS)
        cancellation.add_note(_cancellation_note(state, found))

    def note_outcome(self, state: CallState[Any], cancellation: BaseException, record: Any) -> None:
        """Report the result of a call that was cancelled between its response and its end."""
        self._events.emit(OutcomeLookedUp(**state.facts, outcome=LookupOutcome.FOUND, error=None, cancelled=True))
        cancellation.add_note(_cancellation_note(state, LookupResult(LookupStatus.EXECUTED, record)))

    async def record_duplicate(self, state: CallState[Any]) -> None:
        """Look up the record that has a duplicate's id, and record the outcome of the duplicate in the ledger.

        A proxy may have sent the request twice, so an equal record may be the call's own. The intent stays open if the
        record cannot be read and compared within a few seconds.
        """
        if state.intent_id is None or state.call.resolver is None:
            return
        with anyio.move_on_after(LOOKUP_SECONDS), suppress(GatewayError):
            found = await self.find_once(state.call.resolver.lookup(), conclusive=False)
            if found.shows_effect:
                outcome = "done" if found.status is LookupStatus.EXECUTED else "refused"
                await self._ledger_recorder.record_outcome(state.intent_id, outcome, found.record)
                state.intent_id = None

    def unknown_if_executed(self, state: CallState[Any], error: GatewayError) -> GatewayError:
        """An `OutcomeUnknownError` if any attempt of a write may have been executed, otherwise `error`."""
        is_unresolved = state.may_have_been_executed and not state.call.repeat_effect.is_read
        return self.outcome_unknown(state, error) if is_unresolved else error

    def outcome_unknown(
        self, state: CallState[Any], error: GatewayError, failed: GatewayError | None = None
    ) -> OutcomeUnknownError:
        """Build the error for an unknown outcome; `failed` is the error of the lookup, if there was one."""
        facts = self._facts(state, error)
        if isinstance(error, MismatchedReplyError):
            return MismatchedWriteError(error.differences, **facts)
        reason = f"{error}; then its lookup failed: {failed}" if failed else str(error)
        return OutcomeUnknownError(reason, **facts)

    def _facts(self, state: CallState[Any], error: GatewayError) -> dict[str, Any]:
        call = state.call
        kept = state.without_body()  # the error and its traceback may be kept for a long time
        return {
            "call": str(call),
            "api_id": call.api_id,
            "sent": call.sent,
            "reached": state.reached or classify(error).reached,
            "resolve": partial(self._resolve_again, kept, copy(error)),
            "record_type": call.record_type,
        }

    async def _look_up_write(
        self,
        state: CallState[T],
        error: GatewayError,
        grace: float,
        *,
        conclusive: bool = False,
        cancelled: bool = False,
        until: float = math.inf,
    ) -> LookupResult[T]:
        """Look up whether a write was executed, and emit the event.

        A missing record counts as "not executed" only in a lookup that starts `grace` seconds from now or later. With
        `conclusive`, a list must also prove that the record does not exist. The lookup fails at the time `until`.
        """
        call, outcome, reason = state.call, LookupOutcome.UNKNOWN, error
        if state.plan.on_lookup is not None:
            state.plan.on_lookup()
        if self._events.wants_routine:
            self._events.emit(LookupStarted(**state.facts))
        try:
            found = await self._find(state, error, grace, conclusive=conclusive, until=until)
            if found.status is LookupStatus.UNPROVEN:
                found = _evaluate_unproven(state, error, found, conclusive=conclusive)
            if found.status in (LookupStatus.NOT_EXECUTED, LookupStatus.NO_RECORD):
                outcome = LookupOutcome.NOT_FOUND
                return found
            facts = self._facts(state, error)
            record = accept_record(
                found,
                generated_id=bool(call.resolver and call.resolver.generated_id),
                emit=self._events.emit,
                event_facts=state.facts,
                facts=facts,
            )
            outcome = LookupOutcome.FOUND
            return LookupResult(LookupStatus.EXECUTED, record)
        except OutcomeUnknownError as unknown:
            reason = unknown
            raise
        except GatewayError as failed:
            reason = failed
            if _is_only_refusal(state, error) and (not _may_be_of_another_call(state) or _confirms(failed, error)):
                raise error from (None if failed is error else failed)  # nothing shows that a copy was executed
            _keep_open(state, error)
            raise self.outcome_unknown(state, error, failed) from failed
        except BaseException:  # cancelled
            _keep_open(state, error)
            raise
        finally:
            unclear = reason if outcome is LookupOutcome.UNKNOWN else None
            self._events.emit(OutcomeLookedUp(**state.facts, outcome=outcome, error=unclear, cancelled=cancelled))

    async def _find(
        self, state: CallState[T], error: GatewayError, grace: float, *, conclusive: bool, until: float
    ) -> LookupResult[T]:
        resolver = state.call.resolver
        if resolver is None:
            if _is_only_refusal(state, error):
                raise error
            raise self.outcome_unknown(state, error) from error
        with anyio.CancelScope(deadline=until):
            return await self.find(resolver.lookup(), grace, conclusive=conclusive)
        raise DeadlineExceededError(state.plan.seconds, call=str(state.call))

    async def _resolve_again(self, state: CallState[T], error: GatewayError, wait: float) -> T | None:
        """Return the result of a write with an unknown outcome; None if it was certainly not executed.

        That is certain if the gateway proves that the record does not exist when the write is no longer in doubt.
        """
        check_numbers("seconds", minimum=0, finite=False, wait=wait)
        if state.call.resolver is not None and state.call.resolver.lookup().repeats_write:
            raise self.outcome_unknown(state, error)
        in_doubt = max(state.in_doubt_until - anyio.current_time(), 0.0)
        conclusive, grace = in_doubt <= wait, min(in_doubt, wait)
        with anyio.move_on_after(grace + self._timeout):
            found = await self._look_up_write(state, error, grace, conclusive=conclusive)
            if found.status is LookupStatus.EXECUTED or conclusive:
                return await self._record_resolution(state, found)
        raise self.outcome_unknown(state, error)

    async def _record_resolution(self, state: CallState[T], found: LookupResult[T]) -> T | None:
        outcome = "done" if found.status is LookupStatus.EXECUTED else "not_made"
        await self._ledger_recorder.record_outcome(state.intent_id, outcome, found.record)
        await self._terminals.forget_resolved(state.call.terminal_id, token=state.plan.token)
        return found.record

    async def find(self, lookup: Lookup[Any], grace: float, *, conclusive: bool) -> LookupResult[Any]:
        """Repeat a lookup for `grace` seconds, or until it finds the record."""
        until = anyio.current_time() + grace
        pauses = exponential_backoffs(first=0.05, longest=1.0)
        while True:
            is_last = anyio.current_time() >= until  # a response shows the state at the time of its request
            found = await self.find_once(lookup, grace + self._timeout, conclusive=conclusive and is_last)
            left = max(until - anyio.current_time(), 0.0)
            match found.status:
                case LookupStatus.EXECUTED if lookup.follow_up is not None:
                    return await self.find(lookup.follow_up(found.record), left, conclusive=conclusive)
                case LookupStatus.EXECUTED | LookupStatus.DIFFERENT_RECORD:
                    return found
                case LookupStatus.GONE if is_last:
                    raise contradiction(str(lookup))
                case _ if is_last:
                    return found
            await anyio.sleep(min(next(pauses), left))

    async def find_once(self, lookup: Lookup[T], seconds: float | None = None, *, conclusive: bool) -> LookupResult[T]:
        """Read the outcome of a write, and its confirmation if needed.

        A 404 alone does not prove that a record does not exist:

        - To send a write again under the same id, a 404 is sufficient.
        - To report that a write was not executed (`conclusive`), a list must confirm the 404.
        - To report that a deletion is done, a list must confirm the 404. If it contradicts it, the result is `GONE`.
        """
        seconds = self._timeout if seconds is None else seconds
        found: LookupResult[T] = await self._read(lookup, seconds)
        needs_confirmation = found.status is LookupStatus.GONE or (
            found.status is LookupStatus.NO_RECORD and conclusive
        )
        if lookup.confirmation is None or not needs_confirmation:
            return found
        confirmed: LookupResult[T] = await self._read(lookup.confirmation(), seconds)
        is_contradicted = found.status is LookupStatus.GONE and not confirmed.shows_effect
        return found if is_contradicted else confirmed


def contradiction(call: str) -> MalformedReplyError:
    """Build the error of a lookup whose result is `GONE`."""
    return MalformedReplyError("$", "the list has the record, but a read by its id does not find it", call=call)


def accept_record(
    found: LookupResult[T],
    *,
    generated_id: bool,
    emit: Callable[[Event], None],
    event_facts: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> T:
    """The record of an executed write; `facts` are the arguments of the error, such as `call` and `api_id`.

    A record that differs from what was sent is accepted only if the SDK generated its id: no other request has the id.

    Raises:
        MismatchedWriteError: the record differs. The caller chose its id, so another request may have created it.
    """
    record = cast("T", found.record)
    if found.status is LookupStatus.DIFFERENT_RECORD:
        if not generated_id:
            raise MismatchedWriteError(found.differences, record=cast("Any", record), **facts)
        emit(RecordDiffers(**event_facts, differences=found.differences))
    return record


def _cancellation_note(state: CallState[Any], found: LookupResult[Any] | None) -> str:
    outcome = "its outcome is unknown"
    if found is not None:
        outcome = "it was not found, but may still be executed"
        if found.status is LookupStatus.EXECUTED:
            outcome = f"it was executed (id {getattr(found.record, 'id', None)})"
    call = state.call
    named = f" (api id {call.api_id})" if call.api_id else ""
    return mask_text(f"{call}{named} was cancelled after it may have been sent: {outcome}")


def _evaluate_unproven(
    state: CallState[T], error: GatewayError, found: LookupResult[T], *, conclusive: bool
) -> LookupResult[T]:
    """Evaluate a record that does not show all that the call wrote.

    If the gateway accepted the call, it was executed: the gateway never shows those fields. If it refused the only
    request, the record does not show the contrary. If the response is lost, a call that can be repeated without a
    further effect is repeated.

    Raises:
        MalformedReplyError: the record decides nothing.
    """
    if isinstance(error, MalformedReplyError) and error.lacks_evidence:
        return LookupResult(LookupStatus.EXECUTED, found.record)
    can_be_repeated = state.call.repeat_effect is RepeatEffect.IDEMPOTENT and not conclusive
    if can_be_repeated or _is_only_refusal(state, error):
        return LookupResult(LookupStatus.NOT_EXECUTED)
    raise MalformedReplyError("$", "; ".join(found.differences), call=str(state.call))


def _is_absence(state: CallState[Any], error: GatewayError) -> bool:
    """Whether the answer to a change was that nothing was found."""
    is_change = state.call.repeat_effect in (RepeatEffect.IDEMPOTENT, RepeatEffect.UNNAMED)
    return is_change and not state.may_have_been_executed_before and says_absent(error)


def _says_gone(state: CallState[Any], error: GatewayError) -> bool:
    """Whether the only request was answered by "not found" or "deleted"."""
    is_deleted = isinstance(error, RecordDeletedError) and not state.may_have_been_executed_before
    return is_deleted or _is_absence(state, error)


def _is_only_refusal(state: CallState[Any], error: GatewayError) -> bool:
    """Whether the gateway itself refused the only request of a call.

    A duplicate does not count: a proxy may have sent a copy of this very call.
    """
    is_refusal = isinstance(error, StatusError) and error.is_from_gateway and not isinstance(error, DuplicateError)
    return is_refusal and not state.may_have_been_executed


def _may_be_of_another_call(state: CallState[Any]) -> bool:
    """Whether a refusal may belong to another call; one without a lookup has a connection of its own."""
    return state.is_on_reused_connection and state.call.resolver is not None


def _confirms(failed: GatewayError, error: GatewayError) -> bool:
    """Whether the response to a lookup leaves a refusal as it is.

    The record does not show the effect, or the gateway refuses the lookup as it refused the write, such as for a key.
    """
    if isinstance(failed, StatusError) and isinstance(error, StatusError):
        return failed.is_from_gateway and failed.status_code == error.status_code
    return isinstance(failed, MalformedReplyError)


def _keep_open(state: CallState[Any], error: GatewayError) -> None:
    """Record that the outcome is unclear: only the lookup could confirm the refusal, such as a 429 or a duplicate."""
    if not state.may_have_been_executed:
        state.record_failure(error, unclear=True)


def _seconds_to_appear(state: CallState[Any], error: GatewayError, if_not_found: NextStep) -> float:
    """The seconds after which a missing record means "not executed"."""
    if (isinstance(error, MalformedReplyError) and error.lacks_evidence) or _is_absence(state, error):
        return 0.0  # the gateway has answered
    if not state.may_have_been_executed and not isinstance(error, DuplicateError):
        return 0.0
    at_terminal = state.call.repeat_effect is RepeatEffect.TERMINAL and if_not_found is NextStep.UNKNOWN
    return LOOKUP_SECONDS if at_terminal else _RESOLVE_SECONDS
