"""Calls and outcome queries: plain values that show no more than they may."""

import json

import pytest

from gateway_async._secrets import Secret
from gateway_async._wire.call import Call, HttpRequest, OutcomeQuery

# --- calls


def call(path: str = "/v2/contacts/1") -> Call[None]:
    """A call with something to hide."""
    return Call(
        request=HttpRequest(method="PUT", path=path, body=b'{"contact": {"ssn4": "8264"}}', secrets=(Secret("8264"),)),
        read=lambda _: None,
    )


def test_a_call_is_named_by_its_request_line() -> None:
    assert str(call()) == "PUT /v2/contacts/1"


def test_a_call_does_not_show_its_body() -> None:
    assert "8264" not in repr(call())
    assert "Secret" not in repr(call())


def test_a_card_number_in_the_path_is_masked() -> None:
    assert str(call("/v2/contacts/4111111111111111")) == "PUT /v2/contacts/************1111"


def test_calls_are_told_apart_by_identity() -> None:
    assert call() != call()


# --- outcome queries


BY_API_ID = OutcomeQuery(
    resource="transactions",
    id="mine",
    location_id="loc",
    expected={"transaction_api_id": "mine", "location_id": "loc", "transaction_amount": "12.50"},
    evidence="exists",
)
BY_ID = OutcomeQuery(
    resource="transactions",
    id="t1",
    expected={"id": "t1"},
    evidence="is_completed",
    sent={"transaction_amount": "9.00"},
)


@pytest.mark.parametrize("outcome_query", [BY_API_ID, BY_ID])
def test_an_outcome_query_survives_json_exactly(outcome_query: OutcomeQuery) -> None:
    assert OutcomeQuery.read(json.loads(json.dumps(outcome_query.as_json()))) == outcome_query


@pytest.mark.parametrize(
    "content", [{}, {"resource": "transactions", "id": "t1", "evidence": "exists", "of_a_later_version": 1}]
)
def test_missing_and_unknown_keys_are_rejected(content: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not an outcome query"):
        OutcomeQuery.read(content)
