"""`ReceiverHealth`: the results of a postback receiver, and the load of its inbox at one moment."""

from collections.abc import Mapping
from datetime import datetime

import attrs

__all__ = ["InboxHealth", "ReceiverHealth"]


@attrs.frozen(kw_only=True)
class InboxHealth:
    """The load of an inbox at one moment, for all its processes together.

    Attributes:
        waiting: postbacks that are not handled yet, with those in progress. This is the depth of the inbox.
        in_progress: postbacks that a worker is handling now.
        retrying: records whose next postback has failed and waits for its retry.
        dead: postbacks whose handlers have failed too often.
        oldest_seconds: seconds since the oldest waiting postback was stored; None if nothing waits.
    """

    waiting: int
    in_progress: int
    retrying: int
    dead: int
    oldest_seconds: float | None


@attrs.frozen(kw_only=True)
class ReceiverHealth:
    """The results of a receiver since it was made, and the load of its inbox.

    Attributes:
        responses: HTTP status → responses of this receiver. Requests that your own code parses are not counted.
        handled: postbacks that this receiver has handled.
        failed: attempts of this receiver in which a handler failed.
        last_handled_at: when it last handled a postback, UTC; None before the first.
        is_working: whether this process handles the postbacks of the inbox.
        inbox: the load of the inbox; None without an inbox, or if it cannot be read.
        inbox_problem: why the inbox cannot be read; None if it can, or without an inbox.
    """

    responses: Mapping[int, int] = attrs.field(hash=False)
    handled: int
    failed: int
    last_handled_at: datetime | None
    is_working: bool
    inbox: InboxHealth | None
    inbox_problem: str | None

    @property
    def accepted(self) -> int:
        """Requests that were handled or stored."""
        return self.responses.get(204, 0)

    @property
    def rejected(self) -> int:
        """Requests that got another status than 204."""
        return sum(self.responses.values()) - self.accepted
