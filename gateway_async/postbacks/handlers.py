"""`Handlers`: the registered functions of a receiver, and the postbacks that each one matches."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import attrs

from gateway_async.errors import InvalidRequestError
from gateway_async.models.postbacks import Postback

Handler = Callable[[Postback[Any]], Awaitable[None]]


@attrs.frozen
class _Subscription:
    """A handler and the postbacks that it matches; None matches anything."""

    resource: str | None
    type: str | None
    include_stale: bool
    handler: Handler

    def matches(self, postback: Postback[Any], superseded: bool) -> bool:
        return (
            self.resource in (None, postback.resource)
            and self.type in (None, postback.type)
            and (self.include_stale or not superseded)
        )


class Handlers:
    """The handlers of a receiver, in the order of their registration."""

    def __init__(self) -> None:
        self._subscriptions: list[_Subscription] = []

    def add(self, resource: str | None, type_: str | None, include_stale: bool, handler: Handler) -> None:
        """Register a handler.

        Raises:
            InvalidRequestError: the handler is not an async function. A blocking one would stop the whole server.
        """
        if not _is_async(handler):
            raise InvalidRequestError(
                f"handler: {handler!r} must be an async function; it may await anyio.to_thread.run_sync(…)"
            )
        self._subscriptions.append(_Subscription(resource, type_, include_stale, handler))

    def __bool__(self) -> bool:
        """Whether any handler is registered."""
        return bool(self._subscriptions)

    async def handle(self, postback: Postback[Any], superseded: bool = False) -> None:
        """Call all matching handlers, one after the other.

        A handler that fails does not stop the others.

        Raises:
            Exception: the exception of a handler, or an `ExceptionGroup` if several failed.
        """
        matching = [
            subscription.handler for subscription in self._subscriptions if subscription.matches(postback, superseded)
        ]
        failures = [error for handler in matching if (error := await _run_handler(handler, postback))]
        if len(failures) > 1:
            raise ExceptionGroup(f"{len(failures)} handlers failed", failures)
        if failures:
            raise failures[0]

    def resources(self) -> Iterator[str | None]:
        """The resource that each handler matches; None matches every resource."""
        return (subscription.resource for subscription in self._subscriptions)


async def _run_handler(handler: Handler, postback: Postback[Any]) -> Exception | None:
    try:
        await handler(postback)
    except Exception as error:  # noqa: BLE001  the other handlers are called all the same
        return error
    return None


def _is_async(handler: Any) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004
