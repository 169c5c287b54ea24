"""Create the Redis client for leases and rate limits."""

from collections.abc import Sequence
from typing import Any

from gateway_async._extras import import_extra
from gateway_async.errors import InvalidRequestError

__all__ = ["connect"]


def connect(url: str, problems: Sequence[str], *, who: str, connections: int, timeout: float, retries: int) -> Any:
    """Create a Redis client, which connects on first use.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.
        problems: problems with other arguments of `who`; reported together with that of the address.
        who: the name of the class that uses it, for messages.
        connections: maximum number of connections; commands wait for a free one.
        timeout: seconds for connecting, for a response and for a free connection.
        retries: how often a command is sent again after its connection was lost.

    Raises:
        ModuleNotFoundError: redis is missing.
        InvalidRequestError: there are problems.
    """
    redis = import_extra("redis.asyncio", extra="redis", user=who)
    retry = import_extra("redis.asyncio.retry", extra="redis", user=who).Retry
    no_backoff = import_extra("redis.backoff", extra="redis", user=who).NoBackoff
    try:
        pool = redis.BlockingConnectionPool.from_url(
            url,
            decode_responses=True,
            max_connections=connections,
            timeout=timeout,
            socket_connect_timeout=timeout,
            socket_timeout=timeout,
            retry=retry(no_backoff(), retries),
        )
    except (TypeError, ValueError, AttributeError):
        raise InvalidRequestError([*problems, "url: must be redis://, rediss:// or unix://"]) from None
    if problems:
        raise InvalidRequestError(problems)
    return redis.Redis.from_pool(pool)
