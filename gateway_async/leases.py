"""Leases: one call at a time for a terminal, across processes and hosts.

    lease = RedisTerminalLease("redis://till-server:6379/0", owner="till-7")
    async with AsyncGateway(base_url, developer_id="…", credentials=credentials, terminal_lease=lease) as gateway: ...

A lease keeps two tills from asking two customers at one device. That money moves once does not hang on it: a call is
looked up and never sent twice, whatever becomes of its lease.
"""

import asyncio
import math
from typing import Final, Protocol

from gateway_async._redis import connect

__all__ = ["RedisTerminalLease", "TerminalLease"]


class TerminalLease(Protocol):
    """A store of leases that a client takes before a call goes to a terminal; yours, if Redis is not.

    The client does the waiting and prolonging: it asks again for as long as somebody else has the terminal, and takes
    the lease anew after each third of `seconds` while it holds it. Whatever a method raises means that the store could
    not be asked.

    Attributes:
        owner: who the others are told has the terminal.
        seconds: how long a lease lasts, unless it is prolonged or given back.
        wait: seconds a call waits for others' leases at most; None is for ever.
    """

    owner: str
    seconds: float
    wait: float | None

    async def take(self, terminal_id: str, token: str) -> str | None:
        """Take a terminal for `seconds` from now, in one step, or prolong what `token` has taken.

        Returns:
            None, or who has it or comes before `token` in the line, if the store keeps one.
        """
        ...

    async def release(self, terminal_id: str, token: str) -> None:
        """Give back what `token` has taken, or its place among those who wait; nothing if it has neither."""
        ...

    async def aclose(self) -> None:
        """Let the store go; the client does it when it is closed."""
        ...


class RedisTerminalLease:
    """Leases in one Redis (5 or newer), for clients on asyncio; on trio no call gets one, and ends as `NotSentError`.

    Those who wait get the terminal in the order in which they asked first. They ask about four times a second: a wait
    that ends with a person's hands needs nothing faster, and no connection has to be kept for each who waits.

    A lease outlives a crash of its holder by `seconds` at most. When Redis is away nothing is sent to a terminal
    (`NotSentError`); a call that waits there already goes on, and observers get a `LeaseInDoubt`. A call that ends
    without a known outcome gives no lease back: it runs out (unless `block_unsettled_terminals` is False).

    One Redis, not a quorum: if it loses a lease (a failover, say), two tills may ask at one device.

    Args:
        url: `redis://`, `rediss://` or `unix://`, as redis-py takes it. Its password is in no repr, error or log.
        owner: who the others are told has the terminal, such as `"till-7"`.
        seconds: how long a lease lasts unless it is prolonged, which happens after each third of it; 1 at least.
        wait: seconds a call waits for others' leases at most before it ends as `TerminalBusyError`, 0 not to wait;
            None waits for ever. Waiting behind other calls of the same client does not count.

    Raises:
        InvalidRequestError: an argument cannot be right; `.problems` names every one.
        ModuleNotFoundError: redis-py is missing: `pip install 'gateway-async[redis]'`.
    """

    def __init__(self, url: str, *, owner: str, seconds: float = 30.0, wait: float | None = None) -> None:
        self.owner = owner
        self.seconds = seconds
        self.wait = wait
        self._used = self._closed = False
        problems = _problems(owner, seconds, wait)
        self._redis = connect(
            url,
            problems,
            who="RedisTerminalLease",
            connections=_CONNECTIONS,
            patience=1.0 if problems else seconds / 6,
            retries=1,  # both scripts may run twice
        )
        self._take = self._redis.register_script(_TAKE)
        self._release = self._redis.register_script(_RELEASE)

    def __repr__(self) -> str:
        return f"RedisTerminalLease(owner={self.owner!r}, seconds={self.seconds:g}, wait={self.wait})"

    async def take(self, terminal_id: str, token: str) -> str | None:
        """Take or prolong a lease; None, or who has the terminal, or comes first."""
        self._check()
        holder = await self._take(keys=_keys(terminal_id), args=(self._name(token), round(self.seconds * 1000)))
        return None if holder is None else str(holder).partition(" ")[2]

    async def release(self, terminal_id: str, token: str) -> None:
        """Give a lease back, or leave the line."""
        self._check()
        await self._release(keys=_keys(terminal_id), args=(self._name(token),))

    async def aclose(self) -> None:
        """Close the connections; leases that are held run out."""
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
"""A command takes a millisecond; more than so many at once wait for each other."""

_KEYS: Final = ("lease", "line", "seen")

_TAKE: Final = """
local lease, line, seen = KEYS[1], KEYS[2], KEYS[3]
local me, held = ARGV[1], redis.call('GET', KEYS[1])
if held ~= me then
    local time = redis.call('TIME')
    local now = string.format('%d%06d', time[1], time[2])
    -- Who has not asked for 2 seconds has gone.
    for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seen, '-inf', string.format('%d%06d', time[1] - 2, time[2]))) do
        redis.call('ZREM', line, gone)
        redis.call('ZREM', seen, gone)
    end
    redis.call('ZADD', line, 'NX', now, me)
    redis.call('ZADD', seen, now, me)
    redis.call('EXPIRE', line, 60)
    redis.call('EXPIRE', seen, 60)
    local first = redis.call('ZRANGE', line, 0, 0)[1]
    if held or first ~= me then
        return held or first
    end
    redis.call('ZREM', line, me)
    redis.call('ZREM', seen, me)
end
redis.call('SET', lease, me, 'PX', ARGV[2])
return false
"""

_RELEASE: Final = """
local lease, line, seen = KEYS[1], KEYS[2], KEYS[3]
redis.call('ZREM', line, ARGV[1])
redis.call('ZREM', seen, ARGV[1])
if redis.call('GET', lease) == ARGV[1] then
    redis.call('DEL', lease)
end
return false
"""


def _keys(terminal_id: str) -> list[str]:
    """The braces keep a terminal's keys together on a cluster."""
    return [f"gateway_async:{{{terminal_id}}}:{key}" for key in _KEYS]


def _problems(owner: str, seconds: float, wait: float | None) -> list[str]:
    problems = []
    if not isinstance(owner, str) or not owner.strip() or not owner.isprintable():
        problems.append("owner: must be printable text, not empty")
    if not _is_number(seconds) or seconds < 1:
        problems.append("seconds: must be a number of seconds, 1 at least")
    if wait is not None and (not _is_number(wait) or wait < 0):
        problems.append("wait: must be None or a number of seconds, 0 at least")
    return problems


def _is_number(value: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
