"""Account vaults: one class for each way of storing an account, what each implies."""

from typing import Any

import pytest

from gateway_async.models.account_vaults import (
    AchVaultCreate,
    CardVaultCreate,
    RouterAccountVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
    TransactionVaultCreate,
    VaultCopyCreate,
    VaultCreate,
)
from gateway_async.models.request import Request


@pytest.mark.parametrize(
    ("kind", "implied"),
    [
        (CardVaultCreate, {"payment_method": "cc"}),
        (SwipedVaultCreate, {"payment_method": "cc"}),
        (AchVaultCreate, {"payment_method": "ach"}),
        (RouterAccountVaultCreate, {"payment_method": "cc", "action": "store"}),
    ],
)
def test_the_payment_method_is_implied_by_the_class(kind: type[Request], implied: dict[str, str]) -> None:
    assert dict(kind.implied) == implied


@pytest.mark.parametrize("kind", [TicketVaultCreate, TransactionVaultCreate, VaultCopyCreate])
def test_chosen_method(kind: Any) -> None:
    """A ticket, a transaction or another vault may hold a card or a bank account; a card is assumed."""
    ticket = {"ticket": "t"} if kind is TicketVaultCreate else {}
    assert kind(**ticket).payment_method == "cc"
    assert kind(payment_method="ach", **ticket).payment_method == "ach"


@pytest.mark.parametrize("kind", [CardVaultCreate, SwipedVaultCreate, AchVaultCreate, TicketVaultCreate])
def test_shared_fields(kind: type[Request]) -> None:
    """Title, contact, address and custom fields are the same everywhere."""
    assert issubclass(kind, VaultCreate)
