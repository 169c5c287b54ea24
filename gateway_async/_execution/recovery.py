"""`CrashRecovery`: find the outcome of calls with open intents in a ledger.

It sends only reads. A missing record counts as "not executed" only when the call can no longer be in progress.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
import attrs

from gateway_async._backoff import exponential_backoffs
from gateway_async._execution.events import EventEmitter
from gateway_async._execution.lookup import OutcomeLookup, accept_record, contradiction
from gateway_async._execution.recorder import LedgerRecorder
from gateway_async._execution.terminals import TerminalQueues
from gateway_async._wire.call import Lookup, LookupResult, LookupStatus, RepeatEffect
from gateway_async._wire.retry_policy import decide
from gateway_async.errors import GatewayError, InvalidRequestError, MalformedReplyError, MismatchedWriteError
from gateway_async.ledger.protocol import Intent, Recovered
from gateway_async.observe import LookupOutcome, NextStep, OutcomeLookedUp

LookupOf = Callable[[Mapping[str, Any]], "Lookup[Any] | None"]
"""Builds the lookup for a stored outcome query, or returns None if that is not possible."""

_LAST_LOOKUPS_SECONDS: Final = 30.0
"""Time for lookups that fail temporarily when the last call can no longer be executed."""

_MAX_CONCURRENT: Final = 32
_EVENT_OUTCOMES: Final = {
    "found": LookupOutcome.FOUND,
    "not_made": LookupOutcome.NOT_FOUND,
    "unknown": LookupOutcome.UNKNOWN,
}


class CrashRecovery:
    """Resolves open intents; a terminal is free again when the outcome of its last call becomes known."""

    def __init__(
        self,
        ledger_recorder: LedgerRecorder,
        lookup: OutcomeLookup,
        lookup_of: LookupOf,
        terminals: TerminalQueues,
        events: EventEmitter,
    ) -> None:
        self._ledger_recorder = ledger_recorder
        self._lookup = lookup
        self._lookup_of = lookup_of
        self._terminals = terminals
        self._events = events
        self._limiter = anyio.Semaphore(_MAX_CONCURRENT)

    async def recover(self, wait: float | None) -> list[Recovered]:
        """Find and record the outcome of each open intent, the oldest first; `wait` as in `CallExecutor.recover`."""
        open_intents = await self._ledger_recorder.open_intents()
        if wait is None:
            wait = max((conclusive_in for _, conclusive_in in open_intents), default=0.0) + _LAST_LOOKUPS_SECONDS
        until = anyio.current_time() + wait
        found: dict[str, Recovered] = {}

        async def recover_one(intent: Intent, conclusive_at: float) -> None:
            found[intent.id] = await self._recover_intent(intent, conclusive_at, until)

        async with anyio.create_task_group() as tasks:
            for intent, conclusive_in in open_intents:
                tasks.start_soon(recover_one, intent, anyio.current_time() + conclusive_in)
        return [found[intent.id] for intent, _ in open_intents]

    async def _recover_intent(self, intent: Intent, conclusive_at: float, until: float) -> Recovered:
        resolution = await self._resolve_intent(intent, conclusive_at, until)
        if resolution.outcome != "unknown":
            await self._ledger_recorder.record_outcome(
                intent.id, "done" if resolution.outcome == "found" else "not_made", resolution.record
            )
            await self._terminals.forget_resolved(intent.terminal_id, intent_id=intent.id)
        outcome = _EVENT_OUTCOMES[resolution.outcome]
        self._events.emit(OutcomeLookedUp(**_event_facts(intent), outcome=outcome, error=resolution.error))
        return Recovered(
            call=intent.call,
            resource=intent.resource,
            api_id=intent.api_id,
            outcome=resolution.outcome,
            record=resolution.record,
            error=resolution.error,
            sent_at=intent.sent_at,
            sent=intent.sent,
        )

    async def _resolve_intent(self, intent: Intent, conclusive_at: float, until: float) -> "_Resolution":
        """Repeat the lookup until its result is final."""
        if self._ledger_recorder.is_from_other_gateway(intent):
            reason = f"it was sent to {intent.gateway}: recover it with a client of that gateway"
            return _Resolution("unknown", error=InvalidRequestError(reason))
        lookup = None if intent.outcome_query is None else self._lookup_of(intent.outcome_query)
        if lookup is None:
            return _Resolution("unknown", error=InvalidRequestError("no lookup shows the outcome of this call"))
        pauses = exponential_backoffs(first=0.5, longest=5.0)
        while True:
            resolution = await self._look_up(intent, lookup, conclusive_at)
            now = anyio.current_time()
            if resolution.is_final or now >= until:
                return resolution
            await anyio.sleep(min(next(pauses), until - now, conclusive_at - now if conclusive_at > now else math.inf))

    async def _look_up(self, intent: Intent, lookup: Lookup[Any], conclusive_at: float) -> "_Resolution":
        async with self._limiter:
            conclusive = anyio.current_time() >= conclusive_at
            try:
                found = await self._lookup.find_once(lookup, conclusive=conclusive)
                if found.shows_effect:
                    return _Resolution("found", record=self._accept(intent, found))
                if found.status is LookupStatus.UNPROVEN:
                    return _Resolution("unknown", error=MalformedReplyError("$", "; ".join(found.differences)))
                if found.status is LookupStatus.GONE:
                    return _Resolution("unknown", error=contradiction(str(lookup)), is_final=False)
                if conclusive:
                    return self._not_made(intent, found.status)
                return _Resolution("unknown", error=_in_doubt(conclusive_at), is_final=False)
            except GatewayError as error:
                return _Resolution("unknown", error=error, is_final=not _is_transient(error))

    def _not_made(self, intent: Intent, status: LookupStatus) -> "_Resolution":
        if status is LookupStatus.NO_RECORD and self._ledger_recorder.is_from_other_user(intent):
            reason = "another user sent it, whose records this one may not see: recover it with that user, or by hand"
            return _Resolution("unknown", error=InvalidRequestError(reason))
        return _Resolution("not_made")

    def _accept(self, intent: Intent, found: LookupResult[Any]) -> Any:
        generated_id = bool(intent.outcome_query and intent.outcome_query.get("generated_id"))
        facts = {"call": intent.call, "api_id": intent.api_id, "sent": intent.sent}
        return accept_record(
            found, generated_id=generated_id, emit=self._events.emit, event_facts=_event_facts(intent), facts=facts
        )


def _event_facts(intent: Intent) -> dict[str, Any]:
    return {"call": intent.call, "api_id": intent.api_id, "terminal_id": intent.terminal_id}


def _in_doubt(conclusive_at: float) -> GatewayError:
    left = max(conclusive_at - anyio.current_time(), 0.0)
    return GatewayError(f"it was not found, and may still be executed for {left:.0f} s")


def _is_transient(error: GatewayError) -> bool:
    """Whether a later lookup may succeed; the retries of this one have failed."""
    if isinstance(error, InvalidRequestError | MismatchedWriteError):  # a record that differs will still differ
        return False
    return decide(RepeatEffect.READ, error).step is NextStep.AGAIN


@attrs.frozen
class _Resolution:
    """Result of a lookup.

    Attributes:
        outcome: `"found"`, `"not_made"` or `"unknown"`, as in `Recovered`.
        record: the record that was found.
        error: why the outcome is unknown.
        is_final: whether another lookup would find nothing new.
    """

    outcome: str
    record: Any = None
    error: GatewayError | None = None
    is_final: bool = True
