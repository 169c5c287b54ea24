"""Recurrings, tags and notes: the SDK against the sandbox."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from gateway_async import (
    AsyncGateway,
    CardVaultCreate,
    NoteCreate,
    NoteUpdate,
    OutcomeUnknownError,
    RecordDeletedError,
    Recurring,
    RecurringStatus,
    RecurringUpdate,
    TagCreate,
    TagUpdate,
    ValidationError,
)
from gateway_async.sandbox import Sandbox
from tests.support.outcomes import resolved
from tests.support.sales import monthly

pytestmark = pytest.mark.anyio

CARD = CardVaultCreate(account_number="4111111111111111", exp_date="1240", account_vault_api_id="card")


def noon(day: date) -> float:
    """Return the middle of a day, in Unix seconds."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()


@pytest.fixture
async def plan(gateway: AsyncGateway) -> Recurring:
    """A plan in the sandbox."""
    await gateway.account_vaults.create(CARD)
    return await gateway.recurrings.create(monthly(account_vault_api_id="card"))


async def test_plan(gateway: AsyncGateway, sandbox: Sandbox, plan: Recurring) -> None:
    """Create, read, list, change, hold, activate, skip, defer, charge, delete."""
    plans = gateway.recurrings
    assert (plan.next_run_date, plan.end_date) == (date(2031, 2, 23), date(2032, 2, 22))
    assert (plan.installment_amount_total, plan.status, plan.active) == (Decimal(120), RecurringStatus.ACTIVE, True)
    assert (await plans.get(plan.id)).id == plan.id
    assert [each.id async for each in plans.list({"account_vault_id": plan.account_vault_id})] == [plan.id]
    assert (await plans.update(plan.id, RecurringUpdate(description="Rent", notification_days=3))).description == "Rent"
    held = await plans.hold(plan.id)
    assert (held.status, held.next_run_date) == ("on hold", None)
    assert (await plans.activate(plan.id)).next_run_date == date(2031, 2, 23)
    assert (await plans.skip(plan.id)).next_run_date == date(2031, 3, 23)
    deferred = await plans.defer(plan.id, 2)
    assert (deferred.next_run_date, deferred.end_date) == (date(2031, 5, 23), date(2032, 4, 22))
    sandbox.set_clock(noon(date(2031, 7, 1)))
    charges = await gateway.transactions.list({"recurring_id": plan.id})
    assert [(each.transaction_amount, each.is_recurring, each.trx_source_id) for each in charges.records] == [
        (Decimal(10), True, 13),
        (Decimal(10), True, 13),
    ]
    with pytest.raises(ValidationError):
        await gateway.account_vaults.delete(str(plan.account_vault_id))
    await plans.delete(plan.id)
    with pytest.raises(RecordDeletedError):
        await plans.skip(plan.id)


async def test_resolve_finds_a_skip_once_the_gateway_is_back(
    gateway: AsyncGateway, sandbox: Sandbox, plan: Recurring
) -> None:
    sandbox.fault("POST /v2/recurrings/{id}/skipPayment", "close_after_commit")
    sandbox.fault("GET /v2/recurrings/{id}", "error_before_commit", nth=2, times=50)
    with pytest.raises(OutcomeUnknownError) as caught:
        await gateway.recurrings.skip(plan.id)
    sandbox.clear_faults()
    assert (await resolved(caught.value, Recurring)).next_run_date == date(2031, 3, 23)


async def test_tag_and_note(gateway: AsyncGateway, sandbox: Sandbox) -> None:
    """Tags and notes are created, changed, read and deleted."""
    tag = await gateway.tags.create(TagCreate(title="Rent"))
    assert (await gateway.tags.update(tag.id, TagUpdate(title="Lease"))).title == "Lease"
    assert [each.title async for each in gateway.tags.list({"title": "Lease"})] == ["Lease"]
    await gateway.tags.delete(tag.id)
    contact_id = sandbox.info.contact_id
    note = await gateway.notes.create(NoteCreate(resource="Contact", resource_id=contact_id, note="Call"))
    assert (note.resource, note.resource_id) == ("Contact", contact_id)
    changed = await gateway.notes.update(note.id, NoteUpdate(note="Called", visibility_group_id=""))
    assert (changed.note, changed.visibility_group_id) == ("Called", "")
    shown = await gateway.contacts.get(contact_id, expand=("notes",))
    assert [each["id"] for each in shown.extra["notes"]] == [note.id]
    await gateway.notes.delete(note.id)
    with pytest.raises(RecordDeletedError):
        await gateway.notes.get(note.id)
