"""Lookups for the outcome queries that a ledger stores."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._wire.call import LISTED, RECORD, Lookup, OutcomeQuery
from gateway_async._wire.evidence import is_known
from gateway_async._wire.new_record import NEW_RECORD, new_record
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.schedule_change import SCHEDULE_CHANGE, schedule_change
from gateway_async.errors import InvalidRequestError
from gateway_async.resources import RESOURCES

_SPECS: Final[Mapping[str, ResourceSpec[Any]]] = {
    name: spec for name, kind in RESOURCES.items() if (spec := kind.spec) and spec.moves_money
}
_KINDS: Final[Mapping[str, Callable[[OutcomeQuery], Lookup[Any]]]] = {
    **dict.fromkeys((RECORD, LISTED), lambda outcome_query: _SPECS[outcome_query.resource].lookup(outcome_query)),
    NEW_RECORD: lambda outcome_query: new_record(_SPECS[outcome_query.resource], outcome_query),
    SCHEDULE_CHANGE: lambda outcome_query: schedule_change(_SPECS[outcome_query.resource], outcome_query),
}


def lookup_of(content: Mapping[str, Any]) -> Lookup[Any] | None:
    """Build the lookup for an outcome query in JSON form.

    Returns None if this version of the package does not know the query.
    """
    try:
        outcome_query = OutcomeQuery.read(content)
        return _KINDS[outcome_query.kind](outcome_query) if is_known(outcome_query.evidence) else None
    except (ValueError, KeyError, InvalidRequestError):
        return None
