"""The pause before a call is repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenacity import AsyncRetrying, RetryCallState

from gateway_async import AuthenticationError, ConnectionLostError, GatewayError, RateLimitError, ServerError
from gateway_async._execution.execute import _pause


def pause(error: GatewayError, attempt: int, chance: float) -> float:
    """Return the pause after an attempt that failed, for a share of the random time."""
    retry = RetryCallState(AsyncRetrying(), None, (), {})
    retry.attempt_number = attempt
    retry.set_exception((type(error), error, None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("random.uniform", lambda least, most: least + chance * (most - least))
        return _pause(retry)


@pytest.mark.parametrize(
    ("attempt", "chance", "seconds"),
    [(1, 0.0, 0.0), (1, 1.0, 0.2), (2, 1.0, 0.4), (2, 0.5, 0.2), (5, 1.0, 3.2), (6, 1.0, 5.0), (6, 0.25, 1.25)],
)
def test_pauses_grow(attempt: int, chance: float, seconds: float) -> None:
    """A pause is all chance, up to twice as much as before, and to five seconds: clients do not come back together."""
    assert pause(ConnectionLostError("reset"), attempt, chance) == pytest.approx(seconds)


@pytest.mark.parametrize("error", [RateLimitError(429, retry_after=7.0), ServerError(503, retry_after=7.0)])
def test_requested_pause(error: GatewayError) -> None:
    """Wait at least as long as the gateway asks, plus jitter."""
    assert pause(error, 1, 0.0) == 7.0
    assert 7.0 < pause(error, 1, 1.0) < 8.0


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_pause_lasts_five_seconds_at_most(attempt: int, chance: float) -> None:
    assert 0 <= pause(ConnectionLostError("reset"), attempt, chance) <= 5


def test_a_new_token_needs_no_pause() -> None:
    assert pause(AuthenticationError(401, has_new_token=True), 3, 1.0) == 0.0
