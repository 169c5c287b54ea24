"""The circuit breaker: which attempts open and close it, and which calls it rejects."""

import math
from typing import Any

import anyio
import httpx
import pytest

from gateway_async import (
    AccessToken,
    AuthenticationError,
    CircuitBreaker,
    CircuitState,
    ConnectionLostError,
    ContactCreate,
    DeadlineExceededError,
    GatewayError,
    InvalidRequestError,
    MalformedReplyError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    PasswordLogin,
    RateLimitError,
    SendStage,
    ServerError,
    ValidationError,
)
from gateway_async._http.progress import PROGRESS, Stage
from gateway_async.observe import CallEnded, CallStarted, CircuitClosed, CircuitOpened
from tests.support.scripted_transport import (
    LOST,
    NEVER_LEFT,
    SALE,
    Script,
    absent,
    echo,
    error_of,
    record,
    sell,
    sell_at_terminal,
    sell_named,
    silent,
)

pytestmark = pytest.mark.anyio

REFUSED = NotSentError("connection refused", reached=SendStage.NOTHING_WRITTEN)
NEW = ContactCreate(last_name="Smith")
SOLD = echo("transaction", status_id=101)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(steps: str) -> list[str]:
    """Take steps with a breaker of two failures and ten seconds; return the state after each."""
    clock = Clock()
    breaker, states = CircuitBreaker(failures=2, reset_after=10, clock=clock), []
    for step in steps.split():
        match step:
            case "failure":
                breaker.record(REFUSED)
            case "success":
                breaker.record(None)
            case seconds:
                clock.now += float(seconds)
        states.append(breaker.state.value)
    return states


@pytest.mark.parametrize(
    ("steps", "states"),
    [
        ("failure failure", ["closed", "open"]),
        ("failure success failure", ["closed", "closed", "closed"]),
        ("failure failure success failure", ["closed", "open", "closed", "closed"]),
        ("failure 100 failure", ["closed", "closed", "open"]),
        ("failure failure 9.5 0.5", ["closed", "open", "open", "half-open"]),
        ("failure failure 9.5 failure 0.5", ["closed", "open", "open", "open", "half-open"]),
        ("failure failure 10 success failure", ["closed", "open", "half-open", "closed", "closed"]),
        ("failure failure 10 failure 9 1", ["closed", "open", "half-open", "open", "open", "half-open"]),
    ],
)
def test_states(steps: str, states: list[str]) -> None:
    """Failures in a row open it, a success closes it, and after some seconds it is half-open."""
    assert run(steps) == states


def half_open(clock: Clock) -> CircuitBreaker:
    breaker = CircuitBreaker(failures=1, reset_after=10, clock=clock)
    breaker.record(REFUSED)
    clock.now += 10
    return breaker


def test_one_probe() -> None:
    """A half-open breaker admits one call until that has ended, and then the next one."""
    breaker = half_open(Clock())
    assert [breaker.admit(call) for call in ("first", "second")] == [True, False]
    breaker.release("second")
    assert not breaker.admit("third")
    breaker.release("first")
    assert breaker.admit("third")


def test_slow_probe() -> None:
    """A probe that failed and still runs is the only one, however long it runs."""
    clock = Clock()
    breaker = half_open(clock)
    breaker.admit("probe")
    assert [breaker.record(REFUSED) for _ in range(2)] == [True, False]
    clock.now += 100
    assert breaker.state is CircuitState.HALF_OPEN
    assert not breaker.admit("other")


LOGIN_REFUSED = NotSentError("no login: connection refused")
LOGIN_REFUSED.__cause__ = REFUSED
PAGE: dict[str, Any] = {"is_from_gateway": False}


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (REFUSED, "open"),
        (LOGIN_REFUSED, "open"),
        (ServerError(502), "open"),
        (ServerError(503), "open"),
        (AuthenticationError(503, **PAGE), "open"),
        (ValidationError(422), "closed"),
        (NotFoundError(404), "closed"),
        (AuthenticationError(401), "closed"),
    ],
)
def test_failures(error: GatewayError, state: str) -> None:
    """No connection, a 502 or a 503 is a failure; the gateway's own rejection shows that it runs."""
    breaker = CircuitBreaker(failures=1)
    if state == "closed":
        breaker.record(REFUSED)
    breaker.record(error)
    assert breaker.state.value == state


@pytest.mark.parametrize(
    "error",
    [
        NotSentError("no free connection"),
        ConnectionLostError("reset"),
        MalformedReplyError("$", "not JSON"),
        ServerError(500),
        ServerError(504),
        RateLimitError(429),
        NotFoundError(404, **PAGE),
        AuthenticationError(401, **PAGE),
    ],
)
@pytest.mark.parametrize("before", [None, REFUSED])
def test_what_proves_nothing(error: GatewayError, before: GatewayError | None) -> None:
    """A lost response, a slow gateway or the page of a proxy neither opens nor closes it."""
    breaker = CircuitBreaker(failures=1)
    breaker.record(before)
    state = breaker.state
    assert not breaker.record(error)
    assert breaker.state is state


@pytest.mark.parametrize(("limits", "seconds"), [({}, 30.0), ({"reset_after": 0.5}, 0.5)])
def test_limits(limits: dict[str, Any], seconds: float) -> None:
    """Five failures open it, for 30 seconds unless told otherwise; it may stay open for good."""
    clock, states = Clock(), []
    breaker = CircuitBreaker(clock=clock, **limits)
    for _ in range(5):
        states.append(breaker.state)
        assert breaker.record(REFUSED) == (len(states) == 5)
    for time in (1000 + seconds - 0.01, 1000 + seconds):
        clock.now = time
        states.append(breaker.state)
    assert states == [CircuitState.CLOSED] * 5 + [CircuitState.OPEN, CircuitState.HALF_OPEN]
    CircuitBreaker(reset_after=math.inf)


def test_invalid_arguments_are_named_at_once() -> None:
    with pytest.raises(InvalidRequestError) as wrong:
        CircuitBreaker(failures=0, reset_after=-1)
    assert [problem.split(":")[0] for problem in wrong.value.problems] == ["failures", "reset_after"]
    assert wrong.value.problems[1].endswith("must be a number of seconds above 0")
    with pytest.raises(InvalidRequestError, match="failures: must be a whole number"):
        CircuitBreaker(failures=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError, match="circuit_breaker: must be a CircuitBreaker"):
        Script().gateway(circuit_breaker=5)


def opened(failures: int = 1) -> tuple[CircuitBreaker, Clock]:
    clock = Clock()
    breaker = CircuitBreaker(failures=failures, reset_after=10, clock=clock)
    for _ in range(failures):
        breaker.record(REFUSED)
    return breaker, clock


async def test_without_a_breaker_each_write_is_tried() -> None:
    script = Script(post=[NEVER_LEFT])
    async with script.gateway(max_attempts=1) as gateway:
        for _ in range(20):
            await error_of(sell(gateway), NotSentError)
    assert len(script.asked) == 20


async def test_rejected_write() -> None:
    """The call starts and ends without an attempt, and its error allows a repetition."""
    breaker, _ = opened()
    script = Script(post=[SOLD])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        started = anyio.current_time()
        error = await error_of(sell_named(gateway), NotSentError, match="circuit breaker is open")
        assert anyio.current_time() == started
    assert error.retryable
    assert script.asked == []
    assert [type(event) for event in script.events] == [CallStarted, CallEnded]
    (ended,) = script.events_of(CallEnded)
    assert (ended.attempts, ended.seconds, ended.error, ended.api_id) == (0, 0, error, "mine")


async def test_a_write_with_a_read_before_it_is_rejected_before_the_read() -> None:
    breaker, _ = opened()
    script = Script(get=[record("recurring")], post=[record("recurring")])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        await error_of(gateway.recurrings.skip("found", 1), NotSentError, match="circuit breaker is open")
    assert script.asked == []


async def test_single_call() -> None:
    """The call that opens the breaker makes all its attempts."""
    breaker = CircuitBreaker(failures=2)
    script = Script(post=[NEVER_LEFT])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        await error_of(sell(gateway), NotSentError, match="connection refused")
        await error_of(sell(gateway), NotSentError, match="circuit breaker is open")
    assert len(script.asked) == 3
    assert len(script.events_of(CircuitOpened)) == 1


async def test_a_read_that_succeeds_is_sent_and_closes_it() -> None:
    breaker, _ = opened()
    script = Script(get=[record("contact")], post=[echo("contact")])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        assert (await gateway.contacts.get("found")).id == "found"
        assert (await gateway.contacts.create(NEW)).id == "made"
    assert [event.call for event in script.events_of(CircuitClosed)] == ["GET /v2/contacts/found"]


async def connecting(request: httpx.Request) -> httpx.Response:
    request.extensions[PROGRESS].stage = Stage.CONNECTING
    return await silent(request)


async def test_failed_read() -> None:
    """A read that cannot connect before its deadline opens the breaker."""
    breaker = CircuitBreaker(failures=1)
    script = Script(get=[connecting], post=[SOLD])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        await error_of(gateway.contacts.get("found"), DeadlineExceededError)
        await error_of(sell(gateway), NotSentError, match="circuit breaker is open")


async def test_slow_read() -> None:
    """A gateway that is slow may still execute what it gets."""
    breaker = CircuitBreaker(failures=1)
    async with Script(get=[silent]).gateway(circuit_breaker=breaker) as gateway:
        await error_of(gateway.contacts.get("found"), DeadlineExceededError)
    assert breaker.state is CircuitState.CLOSED


async def test_terminals() -> None:
    """A payment at a terminal is sent while the breaker is open, and closes it."""
    breaker, _ = opened()
    script = Script(post=[echo("routertransaction", status_id=101)])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        assert (await sell_at_terminal(gateway)).approved
    assert breaker.state is CircuitState.CLOSED


async def test_lost_write() -> None:
    """Its first response was lost, its lookups cannot connect, and then the record is found."""
    breaker = CircuitBreaker(failures=1)
    found = record("transaction", transaction_api_id="mine", transaction_amount="12.50", status_id=101)
    script = Script(post=[LOST], get=[NEVER_LEFT, found])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        assert (await sell_named(gateway)).id == "found"
    assert script.methods == ["POST", "GET", "GET"]
    assert len(script.events_of(CircuitOpened)) == 1


async def test_an_unknown_outcome_is_resolved_by_an_open_breaker() -> None:
    breaker, clock = opened()
    clock.now += 10
    script = Script(post=[LOST], get=[NEVER_LEFT])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        error = await error_of(sell_named(gateway), OutcomeUnknownError)
        assert breaker.state is CircuitState.OPEN
        script.responses["get"] = [absent]
        assert await error.resolve(wait=200) is None


async def test_unavailable_gateway() -> None:
    """The first write is unknown after its 503, the next one certainly not sent."""
    breaker = CircuitBreaker(failures=3)
    script = Script(post=[httpx.Response(503)], get=[httpx.Response(503)])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        await error_of(sell(gateway), OutcomeUnknownError)
        await error_of(sell(gateway), NotSentError)


async def test_failed_login() -> None:
    """A client that cannot log in cannot reach the gateway."""
    breaker = CircuitBreaker(failures=1)
    script = Script(post=[NEVER_LEFT])
    login = PasswordLogin("ada", "word", "example")
    async with script.gateway(circuit_breaker=breaker, credentials=login) as gateway:
        await error_of(gateway.contacts.get("found"), NotSentError, match="no login")
    assert breaker.state is CircuitState.OPEN


async def test_half_open() -> None:
    """One of several writes is sent; the others are rejected until it has succeeded."""
    breaker, clock = opened()
    clock.now += 10
    script, rejected = Script(post=[SOLD]), list[NotSentError]()

    async def sell_or_fail() -> None:
        try:
            await sell(gateway)
        except NotSentError as error:
            rejected.append(error)

    async with script.gateway(circuit_breaker=breaker) as gateway:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(sell_or_fail)
        assert (len(script.asked), len(rejected)) == (1, 4)
        await sell(gateway)


@pytest.mark.parametrize(("response", "seconds"), [(silent, 0), (silent, 0.001), (NEVER_LEFT, 0.001)])
async def test_cancelled_probe(response: Any, seconds: float) -> None:
    """The next write is the probe, also if the first one was cancelled before its attempt or between two attempts."""
    breaker, clock = opened()
    clock.now += 10
    script = Script(post=[response], get=[absent])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        with anyio.move_on_after(seconds) as scope:
            await sell(gateway)
        assert scope.cancelled_caught
        clock.now += 10
        script.responses["post"] = [SOLD]
        await gateway.transactions.create(SALE)
    assert breaker.state is CircuitState.CLOSED


async def test_unknown_probe() -> None:
    """A lost response neither closes nor opens it."""
    breaker, clock = opened()
    clock.now += 10
    script = Script(post=[LOST], get=[LOST])
    async with script.gateway(circuit_breaker=breaker) as gateway:
        await error_of(sell(gateway), OutcomeUnknownError)
        assert breaker.state is CircuitState.HALF_OPEN
        script.responses["post"] = [SOLD]
        await sell(gateway)


async def test_views_and_clients_share_a_breaker() -> None:
    breaker = CircuitBreaker(failures=1)
    script = Script(post=[NEVER_LEFT])
    credentials = AccessToken("token")
    async with (
        script.gateway(circuit_breaker=breaker) as gateway,
        script.gateway(circuit_breaker=breaker, credentials=credentials) as other,
    ):
        view = gateway.with_options(max_attempts=1)
        await error_of(sell(view), NotSentError, match="connection refused")
        for client in (gateway, view, other):
            await error_of(client.contacts.create(NEW), NotSentError, match="circuit breaker is open")
    assert len(script.asked) == 1
