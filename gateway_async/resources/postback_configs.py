"""`gateway.postback_configs` (contract, *Postback configs*)."""

from typing import Any, Final, TypeVar

import attrs

from gateway_async._net.sender import Sender
from gateway_async._wire.call import Call, Kind
from gateway_async._wire.noun import Noun, Scope
from gateway_async.models.postback_configs import PostbackConfig, PostbackConfigCreate, PostbackConfigUpdate

__all__ = ["POSTBACK_CONFIG", "PostbackConfigs"]

T = TypeVar("T")

POSTBACK_CONFIG: Final = Noun(
    name="postbackconfig",
    plural="postbackconfigs",
    record=PostbackConfig,
    creates=(PostbackConfigCreate,),
    updates=(PostbackConfigUpdate,),
)


@attrs.frozen
class PostbackConfigs:
    """Where the gateway tells of changes. It does not show them: keep the ids of those you make."""

    _sender: Sender
    _scope: Scope

    async def create(self, new: PostbackConfigCreate) -> PostbackConfig:
        """Make a postback config.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            ValidationError: the gateway refuses it; `.fields` says why.
            OutcomeUnknownError: it may have been made; nothing can tell but the postbacks that come.
        """
        return await self._sender.send(POSTBACK_CONFIG.create(new, self._scope))

    async def update(self, id: str, changes: PostbackConfigUpdate) -> PostbackConfig:  # noqa: A002
        """Change a postback config; a lost answer is settled by sending the change once more.

        Raises:
            InvalidRequestError: nothing was sent; `.problems` says what to mend.
            NotFoundError: there is none.
            ValidationError: the gateway refuses a value; `.fields` says which.
            OutcomeUnknownError: it may have been changed, and no read tells: set it again.
        """
        return await self._sender.send(_repeatable(POSTBACK_CONFIG.update(id, changes, self._scope)))

    async def delete(self, id: str) -> None:  # noqa: A002
        """Delete a postback config; a lost answer is settled by deleting it once more.

        Raises:
            NotFoundError: there is none; `RecordDeletedError` where it is gone already.
        """
        call = _repeatable(POSTBACK_CONFIG.delete(id, self._scope))
        await self._sender.send(call)


def _repeatable(call: Call[T]) -> Call[T]:
    """A write that is its own lookup, since no read shows what became of it: done twice it is done once."""
    again: Call[Any] = attrs.evolve(call, kind=Kind.LOOKUP, lookup=None, writes=call.method != "DELETE")
    if call.method == "DELETE":  # whose result says that it is done, and so does its absence
        again = attrs.evolve(again, read=lambda _: True, absent=True)
    return attrs.evolve(call, lookup=again)
