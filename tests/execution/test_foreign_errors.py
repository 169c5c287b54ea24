"""Errors that this package does not raise, such as the event loop's: how far the request got decides what is known."""

from collections.abc import Callable
from typing import Any, NoReturn

import httpx
import pytest

from gateway_async import (
    AsyncGateway,
    CircuitBreaker,
    ConnectionLostError,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    PasswordLogin,
    SendStage,
)
from gateway_async._execution import execute
from gateway_async._execution.terminals import TerminalQueues, UnresolvedCalls
from gateway_async._execution.tokens import Authenticator
from gateway_async.observe import CallEnded
from tests.support.scripted_transport import (
    APPROVED,
    FOUND,
    LOST,
    NEVER_LEFT,
    NOT_THERE,
    Script,
    ScriptedResponse,
    error_of,
    sell_at_terminal,
    sell_named,
    silent,
)

from .test_ledger import LedgerScript, intent

pytestmark = pytest.mark.anyio


def fail(*_: object, **_options: object) -> NoReturn:
    """Fail as a process without a free descriptor does."""
    raise OSError(24, "Too many open files")


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every repetition of an attempt fail."""
    monkeypatch.setattr(execute, "AsyncRetrying", fail)


async def read(gateway: AsyncGateway) -> object:
    return await gateway.transactions.get("t1")


@pytest.mark.usefixtures("no_retries")
@pytest.mark.parametrize(
    ("verb", "response", "kind", "reached"),
    [
        (sell_named, LOST, OutcomeUnknownError, SendStage.SENT),
        (sell_at_terminal, LOST, OutcomeUnknownError, SendStage.SENT),
        (sell_named, NEVER_LEFT, NotSentError, SendStage.NOTHING_WRITTEN),
        (sell_at_terminal, NEVER_LEFT, NotSentError, SendStage.NOTHING_WRITTEN),
        (read, LOST, ConnectionLostError, SendStage.SENT),
    ],
)
async def test_known_outcome(
    verb: Callable[[AsyncGateway], Any], response: ScriptedResponse, kind: type[GatewayError], reached: SendStage
) -> None:
    """The call is unknown, or was not sent, as if the other error had not happened; it is the cause."""
    script = LedgerScript(post=[response], get=[response])
    async with script.gateway() as gateway:
        error: Any = await error_of(verb(gateway), kind)
    assert (error.reached, type(error.__cause__), error.__cause__.errno) == (reached, OSError, 24)
    outcomes = [note[1] for note in script.ledger.notes if note[0] == "record_outcome"]
    assert outcomes == (["not_sent"] if kind is NotSentError else [])
    (ended,) = script.events_of(CallEnded)
    assert ended.error is error


async def test_lost_payment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only what the connection raises: the payment that was executed is found."""
    script = Script(post=[APPROVED], get=[FOUND])
    record_failure = CircuitBreaker.record

    def fail_once(breaker: CircuitBreaker, error: GatewayError | None) -> bool:
        monkeypatch.setattr(CircuitBreaker, "record", record_failure)
        return fail(breaker, error)

    monkeypatch.setattr(CircuitBreaker, "record", fail_once)
    assert (await script.run(sell_named, circuit_breaker=CircuitBreaker())).id == "found"
    assert script.methods == ["POST", "GET"]


async def test_late_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The payment may have been executed, so that one lookup that does not find it proves nothing."""
    extend_token = Authenticator.extend_token

    def fail_once(_: Authenticator, signature: object) -> NoReturn:
        monkeypatch.setattr(Authenticator, "extend_token", extend_token)
        fail(signature)

    monkeypatch.setattr(Authenticator, "extend_token", fail_once)
    login = httpx.Response(201, json={"token": {"id": "t", "token": "planted", "expire": 15}})
    script = Script(post=[login, APPROVED], get=[NOT_THERE, FOUND])
    sold = await script.run(sell_named, credentials=PasswordLogin("user", "password", "domain"))
    assert sold.id == "found"
    assert script.methods[:3] == ["POST", "POST", "GET"]
    assert script.methods.count("POST") == 2


async def test_an_error_before_the_terminal_is_free_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnresolvedCalls, "check", fail)
    script = Script(post=[APPROVED])
    await script.fail(sell_at_terminal, NotSentError, match="was not sent: OSError: .*Too many open files")
    assert script.methods == []


async def test_terminal_payment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is lost with the clean-up that failed, and `resolve()` finds it."""
    leave = TerminalQueues._leave
    monkeypatch.setattr(TerminalQueues, "_leave", fail)
    script = Script(post=[APPROVED], get=[FOUND])
    async with script.gateway() as gateway:
        error = await error_of(sell_at_terminal(gateway), OutcomeUnknownError, match="Too many open files")
        monkeypatch.setattr(TerminalQueues, "_leave", leave)
        assert (await error.resolve()) is not None


@pytest.mark.usefixtures("no_retries")
async def test_recovery() -> None:
    """One lookup that fails in the process is the error of its call, and the call stays open."""
    script = LedgerScript(get=[LOST])
    script.ledger.left_open = [intent()]
    (found,) = await script.run(lambda gateway: gateway.recover(wait=0))
    assert (found.outcome, type(found.error)) == ("unknown", ConnectionLostError)


@pytest.mark.usefixtures("no_retries")
async def test_cancellation() -> None:
    """The lookup under the shield fails: the task is cancelled, and gets no other error."""
    await Script(post=[silent], get=[FOUND]).cancel(sell_at_terminal, 5)
