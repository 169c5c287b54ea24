"""The decision table of money, cell by cell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._wire.call import Kind
from gateway_async._wire.retrying import Fate, Verdict, fate_of, is_definite, pause, print_table, verdict
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    ConnectionLostError,
    DeadlineExceededError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    MismatchedWriteError,
    NotSentError,
    RateLimitError,
    ServerError,
    StatusError,
    ValidationError,
)

EXPECTED = """
| what became of it | read | named write | idempotent write | unnamed write | terminal |
|---|---|---|---|---|---|
| provably not sent | again | again | again | again | again |
| sent, no whole answer | again | look up | look up | look up | look up |
| 2xx that does not parse | stop | look up | look up | look up | look up |
| another question's answer | again | look up | look up | look up | look up |
| 429 | again | look up | look up | stop | stop |
| 502, 503, 504 | again | look up | look up | look up | look up |
| other 5xx, 3xx, 408 | stop | look up | look up | look up | look up |
| other 4xx | stop | stop | stop | stop | stop |
"""

ERRORS: dict[Fate, list[GatewayError]] = {
    Fate.NOT_SENT: [NotSentError("no route")],
    Fate.LOST: [ConnectionLostError("reset"), DeadlineExceededError(1.0), GatewayError("odd")],
    Fate.UNREADABLE: [MalformedReplyError("$", "not JSON")],
    Fate.MISMATCHED: [MismatchedReplyError(["id"]), MismatchedWriteError(["id"])],
    Fate.THROTTLED: [RateLimitError(429)],
    Fate.OVERLOADED: [ServerError(status) for status in (502, 503, 504)],
    Fate.FAILED: [*[ServerError(status) for status in (500, 501, 505, 599)], StatusError(302), StatusError(408)],
    Fate.REFUSED: [StatusError(status) for status in (400, 401, 402, 403, 404, 405, 409, 410, 418, 422, 499)],
}
CELLS = [
    (fate, kind, cell)
    for fate, line in zip(Fate, EXPECTED.strip().splitlines()[2:], strict=True)
    for kind, cell in zip(Kind, line.strip("| ").split(" | ")[1:], strict=True)
]


@pytest.mark.parametrize(("fate", "kind", "cell"), CELLS, ids=lambda part: getattr(part, "name", part))
def test_each_cell(fate: Fate, kind: Kind, cell: str) -> None:
    """For every error of a fate and every kind of call the verdict is the one in the table."""
    assert [verdict(kind, error).value for error in ERRORS[fate]] == [cell] * len(ERRORS[fate])


@pytest.mark.parametrize("fate", Fate)
def test_each_error_has_its_fate(fate: Fate) -> None:
    """What an error says about how far the call got."""
    assert {fate_of(error) for error in ERRORS[fate]} == {fate}


def test_the_printed_table() -> None:
    """The documentation shows the table that decides."""
    assert print_table() == EXPECTED.strip()


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.READ])
@pytest.mark.parametrize("fate", [fate for fate in Fate if fate is not Fate.NOT_SENT])
def test_no_write_that_left_is_sent_again_unasked(fate: Fate, kind: Kind) -> None:
    """Only what provably never left is repeated without a lookup."""
    verdicts = {verdict(kind, error, may_have_left_before=left) for error in ERRORS[fate] for left in (True, False)}
    assert Verdict.AGAIN not in verdicts


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (Kind.READ, Verdict.STOP),
        (Kind.NAMED, Verdict.LOOK_UP),
        (Kind.IDEMPOTENT, Verdict.LOOK_UP),
        (Kind.UNNAMED, Verdict.STOP),
        (Kind.TERMINAL, Verdict.STOP),
    ],
)
def test_a_refusal_may_be_an_earlier_attempts_doing(kind: Kind, what: Verdict) -> None:
    """A refusal after an attempt that may have left is looked up, where there is something to look up."""
    error = ValidationError(422, fields={"transaction_api_id": ("already exists in this location",)})
    assert verdict(kind, error, may_have_left_before=True) is what
    assert verdict(kind, error) is Verdict.STOP


def test_a_refused_login_is_no_earlier_attempts_doing_for_a_read() -> None:
    """A 401 ends a read, whatever happened before."""
    assert verdict(Kind.READ, AuthenticationError(401), may_have_left_before=True) is Verdict.STOP


def test_what_is_certain() -> None:
    """Never sent, turned away and refused are a definite no; after anything else the write may have been done."""
    definite = {fate for fate in Fate if all(is_definite(error) for error in ERRORS[fate])}
    doubtful = {fate for fate in Fate if not any(is_definite(error) for error in ERRORS[fate])}
    assert definite == {Fate.NOT_SENT, Fate.THROTTLED, Fate.REFUSED}
    assert doubtful == set(Fate) - definite


@pytest.mark.parametrize("kind", Kind)
def test_a_closed_client_stays_closed(kind: Kind) -> None:
    """Trying again would not open it."""
    assert verdict(kind, ClientClosedError()) is Verdict.STOP


# --- pauses


@pytest.mark.parametrize(
    ("attempt", "jitter", "seconds"),
    [(1, 0.0, 0.05), (1, 1.0, 0.1), (2, 1.0, 0.2), (3, 1.0, 0.4), (6, 1.0, 3.2), (7, 1.0, 5.0), (7, 0.0, 2.5)],
)
def test_pauses_grow(attempt: int, jitter: float, seconds: float) -> None:
    """Each pause is twice the last, up to five seconds, and half of it is chance."""
    assert pause(ConnectionLostError("reset"), attempt, jitter) == pytest.approx(seconds)


@pytest.mark.parametrize("error", [RateLimitError(429, retry_after=7.0), ServerError(503, retry_after=7.0)])
def test_the_gateways_pause_is_kept(error: StatusError) -> None:
    """Nobody comes back before the time that the gateway asked for, and not all at once."""
    assert pause(error, 1, 0.0) == 7.0
    assert 7.0 < pause(error, 1, 1.0) < 8.0


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_a_pause_is_bounded(attempt: int, jitter: float) -> None:
    """However long it goes on, a pause stays between nothing and five seconds."""
    assert 0 < pause(ConnectionLostError("reset"), attempt, jitter) <= 5
