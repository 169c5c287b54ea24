"""Limits of calls per second: for one process, or shared by several through Redis."""

import asyncio
import math
from typing import Any, Final, Protocol

import anyio

from gateway_async._arguments import number_problems
from gateway_async._backoff import exponential_backoffs
from gateway_async._secrets import Secret
from gateway_async._storage.redis import connect_redis, run_script
from gateway_async.errors import NotSentError
from gateway_async.observe import logger

_CONNECTIONS: Final = 32
_RESPONSE_SECONDS: Final = 5.0
_CREDIT_SECONDS: Final = 0.05
"""Seconds of delay that a rate makes up for."""

_MIN_PAUSE: Final = 0.05
_MAX_PAUSE: Final = 5.0
_EXPIRY_SECONDS: Final = 3600
"""Seconds until Redis drops an unused rate."""

# Times come from Redis, in microseconds, because the clocks of hosts differ. Each call gets a separate moment.
_NOW: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local pause = tonumber(redis.call('HGET', KEYS[1], 'pause') or 0)
"""
_ACQUIRE_SCRIPT: Final = f"""{_NOW}
local earliest = now - ARGV[2]
if pause > now then
    earliest = pause
end
local moment = math.max(tonumber(redis.call('HGET', KEYS[1], 'next') or 0), earliest)
redis.call('HSET', KEYS[1], 'next', string.format('%.0f', moment + ARGV[1]))
redis.call('EXPIRE', KEYS[1], ARGV[3])
return string.format('%.0f', math.max(0, moment - now))
"""
_PAUSE_SCRIPT: Final = f"""{_NOW}
pause = math.max(pause, now + ARGV[1])
redis.call('HSET', KEYS[1], 'pause', string.format('%.0f', pause))
redis.call('HSET', KEYS[1], 'next', string.format('%.0f', pause))
redis.call('EXPIRE', KEYS[1], ARGV[2])
return string.format('%.0f', pause - now)
"""
_PAUSE_LEFT_SCRIPT: Final = f"""{_NOW}
return string.format('%.0f', math.max(0, pause - now))
"""


class Rate(Protocol):
    """Decides when the next call may be sent. Several migrations may share one."""

    async def acquire(self) -> None:
        """Wait until one call may be sent."""
        ...

    async def pause(self, seconds: float) -> None:
        """Let no call through for some seconds."""
        ...


class SteadyRate:
    """A fixed number of calls per second, evenly spaced, for one process."""

    def __init__(self, per_second: float) -> None:
        self._between = 1 / per_second
        self._next = float("-inf")

    async def acquire(self) -> None:
        """Wait until one call may be sent."""
        now = anyio.current_time()
        self._next = max(self._next + self._between, now - _CREDIT_SECONDS)
        if self._next > now:
            await anyio.sleep(self._next - now)

    async def pause(self, seconds: float) -> None:
        """Let no call through before the end of the pause."""
        self._next = max(self._next, anyio.current_time() + seconds)


class RedisRate:
    """A rate that any number of processes share through one Redis (5 or newer), on asyncio.

        rate = RedisRate("redis://127.0.0.1:6379/0", 50, name="cards")
        await migrate_vaults(gateway, rows, journal="cards.journal", rate=rate)

    Calls are evenly spaced. A pause that the gateway asks of one process applies to all. While Redis is unavailable
    nothing is sent, and Redis is tried again.

    Args:
        url: `redis://`, `rediss://` or `unix://`, as redis-py takes it. Its password is in no repr, error or log.
        per_second: maximum calls per second; it must be the same in every process.
        name: processes with the same name share the rate.
        give_up_after: seconds without Redis after which `acquire` gives up.

    Raises:
        InvalidRequestError: an argument is invalid; `.problems` lists each one.
        ModuleNotFoundError: redis-py is missing: `pip install 'gateway-async[redis]'`.
    """

    def __init__(
        self, url: str | Secret, per_second: float, name: str = "migration", *, give_up_after: float = 60.0
    ) -> None:
        url = Secret(url)  # an error's traceback shows local variables
        self._per_second = per_second
        self._name = name
        self._give_up_after = give_up_after
        self._redis = connect_redis(
            url,
            _problems(per_second, name, give_up_after),
            who="RedisRate",
            connections=_CONNECTIONS,
            timeout=_RESPONSE_SECONDS,
            retries=0,
        )
        self._between = round(1e6 / per_second)
        self._keys = [f"gateway_async:rate:{{{name}}}"]
        self._acquire_script = self._redis.register_script(_ACQUIRE_SCRIPT)
        self._pause_script = self._redis.register_script(_PAUSE_SCRIPT)
        self._pause_left_script = self._redis.register_script(_PAUSE_LEFT_SCRIPT)
        self._is_unavailable = False

    def __repr__(self) -> str:
        rate = self._per_second
        shown = f"{rate:g}" if isinstance(rate, int | float) else repr(rate)  # it may be wrong
        return f"RedisRate(per_second={shown}, name={self._name!r})"

    async def acquire(self) -> None:
        """Wait until one call may be sent.

        Raises:
            NotSentError: Redis was unavailable for too long.
        """
        credit = round(_CREDIT_SECONDS * 1e6)
        while seconds := await self._run_script(self._acquire_script, self._between, credit, _EXPIRY_SECONDS):
            await asyncio.sleep(seconds)
            left = await self._run_script(self._pause_left_script)
            if not left:
                return
            await asyncio.sleep(left)  # a pause began meanwhile, so the acquired moment has passed

    async def pause(self, seconds: float) -> None:
        """Let no call through for some seconds.

        Raises:
            NotSentError: Redis was unavailable for too long.
        """
        await self._run_script(self._pause_script, round(seconds * 1e6), _EXPIRY_SECONDS + math.ceil(seconds))

    async def aclose(self) -> None:
        """Close the connections; a second close is harmless."""
        await self._redis.aclose()

    async def _run_script(self, script: Any, *values: int) -> float:
        """Run a script and return its result in seconds. Retry while Redis is unavailable."""
        from redis.exceptions import RedisError

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError("RedisRate needs asyncio") from None
        until = loop.time() + self._give_up_after
        pauses = exponential_backoffs(first=_MIN_PAUSE, longest=_MAX_PAUSE)
        while True:
            try:
                microseconds = int(await run_script(script, self._keys, values))
            except (RedisError, OSError, TimeoutError) as error:
                reason = type(error).__name__
            else:
                self._is_unavailable = False
                return microseconds / 1e6
            if not self._is_unavailable:
                logger.warning("rate %r paused: Redis does not respond (%s)", self._name, reason)
            self._is_unavailable = True
            if loop.time() >= until:
                raise NotSentError(f"rate {self._name!r}: Redis does not respond: {reason}")
            await asyncio.sleep(next(pauses))


def _problems(per_second: float, name: str, give_up_after: float) -> list[str]:
    problems = number_problems(above=0, per_second=per_second)
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        problems.append("name: must be printable text, not empty")
    return problems + number_problems("seconds", above=0, give_up_after=give_up_after)
