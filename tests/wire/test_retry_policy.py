"""The decision table of money, cell by cell; `tests/execution/test_table.py` sees each cell obeyed."""

from functools import partial

import pytest

from gateway_async._wire.call import RepeatEffect
from gateway_async._wire.retry_policy import (
    TABLE,
    AttemptResult,
    classify,
    decide,
    format_table,
    is_definite,
    renews_token,
)
from gateway_async.errors import (
    AuthenticationError,
    ClientClosedError,
    ConnectionLostError,
    DeadlineExceededError,
    DuplicateError,
    GatewayError,
    MalformedReplyError,
    MismatchedReplyError,
    MismatchedWriteError,
    NotSentError,
    RateLimitError,
    SendStage,
    ServerError,
    StatusError,
    TerminalBusyError,
    ValidationError,
)
from gateway_async.observe import NextStep

EXPECTED = """
| how far it got | what came back | read | lookup | named write | idempotent write | unnamed write | terminal | pause before a retry |
|---|---|---|---|---|---|---|---|---|
| not connected | – | again | again | again | again | again | again | backoff |
| nothing written | – | again | again | again | again | again | again | backoff |
| sent | – | again | again | look up, else again | look up, else again | look up, else unknown | look up, else unknown | backoff |
| response truncated | – | again | again | look up, else again | look up, else again | look up, else unknown | look up, else unknown | backoff |
| responded | 2xx that does not parse | stop | again | look up, else again | look up, else again | look up, else unknown | look up, else unknown | backoff |
| responded | response to another request | again | again | look up, else unknown | look up, else unknown | look up, else unknown | look up, else unknown | backoff |
| responded | 429 | again | again | look up, else again | look up, else again | look up, else stop | look up, else stop | `Retry-After` plus backoff |
| responded | 401 to a token that a login replaces | renew token | renew token | look up, else renew token | look up, else renew token | look up, else stop | look up, else stop | – |
| responded | 401 to such a token, not the gateway's JSON | renew token | renew token | look up, else unknown | look up, else unknown | look up, else unknown | look up, else unknown | – |
| responded | 502, 503, 504, or 429 that is not the gateway's JSON | again | again | look up, else again | look up, else again | look up, else unknown | look up, else unknown | `Retry-After` plus backoff |
| responded | other 5xx, 3xx, 408 | stop | again | look up, else again | look up, else again | look up, else unknown | look up, else unknown | `Retry-After` plus backoff |
| responded | 404 | stop | again | look up, else stop | look up, else stop | look up, else stop | look up, else stop | backoff |
| responded | 404 or other 4xx, not the gateway's JSON | stop | again | look up, else unknown | look up, else unknown | look up, else unknown | look up, else unknown | backoff |
| responded | 422 | stop | stop | stop | look up, else stop | look up, else stop | stop | – |
| responded | other 4xx | stop | stop | stop | stop | stop | stop | – |
| responded | 422 or other 4xx, on a connection that was used before | stop | stop | look up, else stop | look up, else stop | look up, else stop | look up, else stop | – |
| responded | 404 or other 4xx, after an attempt that may have arrived | stop | stop | look up, else unknown | look up, else unknown | stop | stop | – |
"""  # noqa: E501

REFUSALS: list[GatewayError] = [
    *[StatusError(status) for status in (400, 401, 402, 403, 405, 409, 410, 418, 499)],
    AuthenticationError(401),
    AuthenticationError(500, is_login=True),
    AuthenticationError(403, is_login=True, is_from_gateway=False),
    TerminalBusyError("t"),
]
ERRORS: dict[AttemptResult, list[GatewayError]] = {
    AttemptResult.QUEUED: [NotSentError("no place")],
    AttemptResult.UNWRITTEN: [NotSentError("no route", reached=SendStage.NOTHING_WRITTEN)],
    AttemptResult.LOST: [ConnectionLostError("reset"), DeadlineExceededError(1.0), GatewayError("odd")],
    AttemptResult.TRUNCATED: [ConnectionLostError("reset", reached=SendStage.RESPONSE_TRUNCATED)],
    AttemptResult.UNREADABLE: [MalformedReplyError("$", "not JSON")],
    AttemptResult.MISMATCHED: [MismatchedReplyError(["id"]), MismatchedWriteError(["id"])],
    AttemptResult.THROTTLED: [RateLimitError(429)],
    AttemptResult.EXPIRED: [AuthenticationError(401, has_new_token=True)],
    AttemptResult.UNTRUSTED: [AuthenticationError(401, is_from_gateway=False, has_new_token=True)],
    AttemptResult.OVERLOADED: [
        *[ServerError(status) for status in (502, 503, 504)],
        RateLimitError(429, is_from_gateway=False),
    ],
    AttemptResult.FAILED: [
        *[ServerError(status) for status in (500, 501, 505, 599)],
        StatusError(302),
        StatusError(408),
    ],
    AttemptResult.NOT_FOUND: [StatusError(404)],
    AttemptResult.NOT_FROM_GATEWAY: [
        *[StatusError(status, is_from_gateway=False) for status in (400, 403, 404, 413, 422)],
        AuthenticationError(401, is_from_gateway=False),
    ],
    AttemptResult.INVALID: [ValidationError(422)],
    AttemptResult.REFUSED: [DuplicateError(422), *REFUSALS],
    AttemptResult.REFUSED_ON_USED_CONNECTION: [ValidationError(422), *REFUSALS],
    AttemptResult.REFUSED_AFTER_DOUBT: [StatusError(404), ValidationError(422), *REFUSALS],
}
CELLS = [
    (result, effect, cell)
    for result, line in zip(AttemptResult, EXPECTED.strip().splitlines()[2:], strict=True)
    for effect, cell in zip(RepeatEffect, line.strip("| ").split(" | ")[2:-1], strict=True)
]


def circumstances(result: AttemptResult) -> dict[str, bool]:
    """Return the circumstances under which an error has this result."""
    return {
        "may_have_been_executed_before": result is AttemptResult.REFUSED_AFTER_DOUBT,
        "on_reused_connection": result is AttemptResult.REFUSED_ON_USED_CONNECTION,
    }


@pytest.mark.parametrize(("result", "effect", "cell"), CELLS, ids=lambda part: getattr(part, "name", part))
def test_each_cell(result: AttemptResult, effect: RepeatEffect, cell: str) -> None:
    """For every error of a result and every effect of call the decision is the one in the table."""
    decisions = {str(decide(effect, error, **circumstances(result))) for error in ERRORS[result]}
    assert decisions == {cell}


@pytest.mark.parametrize("result", AttemptResult)
def test_each_error_is_classified_by_how_far_the_call_got(result: AttemptResult) -> None:
    assert {classify(error, **circumstances(result)) for error in ERRORS[result]} == {result}


def test_an_earlier_try_changes_the_meaning_of_refusals_only() -> None:
    refusals = {
        AttemptResult.NOT_FOUND,
        AttemptResult.INVALID,
        AttemptResult.REFUSED,
        AttemptResult.REFUSED_ON_USED_CONNECTION,
        AttemptResult.REFUSED_AFTER_DOUBT,
    }
    for result in set(AttemptResult) - refusals:
        assert {classify(error, may_have_been_executed_before=True) for error in ERRORS[result]} == {result}


def test_reused_connection() -> None:
    """A duplicate is open until it is fetched, so it is not looked up."""
    assert classify(DuplicateError(422), on_reused_connection=True) is AttemptResult.REFUSED


def test_the_printed_table() -> None:
    """The documentation shows the table that decides."""
    assert format_table() == EXPECTED.strip()


NEVER_LEFT = (AttemptResult.QUEUED, AttemptResult.UNWRITTEN)


@pytest.mark.parametrize("effect", [effect for effect in RepeatEffect if not effect.is_read])
def test_repeated_writes(effect: RepeatEffect) -> None:
    """Only what provably never left is repeated without a lookup; after one neither a terminal's nor an unnamed one."""
    for result in (result for result in AttemptResult if result not in NEVER_LEFT):
        assert TABLE[result][effect].step is not NextStep.AGAIN, result
        assert (
            effect not in (RepeatEffect.TERMINAL, RepeatEffect.UNNAMED)
            or TABLE[result][effect].if_not_found is not NextStep.AGAIN
        ), result


@pytest.mark.parametrize(
    ("effect", "more"),
    [
        (RepeatEffect.READ, set(AttemptResult)),
        (RepeatEffect.LOOKUP, set(AttemptResult)),
        (RepeatEffect.NAMED, set()),
        (RepeatEffect.IDEMPOTENT, set()),
        (RepeatEffect.UNNAMED, {AttemptResult.NOT_FOUND}),
        (RepeatEffect.TERMINAL, set()),
    ],
)
def test_what_is_certain(effect: RepeatEffect, more: set[AttemptResult]) -> None:
    """Never sent, turned away and refused are a definite no; after anything else a write may have been done."""
    definite = {
        result
        for result in AttemptResult
        for error in ERRORS[result]
        if is_definite(effect, error, may_have_been_executed_before=result is AttemptResult.REFUSED_AFTER_DOUBT)
    }
    refused = {
        AttemptResult.THROTTLED,
        AttemptResult.EXPIRED,
        AttemptResult.INVALID,
        AttemptResult.REFUSED,
        AttemptResult.REFUSED_ON_USED_CONNECTION,
        AttemptResult.REFUSED_AFTER_DOUBT,
    }
    assert definite == {*NEVER_LEFT, *refused, *more}


def test_late_404() -> None:
    """Alone, a 404 may be a late response to another request. After an attempt in doubt it is certain."""
    for error in ERRORS[AttemptResult.NOT_FOUND]:
        assert not is_definite(RepeatEffect.NAMED, error)
        assert is_definite(RepeatEffect.NAMED, error, may_have_been_executed_before=True)


@pytest.mark.parametrize("effect", RepeatEffect)
def test_a_closed_client_stays_closed(effect: RepeatEffect) -> None:
    assert str(decide(effect, ClientClosedError())) == "stop"


@pytest.mark.parametrize("is_from_gateway", [True, False])
def test_only_a_rejected_token_is_renewed(is_from_gateway: bool) -> None:
    rejected = partial(AuthenticationError, 401, is_from_gateway=is_from_gateway)
    assert not renews_token(rejected())
    assert renews_token(rejected(has_new_token=True))
