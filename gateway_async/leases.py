"""Leases: one call at a time for a terminal, across processes and hosts.

    lease = RedisTerminalLease("redis://till-server:6379/0", owner="till-7")
    async with AsyncGateway(base_url, developer_id="…", credentials=credentials, terminal_lease=lease) as gateway: ...

A lease prevents two tills from using one device at the same time. Payment safety does not depend on it: a call whose
outcome is uncertain is looked up, not sent twice, even if its lease is lost.
"""

import asyncio
import math
from typing import Final, Protocol

from gateway_async._arguments import number_problems
from gateway_async._secrets import Secret
from gateway_async._storage.redis import connect_redis, run_script

__all__ = ["RedisTerminalLease", "TerminalLease"]


class TerminalLease(Protocol):
    """A store of terminal leases; implement it to use something other than Redis.

    A client acquires the lease before it sends a call to a terminal. Waiting and renewing are up to the client: it asks
    again while another till has the terminal, and renews its lease every third of `seconds` and right before sending.
    Any exception from a method means that the store could not be reached.

    The client cancels a method that hangs: `acquire` after a third of `seconds`, `release` and `aclose` after 2
    seconds. A release continues even if the task is cancelled meanwhile.

    Attributes:
        owner: the name that other tills see while this one has the terminal.
        seconds: how long a lease lasts unless it is renewed or released.
        wait: maximum seconds a call waits while others have the terminal; None waits without a limit.
    """

    owner: str
    seconds: float
    wait: float | None

    async def acquire(self, terminal_id: str, token: str, seconds: float | None = None) -> str | None:
        """Acquire a terminal for `seconds`, or renew the lease of `token`.

        The operation must be atomic. The client passes `seconds` after a call whose outcome is unknown: the lease then
        lasts until the call can no longer be executed. None means the `seconds` of this object.

        Returns:
            None on success; otherwise the owner who has the terminal, or who is first in the queue if the store keeps
            one.
        """
        ...

    async def release(self, terminal_id: str, token: str) -> None:
        """Release the lease of `token`, or remove it from the queue.

        Do nothing if it has neither.
        """
        ...

    async def aclose(self) -> None:
        """Close the store; the client calls it when it is closed."""
        ...


class RedisTerminalLease:
    """Terminal leases in one Redis server (5 or newer), for clients on asyncio.

    On trio, every call for a terminal raises `NotSentError`.

    Waiting calls get the terminal in the order in which they first asked. Each asks about four times a second, which is
    fast enough for a wait that ends when a person finishes, and takes no connection of its own.

    If the holder crashes, its lease ends within `seconds`. While Redis is unreachable, no call gets a lease, so none is
    sent to a terminal (`NotSentError`). A call is sent only if its lease was renewed within the last `seconds`. A call
    that is already waiting at a terminal continues, and observers get a `LeaseRenewalFailed`. After a call with an
    unknown outcome, the lease lasts until `error.resolve()` or `gateway.recover()` of the same client finds the
    outcome, or until the call can no longer be executed (unless `block_unresolved_terminals` is False).

    The lease uses one Redis server, not a quorum. If the server loses a lease, for example in a failover, two tills may
    use one device at the same time.

    Args:
        url: `redis://`, `rediss://` or `unix://`, as redis-py takes it. Its password is in no repr, error or log.
        owner: the name that other tills see while this one has the terminal, such as `"till-7"`.
        seconds: how long a lease lasts unless it is renewed, which happens after each third of it; at least 1.
        wait: maximum seconds a call waits while others have the terminal, before it raises `TerminalBusyError`. 0 does
            not wait; None waits without a limit. Waiting for other calls of the same client does not count.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` names every one.
        ModuleNotFoundError: redis-py is missing: `pip install 'gateway-async[redis]'`.
    """

    def __init__(self, url: str | Secret, *, owner: str, seconds: float = 30.0, wait: float | None = None) -> None:
        url = Secret(url)  # an error's traceback shows local variables
        self.owner = owner
        self.seconds = seconds
        self.wait = wait
        self._used = self._closed = False
        problems = _problems(owner, seconds, wait)
        self._redis = connect_redis(
            url,
            problems,
            who="RedisTerminalLease",
            connections=_CONNECTIONS,
            timeout=1.0 if problems else seconds / 6,
            retries=1,  # both scripts may run twice
        )
        self._acquire = self._redis.register_script(_ACQUIRE)
        self._release = self._redis.register_script(_RELEASE)

    def __repr__(self) -> str:
        seconds: object = self.seconds  # of any type if the arguments are wrong
        seconds = f"{seconds:g}" if isinstance(seconds, int | float) else repr(seconds)
        return f"RedisTerminalLease(owner={self.owner!r}, seconds={seconds}, wait={self.wait!r})"

    async def acquire(self, terminal_id: str, token: str, seconds: float | None = None) -> str | None:
        """Acquire or renew a lease.

        Returns None on success; otherwise the owner who has the terminal, or who is first in the queue.
        """
        self._check()
        milliseconds = math.ceil((self.seconds if seconds is None else seconds) * 1000)
        holder = await run_script(self._acquire, _keys(terminal_id), (self._name(token), milliseconds))
        return None if holder is None else str(holder).partition(" ")[2]

    async def release(self, terminal_id: str, token: str) -> None:
        """Release a lease, or leave the queue."""
        self._check()
        await run_script(self._release, _keys(terminal_id), (self._name(token),))

    async def aclose(self) -> None:
        """Close the connections; held leases expire."""
        if self._used and not self._closed:
            await self._redis.aclose()
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise RuntimeError("the lease is closed")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("RedisTerminalLease needs asyncio") from None
        self._used = True

    def _name(self, token: str) -> str:
        return f"{token} {self.owner}"


_CONNECTIONS: Final = 32
"""Maximum connections.

A command takes about a millisecond; commands beyond this number wait for a free connection.
"""

_KEYS: Final = ("lease", "queue", "last_asked")

_ACQUIRE: Final = """
local lease, queue, last_asked = KEYS[1], KEYS[2], KEYS[3]
local caller, holder = ARGV[1], redis.call('GET', KEYS[1])
if holder ~= caller then
    local time = redis.call('TIME')
    local now = string.format('%d%06d', time[1], time[2])
    local two_seconds_ago = string.format('%d%06d', time[1] - 2, time[2])
    -- Remove the callers that have stopped asking.
    for _, gone in ipairs(redis.call('ZRANGEBYSCORE', last_asked, '-inf', two_seconds_ago)) do
        redis.call('ZREM', queue, gone)
        redis.call('ZREM', last_asked, gone)
    end
    redis.call('ZADD', queue, 'NX', now, caller)
    redis.call('ZADD', last_asked, now, caller)
    redis.call('EXPIRE', queue, 60)
    redis.call('EXPIRE', last_asked, 60)
    local first = redis.call('ZRANGE', queue, 0, 0)[1]
    if holder or first ~= caller then
        return holder or first
    end
    redis.call('ZREM', queue, caller)
    redis.call('ZREM', last_asked, caller)
end
redis.call('SET', lease, caller, 'PX', ARGV[2])
return false
"""

_RELEASE: Final = """
local lease, queue, last_asked = KEYS[1], KEYS[2], KEYS[3]
redis.call('ZREM', queue, ARGV[1])
redis.call('ZREM', last_asked, ARGV[1])
if redis.call('GET', lease) == ARGV[1] then
    redis.call('DEL', lease)
end
return false
"""


def _keys(terminal_id: str) -> list[str]:
    """A terminal's Redis keys; the braces keep them in one cluster slot."""
    return [f"gateway_async:{{{terminal_id}}}:{key}" for key in _KEYS]


def _problems(owner: str, seconds: float, wait: float | None) -> list[str]:
    problems: list[str] = []
    if not isinstance(owner, str) or not owner.strip() or not owner.isprintable():
        problems.append("owner: must be printable text, not empty")
    problems += number_problems("seconds", minimum=1, seconds=seconds)
    return problems + number_problems("seconds", minimum=0, optional=True, wait=wait)
