"""Quick invoices: what a record says."""

from typing import Any

import pytest

from gateway_async._wire.rows import structure
from gateway_async.models.quick_invoices import QuickInvoice


@pytest.mark.parametrize(
    ("status", "closed"), [(0, True), (1, False), (2, True), ("2", True), (7, False), (None, False)]
)
def test_closed_codes(status: Any, closed: bool) -> None:
    """0 in the responses of gateways, 2 in the contract's table."""
    assert structure(QuickInvoice, {"id": "i", "status_id": status}).is_closed is closed


@pytest.mark.parametrize("name", ["active", "is_active"])
@pytest.mark.parametrize(("flag", "meaning"), [(1, True), ("0", False)])
def test_is_active(name: str, flag: Any, meaning: bool) -> None:
    """Some responses say `active`, others `is_active`."""
    assert structure(QuickInvoice, {"id": "i", name: flag}).is_active is meaning
    assert structure(QuickInvoice, {"id": "i"}).is_active is None


def test_personal_data() -> None:
    """License, social security number and year of birth are in no repr."""
    invoice = QuickInvoice(id="i", ssn4="8264", dob_year="1971", dl_number="LICENSE-77")
    assert repr(invoice) == "QuickInvoice(id='i', dl_number=***, ssn4=***, dob_year=***)"
