"""The operations of a ledger's writer, whatever the database."""

from datetime import datetime

import attrs

__all__ = ["OpenIntents", "Outcome"]


@attrs.frozen
class OpenIntents:
    """A query for the open intents, of all terminals or of one."""

    terminal_id: str | None


@attrs.frozen
class Outcome:
    """The outcome of an intent; the fields are those of `Ledger.record_outcome`."""

    intent_id: str
    outcome: str
    record_id: str | None
    resolved_at: datetime
