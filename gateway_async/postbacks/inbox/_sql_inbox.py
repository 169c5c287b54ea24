"""`SqlInbox`: what `SqliteInbox` and `PostgresInbox` share."""

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import ParamSpec, TypeVar

from gateway_async.postbacks.inbox import _operations as operations
from gateway_async.postbacks.inbox.protocol import Claim, PostbackState, StoredPostback
from gateway_async.telemetry.receiver_health import InboxHealth

P = ParamSpec("P")
T = TypeVar("T")


class SqlInbox:
    """The methods of an inbox that are the same in every SQL database."""

    async def claim(self, limit: int, seconds: float) -> Sequence[Claim]:
        """Claim due postbacks."""
        return await self._run(operations.claim, limit, seconds, token_hex(8))

    async def extend(self, claims: Sequence[Claim], seconds: float) -> None:
        """Extend claims."""
        await self._run(operations.extend, claims, seconds)

    async def release(self, claims: Sequence[Claim]) -> None:
        """Release claims without counting the attempt."""
        for claim in claims:
            await self._run(operations.release, claim)

    async def fail(self, claim: Claim, error: str, retry_in: float | None) -> None:
        """Record the failure of a handler."""
        await self._run(operations.fail_claim, claim, error, retry_in)

    async def list(
        self, state: PostbackState | None = None, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredPostback]:
        """List stored postbacks."""
        return await self._run(operations.list_postbacks, state, after, limit)

    async def health(self) -> InboxHealth:
        """Count what waits, is in progress and is dead."""
        return await self._run(operations.read_health)

    async def replay(self, number: int) -> bool:
        """Make a postback waiting again."""
        return await self._run(operations.replay, number)

    async def discard(self, number: int) -> bool:
        """Give up a dead postback."""
        return await self._run(operations.discard, number)

    async def _run(self, operation: Callable[P, operations.Steps[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Execute an operation in one transaction."""
        raise NotImplementedError
