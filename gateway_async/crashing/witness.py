"""Ledgers around a ledger: one that remembers what passes through it, and one for a gateway that has come to rest.

The memory is a file that outlives the process: what was settled is noted *before* the ledger is told, so that a call
of which neither says anything was lost by the ledger.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from gateway_async.crashing.report import Kept
from gateway_async.ledger import Intent, Ledger

__all__ = ["AtRest", "Witness", "read_witness"]


class Witness:
    """A ledger that notes what another one is told.

    Args:
        ledger: the other one.
        path: the file for the notes, one line of JSON for each.
    """

    def __init__(self, ledger: Ledger, path: Path) -> None:
        self._ledger = ledger
        self._path = path

    async def intend(self, intent: Intent) -> None:
        """Pass it on."""
        self._note(intent.id, call=intent.call, api_id=intent.api_id)
        await self._ledger.intend(intent)

    async def settle(self, intent_id: str, outcome: str, record_id: str | None = None) -> None:
        """Pass it on."""
        self._note(intent_id, outcome=outcome, record_id=record_id)
        await self._ledger.settle(intent_id, outcome, record_id)

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """What the other one says."""
        return await self._ledger.open_intents(terminal_id)

    async def aclose(self) -> None:
        """Close the other one."""
        await self._ledger.aclose()

    def _note(self, intent_id: str, **facts: str | None) -> None:
        with self._path.open("a", encoding="utf-8") as notes:
            notes.write(json.dumps({"id": intent_id, **facts}) + "\n")


class AtRest(Witness):
    """A ledger whose calls are certain: nothing of them is under way, as the sandbox has made sure."""

    async def open_intents(self, terminal_id: str | None = None) -> Sequence[Intent]:
        """The open intents, of which "not there" is the last word by now."""
        now = datetime.now(UTC)
        return [attrs.evolve(intent, certain_at=now) for intent in await super().open_intents(terminal_id)]


def read_witness(path: Path, was_open: Sequence[str], is_open: Sequence[str]) -> tuple[Kept, ...]:
    """What became of each call.

    Args:
        path: the notes.
        was_open: the intents that were open before the recovery.
        is_open: those that still are.
    """
    facts: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        note = json.loads(line)
        told = facts.setdefault(note.pop("id"), {})
        told.update(note)
    return tuple(_kept(intent_id, told, was_open, is_open) for intent_id, told in facts.items())


def _kept(intent_id: str, told: dict[str, Any], was_open: Sequence[str], is_open: Sequence[str]) -> Kept:
    settled = told.pop("outcome", "not_begun")
    outcome = "unknown" if intent_id in is_open else settled
    return Kept(outcome=outcome, recovered=intent_id in was_open, **told)
