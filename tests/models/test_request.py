"""`Request`: what each needs, which values are secrets, what a request shows of itself, and `UNSET`."""

import copy
import pickle
from datetime import date
from typing import Any

import attrs
import pytest

from gateway_async._secrets import AccountNumber, Secret
from gateway_async.models.account_vaults import (
    AccountVaultUpdate,
    AchVaultCreate,
    CardVaultCreate,
    RouterAccountVaultCreate,
    SwipedVaultCreate,
    TicketVaultCreate,
)
from gateway_async.models.contacts import ContactCreate, ContactUpdate
from gateway_async.models.quick_invoices import QuickInvoiceCreate
from gateway_async.models.request import UNSET, Request
from gateway_async.models.transactions import RouterTransactionCreate, TransactionCreate, TransactionUpdate

CARD = "4111111111111111"
BANK_ACCOUNT: dict[str, Any] = {
    "account_number": "123456789012",
    "routing": "072000326",
    "account_holder_name": "Jo",
    "account_type": "checking",
    "is_company": False,
}
NEEDED: list[tuple[type[Request], dict[str, Any]]] = [
    (CardVaultCreate, {"account_number": CARD, "exp_date": "0930"}),
    (SwipedVaultCreate, {"track_data": ";4111111111111111=3009?"}),
    (AchVaultCreate, BANK_ACCOUNT),
    (TicketVaultCreate, {"ticket": "ticket-1"}),
    (RouterAccountVaultCreate, {"terminal_id": "term", "contact_id": "contact"}),
    (TransactionCreate, {"action": "sale"}),
    (TransactionUpdate, {"action": "void"}),
    (RouterTransactionCreate, {"action": "sale", "terminal_id": "term", "transaction_amount": "1.00"}),
    (QuickInvoiceCreate, {"title": "Lunch", "due_date": date(2026, 12, 1), "item_list": {"Tea": 1}}),
    (ContactCreate, {"last_name": "Smith"}),
]


@pytest.mark.parametrize(
    ("kind", "needed", "missing"), [(kind, needed, name) for kind, needed in NEEDED for name in needed]
)
def test_required_field(kind: type[Request], needed: dict[str, Any], missing: str) -> None:
    """With all its required fields a request is made; without any one of them it is a type error."""
    assert kind(**needed) is not None
    with pytest.raises(TypeError, match=missing):
        kind(**{name: value for name, value in needed.items() if name != missing})


@pytest.mark.parametrize(
    ("kind", "fields", "secrets"),
    [
        (CardVaultCreate, {"exp_date": "0930"}, {"account_number": AccountNumber(CARD)}),
        (SwipedVaultCreate, {}, {"track_data": Secret("track")}),
        (
            AchVaultCreate,
            BANK_ACCOUNT,
            {name: AccountNumber(BANK_ACCOUNT[name]) for name in ("account_number", "routing")},
        ),
        (TicketVaultCreate, {}, {"ticket": Secret("ticket-1")}),
        (TransactionCreate, {"action": "sale"}, dict.fromkeys(["account_number", "routing"], AccountNumber(CARD))),
        (TransactionCreate, {"action": "sale"}, dict.fromkeys(["cvv", "track_data", "ticket"], Secret("s"))),
    ],
)
def test_account_data(kind: type[Request], fields: dict[str, Any], secrets: dict[str, Secret]) -> None:
    """Numbers, CVV, track data and tickets become secrets as soon as the request is made."""
    new = kind(**fields | {name: secret.reveal() for name, secret in secrets.items()})
    assert {name: getattr(new, name) for name in secrets} == secrets
    assert [type(getattr(new, name)) for name in secrets] == [type(secret) for secret in secrets.values()]


def test_repr() -> None:
    """Defaults are left out; secrets are masked, personal data hidden, and `extra` shows its keys."""
    assert repr(AchVaultCreate(**BANK_ACCOUNT, ssn4="8264", extra={"loyalty": "gold"})) == (
        "AchVaultCreate(ssn4=***, account_number=AccountNumber('************9012'), "
        "account_holder_name='Jo', account_type='checking', is_company=False, "
        "routing=AccountNumber('************0326'), extra=<loyalty>)"
    )


def test_null_fields() -> None:
    """None is sent, so it is shown; what is left out is not."""
    assert repr(AccountVaultUpdate(title=None)) == "AccountVaultUpdate(title=None)"


def test_a_repr_masks_card_numbers() -> None:
    assert repr(ContactCreate(last_name="4111 1111 1111 1111")) == "ContactCreate(last_name='************1111')"


def test_masked_repr() -> None:
    """A date of birth is hidden, and so are confidential names within free-form data."""
    contact = ContactCreate(last_name="Smith", date_of_birth=date(1983, 5, 6))
    assert repr(contact) == "ContactCreate(last_name='Smith', date_of_birth=***)"
    assert repr(ContactUpdate(date_of_birth=None)) == "ContactUpdate(date_of_birth=***)"
    sale = TransactionCreate(action="sale", custom_data={"dob_year": 1983, "table": 4})
    assert repr(sale) == "TransactionCreate(action='sale', custom_data={'dob_year': '***', 'table': 4})"


@pytest.mark.parametrize(("extra", "shown"), [({}, ""), ({1: 2}, ", extra=<1>"), (5, ""), (None, "")])
def test_a_repr_survives_a_wrong_extra(extra: Any, shown: str) -> None:
    assert repr(ContactCreate(last_name="Smith", extra=extra)) == f"ContactCreate(last_name='Smith'{shown})"


def test_left_out_is_the_default_of_an_update() -> None:
    fields = attrs.asdict(ContactUpdate(), recurse=False)
    del fields["extra"]
    assert set(fields.values()) == {UNSET}


def test_unset_copies_and_pickles_to_itself() -> None:
    assert repr(UNSET) == "UNSET"
    assert copy.deepcopy(UNSET) is UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET  # noqa: S301  our own bytes


def test_keywords() -> None:
    """Positions would make two texts easy to swap."""
    with pytest.raises(TypeError):
        ContactCreate("Smith")  # type: ignore[arg-type, call-arg]


def test_a_request_rejects_changes_once_it_is_made() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ContactCreate(last_name="Smith").last_name = ""  # type: ignore[misc]
