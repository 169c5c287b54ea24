"""The jobs at midnight, both when the clock reaches it and when the clock jumps over it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from gateway_async.sandbox import Sandbox

from .conftest import Eventually, OpenShop, Record, Shop, noon

DAY = 86_400
TODAY = date(2099, 3, 1)
EMAIL = "ada@example.test"
SentMessages = Callable[[], list[tuple[str, int]]]
Batches = Callable[[], list[tuple[int, ...]]]


def midnight(day: date) -> int:
    """Return the second at which a day begins."""
    return int(noon(day)) - DAY // 2


def on(days: int) -> date:
    """Return the day some days after today."""
    return TODAY + timedelta(days)


def invoiced(shop: Shop, **fields: Any) -> Record:
    said = {"title": "Tea", "due_date": on(10).isoformat(), "item_list": {"Cup": 10}, "email": EMAIL}
    invoice: Record = shop.invoice(**said | fields).json()["quickinvoice"]
    return invoice


@pytest.fixture
def sandbox(sandbox: Sandbox) -> Sandbox:
    """A gateway whose clock shows noon of a known day."""
    sandbox.set_clock(noon(TODAY))
    return sandbox


@pytest.fixture
def sent_messages(sandbox: Sandbox) -> SentMessages:
    """Return the event of each message so far, and its second."""
    return lambda: [(one["event"], one["created_ts"]) for one in sandbox.outbox()]


@pytest.fixture
def batches(shop: Shop) -> Batches:
    """Return `is_open` and `processing_status_id` of each batch, newest first."""
    names = ("is_open", "processing_status_id")
    return lambda: [
        tuple(one[name] for name in names)
        for one in shop.get("/v2/transactionbatches", sort="-batch_num").json()["transactionbatches"]
    ]


# --- reminders


def test_a_jump_runs_the_jobs_of_every_day(shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    invoiced(shop)
    invoiced(shop, title="Cake", due_date=on(12).isoformat(), notification_days_after_due_date=1)
    assert shop.http.post("/_sandbox/clock", json={"advance": 30 * DAY}).status_code == 200
    assert [(day, event) for event, day in sent_messages()] == [
        (midnight(on(7)), "before due"),
        (midnight(on(9)), "before due"),
        (midnight(on(10)), "due"),
        (midnight(on(12)), "due"),
        (midnight(on(13)), "after due"),
        (midnight(on(17)), "after due"),
    ]


def test_reminder_days(shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    """Three fields of the invoice set the days; 0 on the due date omits that reminder, a later null the others."""
    fields = {"notification_days_before_due_date": 9, "notification_on_due_date": 0}
    invoiced(shop, **fields, notification_days_after_due_date=1)
    none = {"notification_days_before_due_date": None, "notification_days_after_due_date": None}
    shop.put("quickinvoice", f"/v2/quickinvoices/{invoiced(shop, notification_on_due_date=0)['id']}", none)
    sandbox.advance(20 * DAY)
    assert sent_messages() == [("before due", midnight(on(1))), ("after due", midnight(on(11)))]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"status_id": 0}, []),
        ({"expire_date": on(9).isoformat()}, ["before due"]),
        ({"expire_date": on(10).isoformat()}, ["before due", "due"]),
        ({"email": None}, []),
        ({"due_date": "9999-12-31"}, []),
    ],
)
def test_payable_invoices(
    shop: Shop, sandbox: Sandbox, sent_messages: SentMessages, fields: Record, expected: list[str]
) -> None:
    """A closed or expired invoice, and one without a recipient, get no reminder."""
    invoiced(shop, **fields)
    sandbox.advance(30 * DAY)
    assert [event for event, _ in sent_messages()] == expected


def test_paid_invoices(shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    """Full payment ends the reminders, a part does not; deleted invoices get none."""
    gone = invoiced(shop)
    shop.http.delete(f"/v2/quickinvoices/{gone['id']}")
    paid = invoiced(shop, allow_overpayment=1)
    shop.http.post(f"/_sandbox/quickinvoices/{paid['id']}/pay", json={})
    part = invoiced(shop, allow_partial_pay=1)
    shop.http.post(f"/_sandbox/quickinvoices/{part['id']}/pay", json={"amount": "4.00"})
    sandbox.advance(10 * DAY)
    reminders = [one for one in sandbox.outbox() if one["event"] != "paid"]
    assert {one["quick_invoice_id"] for one in reminders} == {part["id"]}
    assert "6.00" in reminders[0]["text"]


def test_repeated_days(shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    """Neither a clock set back nor a later due date repeats a reminder."""
    made = invoiced(shop)
    sandbox.advance(8 * DAY)
    sandbox.advance(-5 * DAY)
    sandbox.advance(5 * DAY)
    assert sent_messages() == [("before due", midnight(on(7)))]
    shop.put("quickinvoice", f"/v2/quickinvoices/{made['id']}", {"due_date": on(20).isoformat()})
    sandbox.advance(30 * DAY)
    assert [event for event, _ in sent_messages()] == ["before due", "due", "after due"]


def test_the_clock_runs_into_midnight(
    shop: Shop, sandbox: Sandbox, sent_messages: SentMessages, eventually: Eventually
) -> None:
    invoiced(shop)
    sandbox.set_clock(midnight(on(7)) - 0.2)
    assert eventually(sent_messages) == [("before due", midnight(on(7)))]


def test_bank_payment(shop: Shop, sandbox: Sandbox) -> None:
    """From its `effective_date` on a bank payment advances one status each midnight, also in a jump."""
    paid = shop.pay_from_bank(effective_date=on(100).isoformat()).json()["transaction"]
    sandbox.advance(100 * DAY)
    moved = shop.get(f"/v2/transactions/{paid['id']}").json()["transaction"]
    sandbox.advance(100 * DAY)
    settled = shop.get(f"/v2/transactions/{paid['id']}").json()["transaction"]
    assert [paid["status_id"], moved["status_id"], settled["status_id"]] == [131, 132, 134]
    assert settled["settle_date"] == on(102).isoformat()


# --- far jumps, other runs, new beginnings


def test_a_far_jump_costs_what_there_is_to_do(
    shop: Shop, sandbox: Sandbox, sent_messages: SentMessages, batches: Batches
) -> None:
    invoiced(shop, due_date="8000-01-01")
    shop.pay("6.30")
    began = process_time()
    response = shop.http.post("/_sandbox/clock", json={"now": noon(date(8999, 12, 31))})
    assert response.status_code == 200
    assert sent_messages()[1] == ("due", midnight(date(8000, 1, 1)))
    assert batches() == [(0, 2)]
    assert process_time() - began < 20  # of the processor, so that a busy machine makes no difference


def test_reset(shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    """After a far jump, a reset corrects the clock, and the next end of day is today's."""
    sandbox.advance(1000 * DAY)
    sandbox.reset()
    today = datetime.fromtimestamp(sandbox.now(), UTC).date()
    invoiced(shop, due_date=(today + timedelta(1)).isoformat(), notification_days_before_due_date=9)
    sandbox.advance(DAY)
    assert [event for event, _ in sent_messages()] == ["due"]


def test_restart(tmp_path: Path, open_shop: OpenShop) -> None:
    """Jobs due while no sandbox ran are done at the next start, and only once."""
    path = tmp_path / "sandbox.db"
    with Sandbox(data=path) as sandbox:
        today = datetime.fromtimestamp(sandbox.now(), UTC).date()
        invoiced(open_shop(sandbox.info), due_date=today.isoformat())
        assert sandbox.outbox() == []
    with closing(sqlite3.connect(path)) as records:
        long_ago = (today - timedelta(30)).isoformat()
        records.execute("UPDATE settings SET value = ? WHERE name = 'last_end_of_day'", (long_ago,))
        records.commit()
    for _ in range(2):
        with Sandbox(data=path) as sandbox:
            assert [one["event"] for one in sandbox.outbox()] == ["before due", "due"]
