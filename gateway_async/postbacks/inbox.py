"""What an inbox keeps: each postback once, until it is handled, and for a time afterwards.

The law of this file: a postback that `put` has taken is not lost; of one record, the postbacks are handled one after
the other, in the order in which they came; and what a handler writes into the inbox's own database is there exactly
if the postback counts as handled.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import attrs

from gateway_async.models.postbacks import Postback

__all__ = ["Claim", "Inbox", "Letter", "LetterState", "Write"]

Write = tuple[str, tuple[Any, ...]]
"""An SQL statement and its values."""


class LetterState(StrEnum):
    """What became of a postback in an inbox."""

    WAITING = "waiting"
    """It is to be handled, now or after a pause."""
    HANDLED = "handled"
    SUPERSEDED = "superseded"
    """A newer state of its record had been handled before."""
    DEAD = "dead"
    """Its handler has failed too often; `replay` has it handled again, `discard` gives it up."""
    DISCARDED = "discarded"
    """It was dead, and somebody has said that it is not to be handled any more."""


@attrs.frozen(kw_only=True)
class Letter:
    """A postback in an inbox.

    Attributes:
        number: its own, in the order in which they came.
        came_at: when it was first stored, UTC.
        attempts: how often a handler was begun.
        error: how the last one ended, masked; "" for well.
        due_at: when it may be handled, or handled by another if its handler's process is gone, UTC; None unless it
            waits. What waits behind another of its record may be handled after that one.
    """

    number: int
    postback: Postback[Any]
    state: LetterState
    came_at: datetime
    attempts: int
    error: str
    due_at: datetime | None


@attrs.frozen(kw_only=True)
class Claim:
    """A postback that is its claimer's to handle, for a time.

    Attributes:
        number: of the letter.
        token: what proves that the claim still stands; a claim that has run out may be somebody else's.
        attempt: how often handling was begun, this time included.
        superseded: whether a newer state of the record has been handled.
    """

    number: int
    postback: Postback[Any]
    token: str
    attempt: int
    superseded: bool


class Inbox(Protocol):
    """A durable store of postbacks. `SqliteInbox` and `PostgresInbox` are two; yours may be a third.

    Every method raises `InboxError` when the store cannot be used.
    """

    async def put(self, postback: Postback[Any]) -> bool:
        """Keep a postback; it is durable when this returns.

        One that is `reconciled` is kept only if no postback of its record and resource is there with a later
        `modified_ts`; an UPDATE also beside one with the same, that came more than a minute ago and says otherwise.

        One that is delivered after `reconcile` has found it is not kept: a CREATE of a record whose CREATE was found,
        another of the same second that says the same.

        Returns:
            Whether it was new: one with the same `key` is kept once.
        """
        ...

    async def claim(self, at_most: int, seconds: float) -> Sequence[Claim]:
        """Take postbacks that are due, what has been due the longest first, for so many seconds.

        Of each record only the oldest that is waiting, and only if nobody has claimed one of this record. What has no
        record's id waits for nothing.
        """
        ...

    async def prolong(self, claims: Sequence[Claim], seconds: float) -> None:
        """Keep claims for so many seconds from now; those that are lost stay lost."""
        ...

    async def release(self, claims: Sequence[Claim]) -> None:
        """Give claims back as if they had never been made: due at once, and no attempt counted."""
        ...

    async def done(self, claim: Claim, state: LetterState, writes: Sequence[Write] = ()) -> bool:
        """Note that a postback is handled or superseded, and carry out `writes` in the same transaction.

        Returns:
            Whether the claim still stood. If not, nothing was written.

        Raises:
            Exception: any but `InboxError`: a statement of `writes` cannot be carried out. Nothing was written, and
                the claim stands.
        """
        ...

    async def failed(self, claim: Claim, error: str, again_in: float | None) -> None:
        """Note that a handler failed; it is due again in so many seconds, or dead if None."""
        ...

    async def letters(self, state: LetterState | None = None, *, after: int = 0, limit: int = 1000) -> Sequence[Letter]:
        """What is kept, by number, from the one after `after`; only those of one state where it is given."""
        ...

    async def replay(self, number: int) -> bool:
        """Have a postback handled again, whatever became of it, its attempts counted anew; whether there is one.

        If a newer state of its record has been handled, it is superseded.
        """
        ...

    async def discard(self, number: int) -> bool:
        """Give a dead postback up; it is forgotten when handled ones are. Whether it was dead.

        Until then it is known, so that no repeated delivery and no `reconcile` brings it back.
        """
        ...

    def reopen(self) -> None:
        """Be usable again after `aclose`; harmless while it is open."""
        ...

    async def aclose(self) -> None:
        """Let go of the store; a second close is harmless."""
        ...
