"""Account vaults: one class for each way of storing an account, what each needs and implies."""

from typing import Any

import pytest

from gateway_async._secrets import AccountNumber, Secret
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

CARD = "4111111111111111"
NEEDED: list[tuple[type[Request], dict[str, Any]]] = [
    (CardVaultCreate, {"account_number": CARD, "exp_date": "0930"}),
    (SwipedVaultCreate, {"track_data": ";4111111111111111=3009?"}),
    (
        AchVaultCreate,
        {
            "account_number": "123456789012",
            "routing": "072000326",
            "account_holder_name": "Jo",
            "account_type": "checking",
            "is_company": False,
        },
    ),
    (TicketVaultCreate, {"ticket": "ticket-1"}),
    (RouterAccountVaultCreate, {"terminal_id": "term", "contact_id": "contact"}),
]


@pytest.mark.parametrize(
    ("kind", "needed", "missing"), [(kind, needed, name) for kind, needed in NEEDED for name in needed]
)
def test_what_a_way_of_storing_needs(kind: type[Request], needed: dict[str, Any], missing: str) -> None:
    """With all its required fields a request is made; without any one of them it is a type error."""
    assert kind(**needed) is not None
    with pytest.raises(TypeError, match=missing):
        kind(**{name: value for name, value in needed.items() if name != missing})


@pytest.mark.parametrize(
    ("kind", "implied"),
    [
        (CardVaultCreate, {"payment_method": "cc"}),
        (SwipedVaultCreate, {"payment_method": "cc"}),
        (AchVaultCreate, {"payment_method": "ach"}),
        (RouterAccountVaultCreate, {"payment_method": "cc", "action": "store"}),
    ],
)
def test_what_a_class_implies(kind: type[Request], implied: dict[str, str]) -> None:
    """Imply the payment method by the class."""
    assert dict(kind.implied) == implied


@pytest.mark.parametrize("kind", [TicketVaultCreate, TransactionVaultCreate, VaultCopyCreate])
def test_where_the_payment_method_is_a_choice(kind: Any) -> None:
    """A ticket, a transaction or another vault may hold a card or a bank account; a card is assumed."""
    ticket = {"ticket": "t"} if kind is TicketVaultCreate else {}
    assert kind(**ticket).payment_method == "cc"
    assert kind(payment_method="ach", **ticket).payment_method == "ach"


def test_account_data_is_masked_from_the_start() -> None:
    """Numbers, track data and tickets become secrets as soon as the request is made."""
    card = CardVaultCreate(account_number=CARD, exp_date="0930")
    swiped = SwipedVaultCreate(track_data="track")
    ach = AchVaultCreate(**NEEDED[2][1])
    ticket = TicketVaultCreate(ticket="ticket-1")
    assert (card.account_number, swiped.track_data) == (AccountNumber(CARD), Secret("track"))
    assert (ach.account_number, ach.routing) == (AccountNumber("123456789012"), AccountNumber("072000326"))
    assert ticket.ticket == Secret("ticket-1")


@pytest.mark.parametrize("kind", [kind for kind, _ in NEEDED[:4]])
def test_all_ways_share_what_a_vault_takes(kind: type[Request]) -> None:
    """Title, contact, address and custom fields are the same everywhere."""
    assert issubclass(kind, VaultCreate)
