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
TEMPLATES = {
    "GET /v2/contacts": "GET /v2/contacts",
    "GET /v2/contacts/11e8": "GET /v2/contacts/{id}",
    "POST /v2/quickinvoices/11e8/resend": "POST /v2/quickinvoices/{id}/resend",
    "DELETE /v2/quickinvoices/11e8/removefile/7": "DELETE /v2/quickinvoices/{id}/removefile/{id}",
    "GET /v2/users/me": "GET /v2/users/me",
    "": "",
}
LOST = ConnectionLostError("reset", call=CALL)
ORDER = {"api_id": "order-7"}

NOT_SENT = NotSentError("no route", call=CALL)
SENTENCES: list[tuple[type[Event], dict[str, Any], int, str]] = [
    (CallStarted, {}, logging.DEBUG, " started"),
    (CallStarted, ORDER, logging.DEBUG, " (order-7) started"),
    (TerminalWaitStarted, {"terminal_id": "t"}, logging.DEBUG, " waits for terminal t"),
    (TerminalWaitEnded, {"terminal_id": "t", "seconds": 2.0}, logging.DEBUG, " waited 2.000 s for terminal t: done"),
    (AttemptStarted, {"attempt": 1, "gateway": "https://gateway.test"}, logging.DEBUG, " attempt 1 started"),
    (
        AttemptEnded,
        {"attempt": 1, "seconds": 0.25, "error": LOST},
        logging.DEBUG,
        " attempt 1 ended after 0.250 s: ConnectionLostError",
    ),
    (LookupStarted, {}, logging.DEBUG, " is looked up"),
    (
        AttemptFailed,
        {"attempt": 1, "error": NOT_SENT, "next_step": NextStep.AGAIN},
        logging.INFO,
        f" attempt 1 failed, next: again: {NOT_SENT}",
    ),
    (
        AttemptFailed,
        {"attempt": 2, "error": LOST, "next_step": NextStep.LOOK_UP},
        logging.WARNING,
        " attempt 2 failed, next: look up: POST /v2/transactions: the connection was lost: reset",
    ),
    (
        AttemptFailed,
        {"attempt": 3, "error": LOST, "next_step": NextStep.STOP},
        logging.DEBUG,
        f" attempt 3 failed, next: stop: {LOST}",
    ),
    (OutcomeLookedUp, {"outcome": LookupOutcome.FOUND}, logging.WARNING, " looked up: found"),
    (
        OutcomeLookedUp,
        {"outcome": LookupOutcome.NOT_FOUND, "cancelled": True},
        logging.WARNING,
        " looked up: not found, after cancellation",
    ),
    (OutcomeLookedUp, {"outcome": LookupOutcome.UNKNOWN}, logging.ERROR, " looked up: unknown"),
    (
        OutcomeLookedUp,
        {"outcome": LookupOutcome.UNKNOWN, "error": LOST},
        logging.ERROR,
        " looked up: unknown: POST /v2/transactions: the connection was lost: reset",
    ),
    (
        LeaseRenewalFailed,
        {"terminal_id": "t", "reason": "held by till-8"},
        logging.WARNING,
        " continues; the lease of terminal t was not renewed: held by till-8",
    ),
    (RetryBudgetExhausted, ORDER, logging.WARNING, " (order-7) is not retried: the client's retry budget is exhausted"),
    (CircuitOpened, {}, logging.WARNING, " found the gateway unreachable: the circuit breaker opened"),
    (CircuitClosed, ORDER, logging.INFO, " (order-7) reached the gateway: the circuit breaker closed"),
    (CallEnded, {"attempts": 2, "seconds": 0.25}, logging.DEBUG, " ended after 2 attempts and 0.250 s: done"),
    (
        CallEnded,
        {"attempts": 1, "seconds": 1.0, "error": LOST},
        logging.DEBUG,
        " ended after 1 attempt and 1.000 s: ConnectionLostError",
    ),
]
"""Event, its facts, and the level and the sentence of the log, after the call."""


def test_levels(caplog: pytest.LogCaptureFixture) -> None:
    """Routine is DEBUG, a retry INFO, a doubt WARNING, an unknown outcome ERROR; a quiet logger costs nothing."""
    caplog.set_level(logging.DEBUG, "gateway_async")
    for event, facts, level, sentence in SENTENCES:
        caplog.clear()
        log_event(event(call=CALL, **facts))
        assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(level, CALL + sentence)]
    caplog.clear()
    caplog.set_level(logging.INFO, "gateway_async")
    log_event(CallStarted(call=CALL))
    assert caplog.records == []


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


def test_the_log_masks_card_numbers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "gateway_async"):
        log_event(CallStarted(call=CALL, api_id="4111111111111111"))
    assert caplog.messages == ["POST /v2/transactions (************1111) started"]


@pytest.mark.parametrize("failure", [RuntimeError("mine"), asyncio.CancelledError()])
def test_raising_observer(failure: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    """One observer's failure, or its cancelled future, reaches neither the call nor the next observer."""
    told: list[Event] = []

    def fails(event: Event) -> None:
        raise failure

    event = CallStarted(call=CALL)
    notify([fails, told.append], event)
    assert told == [event]
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


def test_templates() -> None:
    """A template has the same text for all records of a resource."""
    assert {call: CallStarted(call=call).template for call in TEMPLATES} == TEMPLATES


def test_progress_can_be_sent_as_json() -> None:
    progress = TerminalProgress(
        terminal_id="t", api_id=None, state=TerminalState.AT_TERMINAL, waited=1.5, left=298.5
    ).to_dict()
    assert json.loads(json.dumps(progress)) == progress
    assert (progress["state"], progress["left"]) == ("at the terminal", 298.5)
