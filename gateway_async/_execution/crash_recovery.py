"""`CrashRecovery`: find the outcome of calls with open intents in a ledger.

It sends only reads. A missing record counts as "not executed" only when the call can no longer be in progress.
"""

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import anyio
import attrs

from gateway_async._execution.ledger_recorder import LedgerRecorder
from gateway_async._execution.outcome_resolver import confirmation_of
from gateway_async._wire.call import Call, DifferentRecord, Kind, NotExecuted
from gateway_async._wire.retry_policy import NextStep, decide
from gateway_async.errors import GatewayError, InvalidRequestError, MismatchedWriteError
from gateway_async.ledger.protocol import Intent, Recovered
from gateway_async.observe import Event, OutcomeLookedUp, RecordDiffers

__all__ = ["CrashRecovery", "LookupOf"]

LookupOf = Callable[[Mapping[str, Any]], "Call[Any] | None"]
"""Builds the lookup for a stored outcome query, or returns None if that is not possible."""

_AT_ONCE: Final = 32
_LONGEST_PAUSE: Final = 5.0
_EVENTS: Final = {"found": "found", "not_made": "not there", "unknown": "unknown"}


class CrashRecovery:
    """Resolves open intents.

    Args:
        ledger_recorder: the client's ledger.
        read: executes a lookup, with attempts and a deadline of its own.
        lookup_of: builds the lookup of an intent's outcome query.
        on_resolved: awaited when the outcome of an intent becomes known.
        tell: receives the events of the lookups.
    """

    def __init__(
        self,
        ledger_recorder: LedgerRecorder,
        read: Callable[[Call[Any]], Awaitable[Any]],
        lookup_of: LookupOf,
        on_resolved: Callable[[Intent], Awaitable[None]],
        tell: Callable[[Event], None],
    ) -> None:
        self._ledger_recorder = ledger_recorder
        self._read = read
        self._lookup_of = lookup_of
        self._on_resolved = on_resolved
        self._tell = tell
        self._places = anyio.Semaphore(_AT_ONCE)

    async def recover(self, wait: float) -> list[Recovered]:
        """Find the outcome of each open intent, the oldest first.

        Known outcomes are recorded in the ledger.

        Args:
            wait: maximum seconds to wait for calls that may still be executed.

        Raises:
            GatewayError: the ledger cannot be read.
        """
        left_open = await self._ledger_recorder.left_open()
        until = anyio.current_time() + wait
        found: dict[str, Recovered] = {}

        async def recover_one(intent: Intent, certain: float) -> None:
            found[intent.id] = await self._recovered(intent, certain, until)

        async with anyio.create_task_group() as tasks:
            for intent, certain_in in left_open:
                tasks.start_soon(recover_one, intent, anyio.current_time() + certain_in)
        return [found[intent.id] for intent, _ in left_open]

    async def _recovered(self, intent: Intent, certain: float, until: float) -> Recovered:
        answer = await self._answer(intent, certain, until)
        if answer.outcome != "unknown":
            await self._ledger_recorder.record_outcome(
                intent.id, "done" if answer.outcome == "found" else "not_made", answer.record
            )
            await self._on_resolved(intent)
        self._tell(OutcomeLookedUp(call=intent.call, api_id=intent.api_id, outcome=_EVENTS[answer.outcome]))
        return Recovered(
            call=intent.call,
            resource=intent.resource,
            api_id=intent.api_id,
            outcome=answer.outcome,
            record=answer.record,
            error=answer.error,
            sent_at=intent.sent_at,
            sent=intent.sent,
        )

    async def _answer(self, intent: Intent, certain: float, until: float) -> "_Answer":
        """Repeat the lookup until its result is final or the time is over."""
        if self._ledger_recorder.is_elsewhere(intent):
            said = f"it was sent to {intent.gateway}: recover it with a client of that gateway"
            return _Answer("unknown", error=InvalidRequestError(said))
        lookup = None if intent.outcome_query is None else self._lookup_of(intent.outcome_query)
        if lookup is None:
            return _Answer("unknown")
        pause = 0.25
        while True:
            answer = await self._look_up(intent, lookup, certain)
            now = anyio.current_time()
            if answer.is_final or now >= until:
                return answer
            pause = min(pause * 2, _LONGEST_PAUSE)
            await anyio.sleep(min(pause, until - now, certain - now if certain > now else math.inf))

    async def _look_up(self, intent: Intent, lookup: Call[Any], certain: float) -> "_Answer":
        async with self._places:
            conclusive = anyio.current_time() >= certain
            try:
                found = await self._read(lookup)
                if confirmation := confirmation_of(lookup, found, conclusive=conclusive):
                    found = await self._read(confirmation)
            except GatewayError as error:
                return _Answer("unknown", error=error, is_final=not _passes(error))
        if isinstance(found, NotExecuted):
            return _Answer("not_made") if conclusive else _Answer("unknown", is_final=False)
        return self._different(intent, found) if isinstance(found, DifferentRecord) else _Answer("found", record=found)

    def _different(self, intent: Intent, found: DifferentRecord[Any]) -> "_Answer":
        """Accept a differing record only if the SDK generated its id.

        With an id that the caller chose, the record may be another request's.
        """
        if intent.outcome_query and intent.outcome_query.get("made_up_id"):
            self._tell(RecordDiffers(call=intent.call, api_id=intent.api_id, differences=found.differences))
            return _Answer("found", record=found.record)
        error = MismatchedWriteError(
            found.differences, call=intent.call, api_id=intent.api_id, sent=intent.sent, record=found.record
        )
        return _Answer("unknown", error=error)


def _passes(error: GatewayError) -> bool:
    """Return whether a later lookup may succeed.

    The retries of the lookup itself have already failed.
    """
    return not isinstance(error, InvalidRequestError) and decide(Kind.READ, error).step is NextStep.AGAIN


@attrs.frozen
class _Answer:
    """Result of a lookup; `is_final` if another lookup would find nothing new."""

    outcome: str
    record: Any = None
    error: GatewayError | None = None
    is_final: bool = True
