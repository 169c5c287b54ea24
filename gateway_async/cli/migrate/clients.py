"""Clients of a migration, with a connection for each of its concurrent calls."""

from collections.abc import Callable
from functools import partial
from typing import Final

from gateway_async import AsyncGateway

__all__ = ["client_factory"]

_DEFAULT_CONNECTIONS: Final = 100


def client_factory(concurrency: int) -> Callable[[], AsyncGateway]:
    """Return a function, which other processes can load, that makes clients."""
    return partial(AsyncGateway.from_env, max_connections=max(concurrency, _DEFAULT_CONNECTIONS))
