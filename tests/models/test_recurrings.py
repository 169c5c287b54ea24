"""Recurrings, tags and notes as the gateway shows them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from gateway_async import Note, Recurring, Tag
from gateway_async._wire.rows import structure

SHOWN: dict[str, Any] = {
    "id": "11e95f8ec39de8fbdb0a4f1a",
    "account_vault_id": "11e95f8ec39de8fbdb0a4f1b",
    "location_id": "11e95f8ec39de8fbdb0a4f1c",
    "interval": "1",
    "interval_type": "m",
    "start_date": "2019-02-23",
    "end_date": "2020-10-22",
    "next_run_date": "2019-03-23",
    "transaction_amount": "10.00",
    "installment_total_count": 20,
    "installment_amount_total": 200,
    "notification_days": None,
    "payment_method": "cc",
    "active": "1",
    "status": "active",
    "recurring_type_id": "i",
    "recurring_c1": "a",
    "recurring_api_id": "mine",
    "contact_id": "c",
}


def test_recurring() -> None:
    """Numbers and flags may be texts; what is uncertain stays in `extra`."""
    plan = structure(Recurring, SHOWN)
    assert (plan.start_date, plan.end_date, plan.next_run_date) == (
        date(2019, 2, 23),
        date(2020, 10, 22),
        date(2019, 3, 23),
    )
    assert (plan.interval, plan.interval_type, plan.transaction_amount) == (1, "m", Decimal(10))
    assert (plan.installment_total_count, plan.installment_amount_total) == (20, Decimal(200))
    assert (plan.active, plan.status, plan.recurring_type_id, plan.payment_method) == (True, "active", "i", "cc")
    assert (plan.recurring_c1, plan.recurring_api_id) == ("a", "mine")
    assert plan.extra == {"contact_id": "c"}


@pytest.mark.parametrize("name", ["start_date", "end_date", "next_run_date"])
@pytest.mark.parametrize("none", ["0000-00-00", None, ""])
def test_a_date_of_zeros_is_not_set(name: str, none: str | None) -> None:
    assert getattr(structure(Recurring, {**SHOWN, name: none}), name) is None


@pytest.mark.parametrize("active", ["0", 0, False])
def test_a_flag_has_any_form(active: Any) -> None:
    assert structure(Recurring, {**SHOWN, "active": active}).active is False


def test_new_code() -> None:
    """A status and a type that this version does not know do not make the record unreadable."""
    plan = structure(Recurring, {**SHOWN, "status": "paused", "recurring_type_id": "11e95f8ec39de8fbdb0a4f1a"})
    assert (plan.status, plan.recurring_type_id) == ("paused", "11e95f8ec39de8fbdb0a4f1a")
    assert plan.status is not None
    assert not plan.status.known


def test_tag_and_note() -> None:
    """The links of a note stay in `extra`."""
    assert structure(Tag, {"id": "t", "title": "Rent", "location_id": "loc", "created_ts": 1}).title == "Rent"
    links = {"self": {"href": "https://a.test/v2/contacts/c/notes/n"}, "for": {"href": "https://a.test/v2/contacts/c"}}
    shown = {"id": "n", "resource": "Contact", "resource_id": "c", "note": "Call", "visibility_group_id": ""}
    note = structure(Note, {**shown, "_links": links})
    assert (note.resource, note.resource_id, note.note, note.visibility_group_id) == ("Contact", "c", "Call", "")
    assert note.extra == {"_links": links}
