"""The operations of a ledger's writer, whatever the database."""

from datetime import UTC, datetime, timedelta
from typing import Final

import attrs

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@attrs.frozen
class OpenIntents:
    """A query for the open intents, of all terminals or of one."""

    terminal_id: str | None


@attrs.frozen
class RecordedOutcome:
    """The outcome of an intent; the fields are those of `Ledger.record_outcome`."""

    intent_id: str
    outcome: str
    record_id: str | None
    resolved_at: datetime


@attrs.frozen
class EntriesAfter:
    """A query for a page of intents, open and resolved, in the order of their ids.

    Attributes:
        intent_id: the page begins after this id.
        limit: maximum number of intents.
    """

    intent_id: str
    limit: int


def id_before(moment: datetime) -> str:
    """Return a text that sorts before all ids from `moment` on.

    An id begins with the microseconds since 1970 of `Intent.sent_at`, as 14 hexadecimal digits.
    """
    return f"{max(moment - _EPOCH, timedelta()) // timedelta(microseconds=1):014x}"
