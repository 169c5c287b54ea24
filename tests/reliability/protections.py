"""Switch off one protection of the SDK at a time, to show that a row of the reliability table depends on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import attrs

from gateway_async._execution import execute, http_client, recorder
from gateway_async._execution.circuit_breaker import RetryBudget
from gateway_async._execution.page_stream import PageStream
from gateway_async._execution.state import CallPlan
from gateway_async._execution.tokens import TokenProvider
from gateway_async._wire import response_matching
from gateway_async._wire.auth import Signature
from gateway_async._wire.call import Call
from gateway_async._wire.retry_policy import Decision, decide
from gateway_async.credentials import AccessToken
from gateway_async.ledger.protocol import Intent
from gateway_async.observe import NextStep

_FOREVER: Final = 3600.0


@contextmanager
def lookup_before_repeat() -> Iterator[None]:
    """Repeat a write whose response was lost without looking it up."""

    def decide_again(*arguments: Any, **options: Any) -> Decision:
        decision = decide(*arguments, **options)
        return attrs.evolve(decision, step=NextStep.AGAIN) if decision.step is NextStep.LOOK_UP else decision

    with patch.object(execute, "decide", decide_again):
        yield


@contextmanager
def check_of_responses() -> Iterator[None]:
    """Accept the response to another request."""
    with patch.object(response_matching, "_differences", lambda *_, **__: iter(())):
        yield


@contextmanager
def retry_budget() -> Iterator[None]:
    """Retry without a budget."""
    with patch.object(RetryBudget, "try_withdraw", lambda _: True):
        yield


@contextmanager
def shared_login() -> Iterator[None]:
    """Log in for each call whose token was rejected, also if another call is doing so."""

    def discard(provider: TokenProvider, signature: Signature) -> bool:
        provider._token = None
        return bool(signature.secrets)

    async def fetch(provider: TokenProvider, call: Call[Any]) -> AccessToken:
        token = provider._valid_token() or await provider._renew(call)
        return AccessToken(token.token)

    with patch.multiple(TokenProvider, discard=discard, token=fetch):
        yield


@contextmanager
def total_deadline() -> Iterator[None]:
    """Give each call an hour, whatever its deadline is."""

    def make_patient_plan(**values: Any) -> CallPlan[Any]:
        return CallPlan(**values | {"seconds": _FOREVER})

    with patch.object(execute, "CallPlan", make_patient_plan):
        yield


@contextmanager
def body_limit() -> Iterator[None]:
    """Accept a body of any length."""
    with patch.object(http_client, "MAX_BODY", 1 << 60):
        yield


@contextmanager
def overlapping_pages() -> Iterator[None]:
    """Take each page of a list for the next one, also if no record of it was read before."""

    async def is_next(*_: object) -> bool:
        return True

    with patch.object(PageStream, "_is_next", is_next):
        yield


@contextmanager
def monotonic_doubt() -> Iterator[None]:
    """Measure the time in which a write is in doubt by the wall clock."""

    def seconds_in_doubt(_: object, intent: Intent) -> float:
        return (intent.conclusive_at - recorder._utc_now()).total_seconds()

    with patch.object(recorder.LedgerRecorder, "_seconds_in_doubt", seconds_in_doubt):
        yield
