"""The resources of a client. To add one, import its class here and give it one line in `Resources`.

An attribute has the name of the resource's module. To add an endpoint, add a method to that module; the methods of
`ResourceSpec` build its call. Start at `account_vaults.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._execution.execute import CallExecutor
from gateway_async._wire.call import LISTED, RECORD, Lookup, OutcomeQuery
from gateway_async._wire.evidence import is_known
from gateway_async._wire.new_record import NEW_RECORD, new_record
from gateway_async._wire.request import RequestDefaults
from gateway_async._wire.resource import ResourceSpec
from gateway_async.errors import InvalidRequestError
from gateway_async.resources._resource import Resource, ResourceAttribute, attribute
from gateway_async.resources.account_vaults import AccountVaults
from gateway_async.resources.contacts import Contacts
from gateway_async.resources.locations import Locations
from gateway_async.resources.notes import Notes
from gateway_async.resources.paylinks import Paylinks
from gateway_async.resources.postback_configs import PostbackConfigs
from gateway_async.resources.product_files import ProductFiles
from gateway_async.resources.quick_invoices import QuickInvoices
from gateway_async.resources.recurrings import SCHEDULE_CHANGE, Recurrings, schedule_change
from gateway_async.resources.router_account_vaults import RouterAccountVaults
from gateway_async.resources.router_transactions import RouterTransactions
from gateway_async.resources.tags import Tags
from gateway_async.resources.terminals import Terminals
from gateway_async.resources.tokens import Tokens
from gateway_async.resources.transaction_batches import TransactionBatches
from gateway_async.resources.transactions import Transactions
from gateway_async.resources.users import Users

__all__ = ["RESOURCES", "Resources", "lookup_of"]


class Resources:
    """The resources of a client, each created at its first use."""

    account_vaults = attribute(AccountVaults)
    contacts = attribute(Contacts)
    locations = attribute(Locations)
    notes = attribute(Notes)
    paylinks = attribute(Paylinks)
    postback_configs = attribute(PostbackConfigs)
    product_files = attribute(ProductFiles)
    quick_invoices = attribute(QuickInvoices)
    recurrings = attribute(Recurrings)
    router_account_vaults = attribute(RouterAccountVaults)
    router_transactions = attribute(RouterTransactions)
    tags = attribute(Tags)
    terminals = attribute(Terminals)
    tokens = attribute(Tokens)
    transaction_batches = attribute(TransactionBatches)
    transactions = attribute(Transactions)
    users = attribute(Users)

    def __init__(self, executor: CallExecutor, defaults: RequestDefaults) -> None:
        self._executor = executor
        self._defaults = defaults


RESOURCES: Final[Mapping[str, type[Resource]]] = {
    name: attribute.kind for name, attribute in vars(Resources).items() if isinstance(attribute, ResourceAttribute)
}
"""Attribute of the client → class of the resource."""

_SPECS: Final[Mapping[str, ResourceSpec[Any]]] = {
    name: spec for name, kind in RESOURCES.items() if (spec := kind.spec) and spec.moves_money
}
_KINDS: Final[Mapping[str, Callable[[OutcomeQuery], Lookup[Any]]]] = {
    **dict.fromkeys((RECORD, LISTED), lambda outcome_query: _SPECS[outcome_query.resource].lookup(outcome_query)),
    NEW_RECORD: lambda outcome_query: new_record(_SPECS[outcome_query.resource], outcome_query),
    SCHEDULE_CHANGE: schedule_change,
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
