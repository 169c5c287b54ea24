"""`Request`: what a request shows of itself, and `UNSET`."""

import copy
import pickle
from typing import Any

import attrs
import pytest

from gateway_async.models.account_vaults import AccountVaultUpdate, AchVaultCreate
from gateway_async.models.contacts import ContactCreate, ContactUpdate
from gateway_async.models.request import UNSET


def test_a_repr_shows_what_was_given() -> None:
    """Defaults are left out; secrets are masked, personal data hidden, and `extra` shows its keys."""
    request = AchVaultCreate(
        account_number="123456789012",
        routing="072000326",
        account_holder_name="Jo",
        account_type="checking",
        is_company=False,
        ssn4="8264",
        extra={"loyalty": "gold"},
    )
    assert repr(request) == (
        "AchVaultCreate(ssn4=***, account_number=AccountNumber('************9012'), "
        "account_holder_name='Jo', account_type='checking', is_company=False, "
        "routing=AccountNumber('************0326'), extra=<loyalty>)"
    )


def test_a_repr_of_an_update_tells_null_from_left_out() -> None:
    """None is sent, so it is shown; what is left out is not."""
    assert repr(AccountVaultUpdate(title=None)) == "AccountVaultUpdate(title=None)"


def test_a_repr_masks_card_numbers() -> None:
    """A card number in a free text is masked."""
    assert repr(ContactCreate(last_name="4111 1111 1111 1111")) == "ContactCreate(last_name='************1111')"


@pytest.mark.parametrize(("extra", "shown"), [({}, ""), ({1: 2}, ", extra=<1>"), (5, ""), (None, "")])
def test_a_repr_survives_a_wrong_extra(extra: Any, shown: str) -> None:
    """Show an invalid request without an error."""
    assert repr(ContactCreate(last_name="Smith", extra=extra)) == f"ContactCreate(last_name='Smith'{shown})"


def test_left_out_is_the_default_of_an_update() -> None:
    """Every field of an update starts as `UNSET`."""
    fields = attrs.asdict(ContactUpdate(), recurse=False)
    del fields["extra"]
    assert set(fields.values()) == {UNSET}


def test_unset_is_one_of_a_kind() -> None:
    """Show its name, and copy and pickle to itself."""
    assert repr(UNSET) == "UNSET"
    assert copy.deepcopy(UNSET) is UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET  # noqa: S301  our own bytes


def test_fields_are_keyword_only() -> None:
    """Positions would make two texts easy to swap."""
    with pytest.raises(TypeError):
        ContactCreate("Smith")  # type: ignore[arg-type, call-arg]


def test_a_request_is_frozen() -> None:
    """Reject changes, so that the checked content is sent."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        ContactCreate(last_name="Smith").last_name = ""  # type: ignore[misc]
