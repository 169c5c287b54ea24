"""`HandlerResults`: counts of handled and failed postbacks in this process."""

from datetime import UTC, datetime

import attrs


@attrs.define(eq=False)
class HandlerResults:
    """The results of handlers since the receiver was created.

    Attributes:
        handled: postbacks that were handled.
        failed: attempts in which a handler failed.
        last_handled_at: when the last one was handled, UTC; None before.
    """

    handled: int = 0
    failed: int = 0
    last_handled_at: datetime | None = None

    def record_success(self) -> None:
        """Count a handled postback."""
        self.handled += 1
        self.last_handled_at = datetime.now(UTC)

    def record_failure(self) -> None:
        """Count a failed attempt."""
        self.failed += 1
