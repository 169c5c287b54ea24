"""Lookups for the outcome queries that a ledger stores."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._wire.call import Call
from gateway_async._wire.evidence import knows
from gateway_async._wire.new_record import KIND as NEW_RECORD
from gateway_async._wire.new_record import new_record
from gateway_async._wire.outcome_query import LISTED, RECORD, OutcomeQuery
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import InvalidRequestError
from gateway_async.resources.account_vaults import ACCOUNT_VAULT
from gateway_async.resources.transaction_batches import TRANSACTION_BATCH
from gateway_async.resources.transactions import TRANSACTION

__all__ = ["lookup_of"]

_NOUNS: Final[Mapping[str, ResourceSpec[Any]]] = {
    spec.resource: spec for spec in (ACCOUNT_VAULT, TRANSACTION, TRANSACTION_BATCH)
}
_KINDS: Final[Mapping[str, Callable[[OutcomeQuery], Call[Any]]]] = {
    **dict.fromkeys((RECORD, LISTED), lambda outcome_query: _NOUNS[outcome_query.resource].lookup(outcome_query)),
    NEW_RECORD: lambda outcome_query: new_record(_NOUNS[outcome_query.resource], outcome_query),
}


def lookup_of(content: Mapping[str, Any]) -> Call[Any] | None:
    """Build the lookup for an outcome query in JSON form.

    Returns None if this version of the package does not know the query.
    """
    try:
        outcome_query = OutcomeQuery.read(content)
        return _KINDS[outcome_query.kind](outcome_query) if knows(outcome_query.evidence) else None
    except (ValueError, KeyError, InvalidRequestError):
        return None
