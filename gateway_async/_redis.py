"""A Redis that several clients share, for whoever needs one."""

from collections.abc import Sequence
from typing import Any

from gateway_async.errors import InvalidRequestError

__all__ = ["connect"]


def connect(url: str, problems: Sequence[str], *, who: str, connections: int, patience: float, retries: int) -> Any:
    """A client of it, which connects when it is first needed.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.
        problems: of the other arguments of `who`; they are told together with the address's.
        who: needs it, for messages.
        connections: at most; who finds none free waits.
        patience: seconds for connecting, for an answer and for a free connection.
        retries: how often a command is sent again when its connection was lost.

    Raises:
        ModuleNotFoundError: redis is missing.
        InvalidRequestError: there are problems.
    """
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ModuleNotFoundError as missing:
        msg = f"{who} needs an extra: pip install 'gateway-async[redis]' ({missing.name} is missing)"
        raise ModuleNotFoundError(msg, name=missing.name) from None
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            decode_responses=True,
            max_connections=connections,
            timeout=patience,
            socket_connect_timeout=patience,
            socket_timeout=patience,
            retry=Retry(NoBackoff(), retries),
        )
    except (TypeError, ValueError, AttributeError):
        raise InvalidRequestError([*problems, "url: must be redis://, rediss:// or unix://"]) from None
    if problems:
        raise InvalidRequestError(problems)
    return Redis.from_pool(pool)
