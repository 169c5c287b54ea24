"""`Record`: frozen, copyable, and discreet."""

import copy
import pickle
from decimal import Decimal

import attrs
import pytest

from gateway_async.models.account_vaults import AccountVault
from gateway_async.models.contacts import Contact
from gateway_async.models.transactions import Transaction

VAULT = AccountVault(id="v1", last_four="1111", routing="072000326", ssn4="8264", extra={"_links": {"self": "x"}})


def test_a_repr_shows_what_there_is() -> None:
    """Fields without a value are left out, bank data is hidden, and `extra` shows its keys."""
    assert repr(VAULT) == "AccountVault(id='v1', last_four='1111', routing=***, ssn4=***, extra=<_links>)"


def test_a_repr_masks_card_numbers() -> None:
    """A card number that someone typed into a text field, or into a key, is masked."""
    shown = repr(Contact(id="c", company_name="card 4111111111111111", extra={"4111111111111111": 1}))
    assert shown == "Contact(id='c', company_name='card ************1111', extra=<************1111>)"


def test_a_record_is_frozen() -> None:
    """Neither fields nor `extra` change."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        VAULT.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        VAULT.extra["_links"] = None  # type: ignore[index]


@pytest.mark.parametrize(
    "record",
    [VAULT, AccountVault(id="v2"), Transaction(id="t", tax=Decimal("1.50"), custom_data={"a": [1]}, extra={"b": {}})],
)
def test_a_record_pickles_and_copies(record: AccountVault | Transaction) -> None:
    """A record crosses a process boundary and comes out equal, `extra` included and still read-only."""
    for again in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):  # noqa: S301  our own bytes
        assert again == record
        assert type(again.extra) is type(record.extra)


def test_records_are_equal_by_value() -> None:
    """Two records are equal when all fields and `extra` are."""
    assert AccountVault(id="v", extra={"a": 1}) == AccountVault(id="v", extra={"a": 1})
    assert AccountVault(id="v", extra={"a": 1}) != AccountVault(id="v")


def test_records_can_stand_in_sets() -> None:
    """A record with objects and lists in it is hashable too."""
    one = Transaction(id="t", custom_data={"a": 1}, additional_amounts=([],), extra={"b": {}})
    assert len({one, attrs.evolve(one), Transaction(id="t2")}) == 2
