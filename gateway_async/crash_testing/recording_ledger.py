"""Wrappers of a ledger: one that records all calls to it, and one for recovery when no request is in progress.

The recording is a file that survives the process. Each entry is written *before* it is passed to the wrapped ledger.
So an entry that the wrapped ledger does not have was lost by that ledger.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import attrs

from gateway_async.crash_testing.report import CallOutcome
from gateway_async.ledger.protocol import Intent, Ledger
from gateway_async.ledger.store import PostgresLedger

_LONGEST_RUN: Final = timedelta(days=1)


@attrs.frozen
class RecordingLedger:
    """Ledger that records each intent and outcome before it passes them to another ledger.

    Args:
        ledger: the wrapped ledger.
        path: the file of the recording, with one line of JSON for each entry.
    """

    _ledger: Ledger
    _path: Path

    async def record_intent(self, intent: Intent) -> None:
        """Record an intent and pass it on."""
        self._record(intent.id, call=intent.call, api_id=intent.api_id)
        await self._ledger.record_intent(intent)

    async def record_outcome(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
        """Record an outcome and pass it on."""
        self._record(intent_id, outcome=outcome, record_id=record_id)
        await self._ledger.record_outcome(intent_id, outcome, record_id)

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Read the open intents of the wrapped ledger."""
        return await self._ledger.open_intents(terminal_id)

    async def aclose(self) -> None:
        """Close the wrapped ledger."""
        await self._ledger.aclose()

    def _record(self, intent_id: str, **facts: str | None) -> None:
        with self._path.open("a", encoding="utf-8") as recording:
            recording.write(json.dumps({"id": intent_id, **facts}) + "\n")


class RecoveryLedger(RecordingLedger):
    """Ledger for a sandbox without requests in progress, where every lookup is conclusive at once."""

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """Read the open intents, with conclusive lookups even for calls at terminals.

        A database can still have the connection of a killed process, whose calls `open_intents` then leaves out.
        """
        now = datetime.now(UTC)
        if isinstance(self._ledger, PostgresLedger) and terminal_id is None:
            entries = [stored async for stored in self._ledger.entries(now - _LONGEST_RUN)]
            intents: Sequence[Intent] = [stored.intent for stored in entries if stored.outcome is None]
        else:
            intents = await super().open_intents(terminal_id)
        return [attrs.evolve(intent, conclusive_at=now, orphaned=False, terminal_id=None) for intent in intents]


def read_recording(path: Path, was_open: Sequence[str], is_open: Sequence[str]) -> tuple[CallOutcome, ...]:
    """Read the outcome of each call from a recording.

    Args:
        path: the file of the recording.
        was_open: the ids of the intents that were open before the recovery.
        is_open: the ids of the intents that are still open.
    """
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines() if path.exists() else [])
    facts: dict[str, dict[str, Any]] = {}
    for entry in entries:
        intent_id = entry.pop("id")
        not_begun = {"outcome": "not_begun", "recovered": intent_id in was_open}
        facts[intent_id] = facts.get(intent_id, not_begun) | entry
    for intent_id in facts.keys() & {*is_open}:
        facts[intent_id]["outcome"] = "unknown"
    return tuple(CallOutcome(**fields) for fields in facts.values())
