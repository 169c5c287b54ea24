"""`Inbox`: the protocol of a durable store of postbacks, and the values that it returns.

An inbox keeps each postback once, until it is handled and for a time afterwards. It guarantees three things:

- A postback that `store` has stored is not lost.
- Postbacks of one record are handled one after the other, in order of arrival.
- Statements that a handler runs in the inbox's own database commit in the transaction that marks the postback as
  handled.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import attrs

from gateway_async.models.postbacks import Postback
from gateway_async.telemetry.health import InboxHealth

Statement = tuple[str, tuple[Any, ...]]
"""An SQL statement and its parameters."""


class PostbackState(StrEnum):
    """The state of a postback in an inbox."""

    WAITING = "waiting"
    """To be handled, now or after a pause."""
    HANDLED = "handled"
    SUPERSEDED = "superseded"
    """A newer state of its record was handled before."""
    DEAD = "dead"
    """Its handlers have failed too often. `replay` makes it waiting again; `discard` gives it up."""
    DISCARDED = "discarded"
    """Given up by `discard` after it was dead."""


@attrs.frozen(kw_only=True)
class StoredPostback:
    """A postback in an inbox.

    Attributes:
        number: its number in the inbox, in order of arrival.
        postback: the postback itself.
        state: its state in the inbox.
        received_at: when it was first stored, UTC.
        attempts: how often its handlers were started.
        error: the error of the last attempt, masked; "" after success.
        due_at: when it may be handled, UTC; None unless it is waiting. For a claimed postback, it is when the claim
            expires. A postback that waits behind another one of its record is handled after that one.
    """

    number: int
    postback: Postback[Any]
    state: PostbackState
    received_at: datetime
    attempts: int
    error: str
    due_at: datetime | None


@attrs.frozen(kw_only=True)
class Claim:
    """A postback that one worker may handle for a limited time.

    Attributes:
        number: the number of the stored postback.
        postback: the postback itself.
        lock_token: proves that the claim is still valid; after it has expired, another worker may hold the postback.
        attempt: how often handling was started, including this time.
        superseded: whether a newer state of the record has been handled.
    """

    number: int
    postback: Postback[Any]
    lock_token: str
    attempt: int
    superseded: bool


class Inbox(Protocol):
    """Protocol of a durable store of postbacks, implemented by `SqliteInbox` and `PostgresInbox`.

    You can implement your own. Every method raises `InboxError` when the store cannot be used.
    """

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback durably before returning.

        A postback with `caught_up` true is stored in two cases:

        - No stored postback of its record and resource has the same or a later `modified_ts`.
        - It is an UPDATE. The latest stored one has the same `modified_ts`, other contents, and is over a minute old.

        A delivered postback is not stored if `catch_up` has already found its change. This applies to a CREATE of a
        record whose CREATE was found, and to another postback with the same second and the same contents.

        Returns:
            Whether it was new: postbacks with the same `key` are stored once.
        """
        ...

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks for a number of seconds, the longest due first.

        A record yields only its oldest waiting postback, and only if no postback of this record is claimed. Postbacks
        without a record id do not wait for each other.
        """
        ...

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims to a number of seconds from now; lost claims stay lost."""
        ...

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims as if they had never been made.

        The postbacks are due at once, and the attempt is not counted.
        """
        ...

    async def complete(self, claim: Claim, state: PostbackState, statements: Sequence[Statement] = ()) -> bool:
        """Mark a postback as handled, and execute `statements` with it.

        Returns:
            Whether the claim was still valid. If not, nothing was written.

        Raises:
            Exception: any error other than `InboxError`: a statement failed. Nothing was written, and the
                claim is still valid.
        """
        ...

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler.

        The postback is due again in `retry_in` seconds, or dead if that is None.
        """
        ...

    async def list(
        self, state: PostbackState | None = None, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredPostback]:
        """List stored postbacks with numbers above `after`, in order of their number.

        Lists one state only if `state` is given.
        """
        ...

    async def health(self) -> InboxHealth:
        """Count what is waiting, in progress and dead, without changing anything."""
        ...

    async def replay(self, number: int) -> bool:
        """Make a postback waiting again, whatever its state, and reset its attempts.

        If a newer state of its record has been handled, it becomes superseded.

        Returns:
            Whether there is a postback with that number.
        """
        ...

    async def discard(self, number: int) -> bool:
        """Give up a dead postback.

        It is deleted at the same age as handled ones. Until then, neither a repeated delivery nor `catch_up` stores
        it again.

        Returns:
            Whether there was a dead postback with that number.
        """
        ...

    def reopen(self) -> None:
        """Make the inbox usable again after `aclose`; no effect while it is open."""
        ...

    async def aclose(self) -> None:
        """Close the store; a second close has no effect."""
        ...
