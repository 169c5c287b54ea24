"""How many calls at once, and how many a second; on a clock that costs no time, and with a real Redis."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from random import Random
from secrets import token_hex
from typing import Any

import anyio
import pytest

from gateway_async import (
    ConnectionLostError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    NotSentError,
    RateLimitError,
    RecordDeletedError,
    ServerError,
    ValidationError,
)
from gateway_async.migration.limiter import ConcurrencyLimiter
from gateway_async.migration.rate import RedisRate, SteadyRate
from gateway_async.observe import AttemptFailed, LookupOutcome, NextStep, OutcomeLookedUp
from tests.support.virtual_time import virtual_time

pytestmark = pytest.mark.anyio
anyio_backend = virtual_time
REDIS = os.environ.get("GATEWAY_TEST_REDIS", "")
redis_only = pytest.mark.skipif(not REDIS, reason="needs a Redis: GATEWAY_TEST_REDIS=redis://127.0.0.1:6379/0")
real_time = pytest.mark.parametrize("anyio_backend", ["asyncio"])

DOWN = ServerError(503)


class Calls:
    """Workers that make calls at a limiter.

    Attributes:
        seconds: how long each takes.
        most: how many were under way at once, at most.
        times: when each began.
    """

    def __init__(self, limiter: ConcurrencyLimiter) -> None:
        self.limiter = limiter
        self.seconds = 0.1
        self.most = 0
        self.times: list[float] = []
        self._busy = 0

    async def make(self, count: int, fail: Any = lambda: None) -> float:
        """Make so many; how long it took."""
        began = anyio.current_time()
        calls = iter(range(count))
        async with anyio.create_task_group() as workers:
            for _ in range(self.limiter.ceiling):
                workers.start_soon(self._work, calls, fail)
        return anyio.current_time() - began

    async def _work(self, calls: Any, fail: Any) -> None:
        for _ in calls:
            await self.limiter.acquire()
            self._busy += 1
            self.times.append(anyio.current_time())
            self.most = max(self.most, self._busy)
            error = fail()
            if error is not None:
                self.limiter.record_failure(error)
            await anyio.sleep(self.seconds)
            self._busy -= 1
            self.limiter.release(self.seconds)


async def test_it_goes_up_to_the_ceiling() -> None:
    calls = Calls(ConcurrencyLimiter(64))
    assert calls.limiter.limit == 16
    await calls.make(1000)
    assert (calls.limiter.limit, calls.most, calls.limiter.in_flight) == (64, 64, 0)


async def test_it_goes_down_once_a_round() -> None:
    limiter = ConcurrencyLimiter(64)
    await Calls(limiter).make(1000)
    for _ in range(64):
        limiter.record_failure(DOWN)
    await Calls(limiter).make(64)
    fewer = limiter.limit
    assert fewer in {42, 43}  # the round had begun before
    await Calls(limiter).make(fewer)
    assert limiter.limit == fewer + 1


async def test_one_percent_of_faults_is_borne() -> None:
    limiter, chance = ConcurrencyLimiter(64), Random(1)  # noqa: S311  repeatable mishaps, not secrets
    await Calls(limiter).make(1000)
    limits: list[int] = []

    def fail() -> GatewayError | None:
        limits.append(limiter.limit)
        return DOWN if chance.random() < 0.01 else None

    await Calls(limiter).make(20_000, fail)
    assert sum(limits) / len(limits) > 58


async def test_a_fifth_of_faults_is_not_borne() -> None:
    limiter, chance = ConcurrencyLimiter(64), Random(1)  # noqa: S311  repeatable mishaps, not secrets
    await Calls(limiter).make(5000, lambda: DOWN if chance.random() < 0.2 else None)
    assert limiter.limit <= 4


async def test_slow_responses_are_trouble() -> None:
    limiter = ConcurrencyLimiter(64)
    calls = Calls(limiter)
    await calls.make(1000)
    for place in range(640):
        await limiter.acquire()
        limiter.release(0.1 if place % 3 else 30.0)
    assert limiter.limit == 64
    calls.seconds = 1.0
    await calls.make(200)
    assert limiter.limit < 32


async def test_a_pause_that_is_asked_for_holds_for_all() -> None:
    limiter = ConcurrencyLimiter(8)
    calls = Calls(limiter)
    await calls.make(100)
    limit, now = limiter.limit, anyio.current_time()
    limiter.record_failure(RateLimitError(429, retry_after=30))
    calls.times.clear()
    assert not limiter.acquire_nowait()
    assert await calls.make(40) >= 30
    assert min(calls.times) >= now + 30
    assert limiter.limit < limit


async def test_a_cancelled_wait_gives_its_place_back() -> None:
    limiter = ConcurrencyLimiter(4)  # begins with one
    await limiter.acquire()
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(limiter.acquire)
        await anyio.sleep(1)
        tasks.cancel_scope.cancel()
        limiter.release(0.1)
    assert limiter.in_flight == 0
    assert limiter.acquire_nowait()


async def test_a_steady_rate() -> None:
    """Evenly, and with its pauses."""
    calls = Calls(ConcurrencyLimiter(64, SteadyRate(50)))
    assert 9.8 < await calls.make(500) < 10.2
    gaps = [later - earlier for earlier, later in zip(calls.times[60:], calls.times[61:], strict=False)]
    assert max(gaps) < 0.05


async def test_what_the_client_sends_of_its_own_accord_counts() -> None:
    limiter = ConcurrencyLimiter(64, SteadyRate(50))
    for _ in range(100):
        limiter.observe(AttemptFailed(call="", attempt=1, error=DOWN, next_step=NextStep.AGAIN))
        limiter.observe(AttemptFailed(call="", attempt=1, error=DOWN, next_step=NextStep.STOP))
        limiter.observe(OutcomeLookedUp(call="", outcome=LookupOutcome.NOT_FOUND))
    assert limiter.failed_attempts == 200
    assert 7.8 < await Calls(limiter).make(200) < 8.2


async def test_a_response_is_no_failure() -> None:
    limiter = ConcurrencyLimiter(64)
    for call, error in [
        ("GET /v2/accountvaults/{id}", NotFoundError(404)),
        ("GET /v2/accountvaults/{id}", RecordDeletedError(409)),
        ("POST /v2/accountvaults", ValidationError(422, fields={"title": ("is not nice.",)})),
        ("POST /v2/accountvaults", NotFoundError(404)),
        ("GET /v2/accountvaults/{id}", DOWN),
        ("POST /v2/accountvaults", DOWN),
        ("POST /v2/accountvaults", ConnectionLostError("4111111111111111 reset")),
    ]:
        limiter.observe(AttemptFailed(call=call, attempt=1, error=error, next_step=NextStep.STOP))
    assert (limiter.failed_attempts, limiter.failures) == (
        4,
        {"not found (404)": 1, "the gateway failed (503)": 2, "connection lost: ************1111 reset": 1},
    )


async def test_reasons_of_failures_are_bounded() -> None:
    limiter = ConcurrencyLimiter(64)
    for number in range(1000):
        limiter.record_failure(NotSentError(f"reason {number}"))
    assert (len(limiter.failures) < 100, sum(limiter.failures.values()), limiter.failed_attempts) == (True, 1000, 1000)


class Shared:
    """A rate that tells what it was asked."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def acquire(self) -> None:
        """Go."""

    async def pause(self, seconds: float) -> None:
        self.asked.append(seconds)


async def test_a_pause_is_shared() -> None:
    rate = Shared()
    limiter = ConcurrencyLimiter(8, rate)
    limiter.record_failure(RateLimitError(429, retry_after=3))
    limiter.record_failure(RateLimitError(429))
    await Calls(limiter).make(20)
    assert rate.asked == [3]


# --- Redis

CLIENT = """
import asyncio, sys
from gateway_async.migration.rate import RedisRate

async def main(url, name, per_second, calls):
    rate = RedisRate(url, float(per_second), name)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(int(calls)):
        print(await rate._run_script(rate._acquire_script, rate._between, 0, 60))
    await rate.aclose()

asyncio.run(main(*sys.argv[1:]))
"""
"""Acquires calls without waiting for their moments, and prints how far ahead each moment is."""


@pytest.fixture
async def name(anyio_backend: str) -> AsyncIterator[str]:
    from redis.asyncio import Redis

    made = f"test-{token_hex(6)}"
    yield made
    async with Redis.from_url(REDIS) as redis:
        await redis.delete(f"gateway_async:rate:{{{made}}}")


@redis_only
@real_time
async def test_processes_share_a_rate_exactly(name: str) -> None:
    from redis.asyncio import Redis

    key, calls, per_second = f"gateway_async:rate:{{{name}}}", 50, 1
    async with Redis.from_url(REDIS) as redis:
        (now, _), first = await redis.time(), 100_000
        await redis.hset(key, "next", (now + first) * 1_000_000)  # far ahead, so that no moment passes meanwhile
        processes = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", CLIENT, REDIS, name, str(per_second), str(calls)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            for _ in range(3)
        ]
        for process in processes:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        outputs = await asyncio.gather(*(process.communicate(b"\n") for process in processes))
        last = await redis.hget(key, "next")
    assert [len(output.split()) for output, _ in outputs] == [calls] * 3
    assert last is not None
    assert int(last) == (now + first + 3 * calls * per_second) * 1_000_000


@redis_only
@real_time
async def test_a_shared_pause(name: str) -> None:
    """A pause holds for later calls, and for calls that already have a moment."""
    one, other = RedisRate(REDIS, 20, name), RedisRate(REDIS, 20, name)
    for _ in range(3):
        await one.acquire()
    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        early = [tasks.create_task(one.acquire()) for _ in range(3)]
        await asyncio.sleep(0.01)
        await other.pause(0.5)
        await other.acquire()
        assert time.monotonic() - began >= 0.5
    assert all(task.done() for task in early)
    assert time.monotonic() - began >= 0.55
    for rate in (one, other):
        await rate.aclose()


@real_time
async def test_a_redis_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    rate = RedisRate("redis://:hush@127.0.0.1:1/0", 20, "away", give_up_after=0.3)
    with pytest.raises(NotSentError, match="rate 'away': Redis does not respond: ConnectionError"):
        await rate.acquire()
    assert caplog.text.count("Redis does not respond") == 1
    assert "hush" not in caplog.text + repr(rate)
    await rate.aclose()


@redis_only
@real_time
async def test_a_redis_that_comes_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ConnectionError as LostError

    rate = RedisRate(REDIS, 100, name)
    ask, failures = rate._acquire_script, [LostError(), LostError()]

    async def fail_twice(**arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return await ask(**arguments)

    monkeypatch.setattr(rate, "_acquire_script", fail_twice)
    await rate.acquire()
    assert not failures
    await rate.aclose()


async def test_a_redis_rate_needs_asyncio() -> None:
    with pytest.raises(RuntimeError, match="RedisRate needs asyncio"):
        await RedisRate("redis://127.0.0.1:1/0", 20).acquire()


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        (("http://x", 1), ["url: must be redis://, rediss:// or unix://, with options that redis-py knows"]),
        (("redis://x", 0, " "), ["per_second: must be a number above 0", "name: must be printable text, not empty"]),
    ],
)
async def test_its_arguments_are_checked(arguments: Any, problems: list[str]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        RedisRate(*arguments)
    assert list(caught.value.problems) == problems
