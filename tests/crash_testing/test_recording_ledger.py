"""The recording of a ledger's entries, which survives its process."""

from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest

from gateway_async.crash_testing import CallOutcome
from gateway_async.crash_testing.recording_ledger import RecordingLedger, RecoveryLedger, read_recording
from gateway_async.ledger.protocol import Intent

NEVER = datetime(2999, 1, 1, tzinfo=UTC)


def intent(intent_id: str) -> Intent:
    """An intent of which nothing is certain for long."""
    return Intent(
        id=intent_id,
        call="POST /v2/transactions",
        resource="transactions",
        api_id=f"api-{intent_id}",
        location_id=None,
        terminal_id=None,
        sent_at=NEVER,
        conclusive_at=NEVER,
        sent={},
        outcome_query=None,
    )


class StoredRows:
    """A ledger in memory that stores intents, and fails to record the outcomes of some."""

    def __init__(self, *stubborn: str) -> None:
        self._stubborn = stubborn
        self.open: dict[str, Intent] = {}

    async def record_intent(self, new: Intent) -> None:
        """Keep it."""
        self.open[new.id] = new

    async def record_outcome(self, intent_id: str, _outcome: str, _record_id: str | None = None) -> None:
        """Forget it, or fail."""
        if intent_id in self._stubborn:
            raise OSError("full")
        del self.open[intent_id]

    async def open_intents(self, _terminal_id: str | None = None) -> list[Intent]:
        """Return the open intents."""
        return [*self.open.values()]

    async def aclose(self) -> None:
        """Hold nothing."""


@pytest.mark.anyio
async def test_recording(tmp_path: Path) -> None:
    """An entry is recorded before it is passed on: an outcome that was not written leaves the call open."""
    recording, inner = tmp_path / "recording", StoredRows("b")
    ledger = RecordingLedger(inner, recording)
    for name in "abc":
        await ledger.record_intent(intent(name))
    await ledger.record_outcome("a", "done", "r1")
    with pytest.raises(OSError, match="full"):
        await ledger.record_outcome("b", "refused")
    was_open = [each.id for each in await ledger.open_intents()]
    del inner.open["c"]  # lost by the ledger
    is_open = [each.id for each in await ledger.open_intents()]
    call = "POST /v2/transactions"
    assert read_recording(recording, was_open, is_open) == (
        CallOutcome(call=call, api_id="api-a", outcome="done", record_id="r1"),
        CallOutcome(call=call, api_id="api-b", outcome="unknown", recovered=True),
        CallOutcome(call=call, api_id="api-c", outcome="not_begun", recovered=True),
    )
    assert read_recording(tmp_path / "nothing", [], []) == ()


@pytest.mark.anyio
async def test_at_rest(tmp_path: Path) -> None:
    """After a kill no call is in progress, so an intent is conclusive at once, also an orphaned one."""
    inner = StoredRows()
    await inner.record_intent(attrs.evolve(intent("a"), orphaned=True))  # its process was killed
    (certain,) = await RecoveryLedger(inner, tmp_path / "notes").open_intents()
    assert certain.conclusive_at < NEVER
    assert not certain.orphaned  # an orphaned intent would be in doubt for `in_doubt_seconds`
