"""`OutcomeResolver`: find the outcome of a write whose response was lost.

It sends only lookups. If they cannot decide the outcome, it raises `OutcomeUnknownError`.
"""

from collections.abc import Awaitable, Callable
from copy import copy
from functools import partial
from typing import Any, Final, Literal, TypeVar, cast

import anyio

from gateway_async._execution.call_state import LOOKUP_SECONDS, CallState, NotExecutedError
from gateway_async._execution.ledger_recorder import LedgerRecorder
from gateway_async._wire.call import GONE, NO_RECORD, NOT_EXECUTED, Call, DifferentRecord, Kind, NotExecuted
from gateway_async._wire.retry_policy import NextStep, classify
from gateway_async.errors import (
    ConnectionLostError,
    GatewayError,
    InvalidRequestError,
    MalformedReplyError,
    MismatchedReplyError,
    MismatchedWriteError,
    OutcomeUnknownError,
)
from gateway_async.models.record import Record
from gateway_async.observe import Event, OutcomeLookedUp, RecordDiffers

__all__ = ["OutcomeResolver", "confirmation_of"]

T = TypeVar("T")

_RESOLVE_SECONDS: Final = 2.0
"""Seconds in which a healthy gateway shows the record of a write that it has received."""


class OutcomeResolver:
    """Finds the outcome of writes.

    Args:
        read: executes a lookup, with attempts of its own.
        timeout: seconds for each read of a lookup.
        max_attempts: maximum number of attempts for each read.
        refuse: raises `NotSentError` if the client is closed, or belongs to another event loop.
        ledger_recorder: records outcomes that become known after their call has ended.
        on_resolved: awaited when such an outcome becomes known.
        tell: receives the events of the lookups.
    """

    def __init__(
        self,
        read: Callable[[CallState[Any]], Awaitable[Any]],
        *,
        timeout: float,
        max_attempts: int,
        refuse: Callable[[Call[Any]], None],
        ledger_recorder: LedgerRecorder,
        on_resolved: Callable[[CallState[Any]], Awaitable[None]],
        tell: Callable[[Event], None],
    ) -> None:
        self._read = read
        self._timeout = timeout
        self._max_attempts = max_attempts
        self._refuse = refuse
        self._ledger_recorder = ledger_recorder
        self._on_resolved = on_resolved
        self._tell = tell

    async def resolve(self, state: CallState[T], error: GatewayError, if_not_found: NextStep) -> T:
        """Find the outcome of a write that failed with `error`.

        `if_not_found` is the next step if no record is found.

        Raises:
            NotExecutedError: no record was found, and the write may be sent again.
            OutcomeUnknownError: the outcome cannot be decided.
            GatewayError: `error` itself, if no record was found and the write must not be repeated.
        """
        found = await self._look_up_write(state, error, _resolve_seconds(state, if_not_found))
        if found is not NOT_EXECUTED:
            return found
        match if_not_found:
            case NextStep.AGAIN:
                raise NotExecutedError(error)
            case NextStep.STOP:
                raise error
            case _:
                raise self.unknown(state, error) from error

    async def resolve_cancelled(self, state: CallState[Any]) -> None:
        """Find the outcome of a cancelled write; only the observers receive it."""
        cancelled = ConnectionLostError("cancelled", call=str(state.call))
        state.unresolved = self.unknown(state, cancelled)
        with anyio.move_on_after(LOOKUP_SECONDS, shield=True):
            try:
                found = await self._look_up_write(state, cancelled, _RESOLVE_SECONDS, cancelled=True)
            except GatewayError:
                return  # the event of the lookup says "unknown"
            if found is not NOT_EXECUTED:
                state.unresolved = None
                await self._ledger_recorder.record_outcome(state.intent_id, "done", found)

    def final_error(self, state: CallState[Any], error: GatewayError) -> GatewayError:
        """Return the last attempt's error, or an unknown outcome.

        The outcome is unknown if any attempt of a write may have been executed.
        """
        doubtful = state.may_have_been_sent and not state.call.kind.is_read
        return self.unknown(state, error) if doubtful else error

    def unknown(
        self, state: CallState[Any], error: GatewayError, failed: GatewayError | None = None
    ) -> OutcomeUnknownError:
        """Build the error for an unknown outcome, which can look it up again.

        `failed` is the error of the lookup, if there was one.
        """
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
        }

    async def _look_up_write(
        self,
        state: CallState[T],
        error: GatewayError,
        settle: float,
        *,
        conclusive: bool = False,
        cancelled: bool = False,
    ) -> T | Literal[NotExecuted.NOT_EXECUTED]:
        """Look up the result of a write.

        Returns `NOT_EXECUTED` only after a lookup that began at least `settle` seconds from now. With `conclusive`, a
        list must also prove that the record does not exist.
        """
        call, outcome = state.call, "unknown"
        state.on_lookup()
        try:
            if call.lookup is None:
                raise self.unknown(state, error) from error
            found: Any = await self._run_lookup(call.lookup, settle, conclusive=conclusive)
            if isinstance(found, DifferentRecord):
                found = self._accept(state, error, found)
            outcome = "not there" if found is NOT_EXECUTED else "found"
        except OutcomeUnknownError:
            raise
        except GatewayError as failed:
            if not state.may_have_been_sent:  # such as a 429, which only the lookup could confirm
                state.record_failure(error, unclear=True)
            raise self.unknown(state, error, failed) from failed
        else:
            result: T | Literal[NotExecuted.NOT_EXECUTED] = found
            return result
        finally:
            self._tell(OutcomeLookedUp(call=str(call), api_id=call.api_id, outcome=outcome, cancelled=cancelled))

    def _accept(self, state: CallState[T], error: GatewayError, found: DifferentRecord[T]) -> T:
        """Return a record that differs from what was sent.

        Its id must be one that only this call can have sent.

        Raises:
            MismatchedWriteError: the caller chose the id, so an earlier request may have created the record.
        """
        call = state.call
        if not call.made_up_id:
            facts = self._facts(state, error)
            raise MismatchedWriteError(found.differences, record=cast("Record", found.record), **facts)
        self._tell(RecordDiffers(call=str(call), api_id=call.api_id, differences=found.differences))
        return found.record

    async def _run_lookup(self, lookup: Call[Any], settle: float, *, conclusive: bool) -> Any:
        until = anyio.current_time() + settle
        wait = 0.05
        while True:
            is_last = anyio.current_time() >= until  # a response shows the state at the time of its request
            found = await self._send_lookup(lookup, settle + self._timeout)
            left = max(until - anyio.current_time(), 0.0)
            is_done = not isinstance(found, NotExecuted)
            if is_done and lookup.follow_up is not None:
                return await self._run_lookup(lookup.follow_up(found), left, conclusive=conclusive)
            if is_done or is_last:
                confirmation = confirmation_of(lookup, found, conclusive=conclusive)
                confirmed = await self._send_lookup(confirmation, self._timeout) if confirmation else found
                if not isinstance(confirmed, NotExecuted):
                    return confirmed
                if found is not GONE:
                    return NOT_EXECUTED
                if is_last:
                    reason = "the list has the record, and by its id there is none"
                    raise MalformedReplyError("$", reason, call=str(confirmation))
            await anyio.sleep(min(wait, left))
            wait = min(wait * 2, 1.0)

    async def _send_lookup(self, lookup: Call[Any], seconds: float) -> Any:
        return await self._read(CallState(lookup.as_lookup(), seconds, self._max_attempts))

    async def _resolve_again(self, state: CallState[T], error: GatewayError, wait: float) -> T | None:
        """Return the result of a write with an unknown outcome.

        Returns None if the write was certainly not executed. That is certain if the gateway proves that the record does
        not exist, after the time in which it may still execute what it received.
        """
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not wait >= 0:
            raise InvalidRequestError("wait: must be a number of seconds from 0")
        self._refuse_resolving(state, error)
        in_doubt = max(state.may_arrive_until - anyio.current_time(), 0.0)
        conclusive, patience = in_doubt <= wait, min(in_doubt, wait)
        with anyio.move_on_after(patience + self._timeout):
            found = await self._look_up_write(state, error, patience, conclusive=conclusive)
            if found is not NOT_EXECUTED or conclusive:
                return await self._end_doubt(state, found)
        raise self.unknown(state, error)

    async def _end_doubt(self, state: CallState[T], found: T | Literal[NotExecuted.NOT_EXECUTED]) -> T | None:
        result, outcome = (None, "not_made") if found is NOT_EXECUTED else (found, "done")
        await self._ledger_recorder.record_outcome(state.intent_id, outcome, result)
        await self._on_resolved(state)
        return result

    def _refuse_resolving(self, state: CallState[Any], error: GatewayError) -> None:
        call = state.call
        if call.lookup is not None and call.lookup.has_side_effects:
            raise self.unknown(state, error)
        try:
            self._refuse(call)
        except GatewayError as refusal:
            raise self.unknown(state, error, refusal) from None


def confirmation_of(lookup: Call[Any], found: Any, *, conclusive: bool) -> Call[Any] | None:
    """Build the list read that must confirm a lookup, if one is needed.

    A 404 alone does not prove that a record does not exist. It is sufficient to send a write again under the same id.
    It is not sufficient to report that a write was not executed, or that a deletion is done.
    """
    is_claim = found is GONE or (found is NO_RECORD and conclusive)
    return lookup.confirmation() if lookup.confirmation and is_claim else None


def _resolve_seconds(state: CallState[Any], if_not_found: NextStep) -> float:
    """Return the seconds after which a missing record means "not executed"."""
    if not state.may_have_been_sent:
        return 0.0
    at_terminal = state.call.kind is Kind.TERMINAL and if_not_found is NextStep.UNKNOWN
    return LOOKUP_SECONDS if at_terminal else _RESOLVE_SECONDS
