"""An outcome query is plain values: what is written of it can be read back."""

import json

import pytest

from gateway_async._wire.call import OutcomeQuery
from gateway_async.models.record import ApiId

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


def test_the_gateways_id_or_the_integrators_with_its_location_names_the_record() -> None:
    assert (BY_ID.ref, BY_API_ID.ref) == ("t1", ApiId("mine", "loc"))


@pytest.mark.parametrize(
    "content", [{}, {"resource": "transactions", "id": "t1", "evidence": "exists", "of_a_later_version": 1}]
)
def test_missing_and_unknown_keys_are_rejected(content: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not an outcome query"):
        OutcomeQuery.read(content)
