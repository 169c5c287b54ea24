"""What answers an inquiry that a ledger has kept."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_async._wire.call import Call
from gateway_async._wire.inquiry import Inquiry
from gateway_async._wire.newcomer import KIND as NEWCOMER
from gateway_async._wire.newcomer import newcomer
from gateway_async._wire.noun import Noun
from gateway_async._wire.recovery import knows
from gateway_async.errors import InvalidRequestError
from gateway_async.resources.account_vaults import ACCOUNT_VAULT
from gateway_async.resources.transaction_batches import TRANSACTION_BATCH
from gateway_async.resources.transactions import TRANSACTION

__all__ = ["lookup_of"]

_NOUNS: Final[Mapping[str, Noun[Any]]] = {
    noun.resource: noun for noun in (ACCOUNT_VAULT, TRANSACTION, TRANSACTION_BATCH)
}
_KINDS: Final[Mapping[str, Callable[[Inquiry], Call[Any]]]] = {
    "record": lambda inquiry: _NOUNS[inquiry.resource].lookup(inquiry),
    NEWCOMER: lambda inquiry: newcomer(_NOUNS[inquiry.resource], inquiry),
}


def lookup_of(content: Mapping[str, Any]) -> Call[Any] | None:
    """The read that answers an inquiry, as JSON has it; None when this version of the package knows of none."""
    try:
        inquiry = Inquiry.read(content)
        return _KINDS[inquiry.kind](inquiry) if knows(inquiry.mark) else None
    except (ValueError, KeyError, InvalidRequestError):
        return None
