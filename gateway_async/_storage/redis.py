"""Create the Redis client for leases and rate limits."""

from collections.abc import Sequence
from typing import Any

from gateway_async.errors import InvalidRequestError

__all__ = ["connect"]


def connect(url: str, problems: Sequence[str], *, who: str, connections: int, patience: float, retries: int) -> Any:
    """Create a Redis client, which connects on first use.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.
        problems: problems with other arguments of `who`; reported together with that of the address.
        who: the name of the class that uses it, for messages.
        connections: maximum number of connections; commands wait for a free one.
        patience: seconds for connecting, for a response and for a free connection.
        retries: how often a command is sent again after its connection was lost.

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
