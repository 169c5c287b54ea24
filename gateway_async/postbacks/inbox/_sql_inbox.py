"""`SqlInbox`: what `SqliteInbox` and `PostgresInbox` share."""

from collections.abc import Callable, Sequence
from functools import partial
from secrets import token_hex
from typing import Any

from gateway_async._storage.sql import PooledStore, QueuedStore, Steps
from gateway_async.models.postbacks import Postback
from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox._mapping import PostbackRow, row_of
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, StoredPostback
from gateway_async.telemetry.health import InboxHealth


class SqlInbox:
    """The methods of an inbox that are the same in every SQL database.

    Args:
        location: the file or the database, without a password.
        store: runs the operations.
        insert: stores new postbacks; returns the keys of those that were not known.
    """

    def __init__(
        self,
        location: str,
        store: PooledStore | QueuedStore,
        insert: Callable[[Sequence[PostbackRow]], Steps[set[str]]],
    ) -> None:
        self._location = location
        self._store = store
        self._store_rows = partial(operations.store, insert)

    async def store(self, postback: Postback[Any]) -> bool:
        """Store a postback once; it is on disk when this returns."""
        return await self._store.run_merged(self._store_rows, row_of(postback))

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        return await self._store.run(operations.claim, limit, seconds, token_hex(8))

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims."""
        await self._store.run(operations.extend, claims, seconds)

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        for claim in claims:
            await self._store.run(operations.release, claim)

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        await self._store.run(operations.fail_claim, claim, error, retry_in)

    async def list(
        self, state: PostbackState | None = None, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredPostback]:
        """List stored postbacks."""
        return await self._store.read(operations.list_postbacks, state, after, limit)

    async def health(self) -> InboxHealth:
        """Count what waits, is in progress and is dead."""
        return await self._store.read(operations.read_health)

    async def replay(self, number: int) -> bool:
        """Make a postback waiting again."""
        return await self._store.run(operations.replay, number)

    async def discard(self, number: int) -> bool:
        """Give up a dead postback."""
        return await self._store.run(operations.discard, number)

    def reopen(self) -> None:
        """Make the inbox usable again after `aclose`; the next use opens it, and a pool of yours has to be open."""
        self._store.reopen()

    async def aclose(self) -> None:
        """Write pending postbacks and close the store, within 15 seconds; a second close has no effect.

        A pool of yours is left open.
        """
        await self._store.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({vars(self).get('_location', '')!r})"  # also of one whose arguments are wrong
