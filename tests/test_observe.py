"""Events: what observers are told and what the log says."""

import asyncio
import json
import logging
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from gateway_async import AsyncGateway, InvalidRequestError, UserApiKey
from gateway_async.errors import ConnectionLostError, NotSentError
from gateway_async.observe import (
    AttemptEnded,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    CallStarted,
    CircuitClosed,
    CircuitOpened,
    Event,
    LeaseRenewalFailed,
    LookupOutcome,
    LookupStarted,
    NextStep,
    OutcomeLookedUp,
    RetryBudgetExhausted,
    TerminalProgress,
    TerminalState,
    TerminalWaitEnded,
    TerminalWaitStarted,
    log_event,
    notify,
)

CALL = "POST /v2/transactions"
TEMPLATES = [
    ("GET /v2/contacts", "GET /v2/contacts"),
    ("GET /v2/contacts/11e8", "GET /v2/contacts/{id}"),
    ("POST /v2/quickinvoices/11e8/resend", "POST /v2/quickinvoices/{id}/resend"),
    ("DELETE /v2/quickinvoices/11e8/removefile/7", "DELETE /v2/quickinvoices/{id}/removefile/{id}"),
    ("GET /v2/users/me", "GET /v2/users/me"),
    ("", ""),
]
LOST = ConnectionLostError("reset", call=CALL)

SENTENCES: list[tuple[Event, int, str]] = [
    (CallStarted(call=CALL), logging.DEBUG, "POST /v2/transactions started"),
    (CallStarted(call=CALL, api_id="order-7"), logging.DEBUG, "POST /v2/transactions (order-7) started"),
    (TerminalWaitStarted(call=CALL, terminal_id="t"), logging.DEBUG, "POST /v2/transactions waits for terminal t"),
    (
        TerminalWaitEnded(call=CALL, terminal_id="t", seconds=2.0),
        logging.DEBUG,
        "POST /v2/transactions waited 2.000 s for terminal t: done",
    ),
    (
        AttemptStarted(call=CALL, attempt=1, gateway="https://gateway.test"),
        logging.DEBUG,
        "POST /v2/transactions attempt 1 started",
    ),
    (
        AttemptEnded(call=CALL, attempt=1, seconds=0.25, error=LOST),
        logging.DEBUG,
        "POST /v2/transactions attempt 1 ended after 0.250 s: ConnectionLostError",
    ),
    (LookupStarted(call=CALL), logging.DEBUG, "POST /v2/transactions is looked up"),
    (
        AttemptFailed(call=CALL, attempt=1, error=NotSentError("no route", call=CALL), next_step=NextStep.AGAIN),
        logging.INFO,
        "POST /v2/transactions attempt 1 failed, next: again: POST /v2/transactions was not sent: no route",
    ),
    (
        AttemptFailed(call=CALL, attempt=2, error=LOST, next_step=NextStep.LOOK_UP),
        logging.WARNING,
        "POST /v2/transactions attempt 2 failed, next: look up: POST /v2/transactions: the connection was lost: reset",
    ),
    (
        AttemptFailed(call=CALL, attempt=3, error=LOST, next_step=NextStep.STOP),
        logging.DEBUG,
        "POST /v2/transactions attempt 3 failed, next: stop: POST /v2/transactions: the connection was lost: reset",
    ),
    (
        OutcomeLookedUp(call=CALL, outcome=LookupOutcome.FOUND),
        logging.WARNING,
        "POST /v2/transactions looked up: found",
    ),
    (
        OutcomeLookedUp(call=CALL, outcome=LookupOutcome.NOT_FOUND, cancelled=True),
        logging.WARNING,
        "POST /v2/transactions looked up: not found, after cancellation",
    ),
    (
        OutcomeLookedUp(call=CALL, outcome=LookupOutcome.UNKNOWN),
        logging.ERROR,
        "POST /v2/transactions looked up: unknown",
    ),
    (
        OutcomeLookedUp(call=CALL, outcome=LookupOutcome.UNKNOWN, error=LOST),
        logging.ERROR,
        "POST /v2/transactions looked up: unknown: POST /v2/transactions: the connection was lost: reset",
    ),
    (
        LeaseRenewalFailed(call=CALL, terminal_id="t", reason="held by till-8"),
        logging.WARNING,
        "POST /v2/transactions continues; the lease of terminal t was not renewed: held by till-8",
    ),
    (
        RetryBudgetExhausted(call=CALL, api_id="order-7"),
        logging.WARNING,
        "POST /v2/transactions (order-7) is not retried: the client's retry budget is exhausted",
    ),
    (
        CircuitOpened(call=CALL),
        logging.WARNING,
        "POST /v2/transactions found the gateway unreachable: the circuit breaker opened",
    ),
    (
        CircuitClosed(call=CALL, api_id="order-7"),
        logging.INFO,
        "POST /v2/transactions (order-7) reached the gateway: the circuit breaker closed",
    ),
    (
        CallEnded(call=CALL, attempts=2, seconds=0.25),
        logging.DEBUG,
        "POST /v2/transactions ended after 2 attempts and 0.250 s: done",
    ),
    (
        CallEnded(call=CALL, attempts=1, seconds=1.0, error=LOST),
        logging.DEBUG,
        "POST /v2/transactions ended after 1 attempt and 1.000 s: ConnectionLostError",
    ),
]


@pytest.mark.parametrize(("event", "level", "sentence"), SENTENCES)
def test_levels(event: Event, level: int, sentence: str, caplog: pytest.LogCaptureFixture) -> None:
    """Routine is DEBUG, a retry INFO, a doubt WARNING, an unknown outcome ERROR."""
    with caplog.at_level(logging.DEBUG, "gateway_async"):
        log_event(event)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(level, sentence)]


def test_unconfigured_logging() -> None:
    """Without logging set up, only failures that no caller receives are printed."""
    program = """
from gateway_async.observe import LookupOutcome, OutcomeLookedUp, log_event, logger
log_event(OutcomeLookedUp(call="POST /v2/transactions", api_id="a", outcome=LookupOutcome.UNKNOWN))
log_event(OutcomeLookedUp(call="POST /v2/transactions", api_id="b", outcome=LookupOutcome.FOUND, cancelled=True))
logger.error("a handler failed")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)  # noqa: S603  ours
    assert done.stderr.splitlines() == [
        "POST /v2/transactions (b) looked up: found, after cancellation",
        "a handler failed",
    ]


def test_a_quiet_logger_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "gateway_async"):
        log_event(CallStarted(call=CALL))
    assert caplog.records == []


def test_the_log_masks_card_numbers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "gateway_async"):
        log_event(CallStarted(call=CALL, api_id="4111111111111111"))
    assert caplog.messages == ["POST /v2/transactions (************1111) started"]


def test_every_observer_gets_every_event_in_order() -> None:
    told: list[tuple[str, Event]] = []
    event = CallStarted(call=CALL)
    notify([lambda event: told.append(("one", event)), lambda event: told.append(("two", event))], event)
    assert told == [("one", event), ("two", event)]


def test_raising_observer(caplog: pytest.LogCaptureFixture) -> None:
    """One observer's failure reaches neither the call nor the next observer."""
    told: list[Event] = []

    def fails(event: Event) -> None:
        raise RuntimeError("mine")

    event = CallStarted(call=CALL)
    notify([fails, told.append], event)
    assert told == [event]
    assert caplog.messages == ["an observer failed"]


def test_cancelled_future(caplog: pytest.LogCaptureFixture) -> None:
    """An observer that reads a cancelled future of its own does not cancel the call."""

    def asks_a_cancelled_future(_: Event) -> None:
        raise asyncio.CancelledError

    notify([asks_a_cancelled_future], CallStarted(call=CALL))
    assert caplog.messages == ["an observer failed"]


async def later(_: object) -> None:
    """Do nothing, if anybody awaits it."""


class Later:
    """Is called as `later` is."""

    async def __call__(self, _: object) -> None:
        """Do nothing."""


def test_an_observer_that_returns_a_coroutine_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def hides_it(event: Event) -> object:
        return later(event)

    notify([hides_it], CallStarted(call=CALL))
    assert caplog.messages == ["an observer failed"]
    assert "is not awaited" in caplog.text


@pytest.mark.parametrize("observers", [[later], [partial(later)], [Later()], ["print"], 5])
def test_invalid_observer(observers: Any) -> None:
    """An invalid observer is refused when the client is made, not when the first event is lost."""
    with pytest.raises(InvalidRequestError, match="observers: each must be a plain function, not an async one"):
        AsyncGateway("https://gateway.test", developer_id="d", credentials=UserApiKey("u", "k"), observers=observers)


def test_interrupt() -> None:
    """An observer may stop the program: only ordinary exceptions are swallowed."""

    def interrupts(event: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notify([interrupts], CallStarted(call=CALL))


@pytest.mark.parametrize(("call", "template"), TEMPLATES)
def test_templates(call: str, template: str) -> None:
    """A template has the same text for all records of a resource."""
    assert CallStarted(call=call).template == template.strip()


def test_progress_can_be_sent_as_json() -> None:
    progress = TerminalProgress(
        terminal_id="t", api_id=None, state=TerminalState.AT_TERMINAL, waited=1.5, left=298.5
    ).to_dict()
    assert json.loads(json.dumps(progress)) == progress
    assert (progress["state"], progress["left"]) == ("at the terminal", 298.5)
