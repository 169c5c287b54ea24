"""A row's id, and what tells whether its content has changed."""

import re
from typing import Any

import attrs
import pytest

from gateway_async import CardVaultCreate
from gateway_async._secrets import luhn_valid
from gateway_async.migration import VaultRow
from gateway_async.migration.rows.row import api_id_of, fingerprint_of

from .files import BANK_ACCOUNT, CARD, OTHER_CARD


def row(**changed: str) -> VaultRow:
    given: dict[str, Any] = {"account_number": CARD, "exp_date": "1230", **changed}
    return VaultRow(key="k", request=CardVaultCreate(**given))


def test_an_id_is_made_of_names_alone() -> None:
    assert api_id_of("m", "k") == api_id_of("m", "k")
    assert len({api_id_of(*names) for names in [("m", "k"), ("m", "l"), ("n", "k"), ("mk", ""), ("", "mk")]}) == 5
    assert re.fullmatch("[a-z0-9]{32}", api_id_of("Kärten", "\ud800"))


@pytest.mark.parametrize(
    "changed", [{"exp_date": "0131"}, {"account_number": OTHER_CARD}, {"account_holder_name": "Ann"}]
)
def test_a_fingerprint_changes_with_the_content(changed: dict[str, str]) -> None:
    assert fingerprint_of(row()) != fingerprint_of(row(**changed))


def test_a_fingerprint_knows_no_more_of_a_number_than_may_be_shown() -> None:
    other = next(number for middle in range(100) if luhn_valid(number := f"4000000000{middle:02}1111"))
    assert fingerprint_of(row()) == fingerprint_of(row(account_number=other))
    assert fingerprint_of(row(title=f"card {CARD}")) == fingerprint_of(row(title=f"card {other}"))


def test_a_fingerprint_knows_nothing_of_a_person() -> None:
    known = {"ssn4": "1234", "dob_year": "1970", "dl_number": "X123", "dl_state": "MI"}
    others = known | {"ssn4": "4321", "dob_year": "1971", "dl_number": "Y321"}
    assert fingerprint_of(row(**known)) == fingerprint_of(row(**others))


def test_a_mended_routing_number_is_a_change() -> None:
    mended = attrs.evolve(BANK_ACCOUNT, routing="072000327")
    assert fingerprint_of(VaultRow(key="k", request=BANK_ACCOUNT)) != fingerprint_of(VaultRow(key="k", request=mended))


def test_a_row_shows_no_number() -> None:
    shown = VaultRow(key="k", request=row().request, source={"account_number": CARD})
    assert CARD not in repr(shown)
