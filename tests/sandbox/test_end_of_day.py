"""What happens at midnight, whether the clock runs into it or jumps over it."""

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta

import pytest

from gateway_async.sandbox import Sandbox

DAY = 86_400
TODAY = date(2027, 3, 1)
EMAIL = "ada@example.test"


def noon(day):
    """The middle of a day, in Unix seconds."""
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()


def midnight(day):
    """The second at which a day begins."""
    return int(noon(day)) - DAY // 2


def on(days):
    """A day so many days from today."""
    return TODAY + timedelta(days)


def invoiced(shop, **fields):
    """Make an invoice that is due in ten days, and give back the record."""
    said = {"title": "Tea", "due_date": on(10).isoformat(), "item_list": {"Cup": 10}, "email": EMAIL}
    said |= {"location_id": shop.info.location_id}
    return shop.post("quickinvoice", "/v2/quickinvoices", said | fields).json()["quickinvoice"]


@pytest.fixture
def sandbox(sandbox):
    """A gateway whose clock shows noon of a known day."""
    sandbox.set_clock(noon(TODAY))
    return sandbox


@pytest.fixture
def told(sandbox):
    """The event of each notice so far, and its second."""
    return lambda: [(one["event"], one["created_ts"]) for one in sandbox.outbox()]


@pytest.fixture
def batches(shop):
    """`is_open` and `processing_status_id` of each batch, the newest first."""
    names = ("is_open", "processing_status_id")
    return lambda: [
        tuple(one[name] for name in names)
        for one in shop.get("/v2/transactionbatches", sort="-batch_num").json()["transactionbatches"]
    ]


# --- reminders


def test_an_invoice_is_reminded_of_around_its_due_date(shop, sandbox, told):
    """Three days before, on the day and seven days after, if nothing else was said; at midnight, each once."""
    invoiced(shop)
    for _ in range(30):
        sandbox.advance(DAY)
    expected = [("before due", midnight(on(7))), ("due", midnight(on(10))), ("after due", midnight(on(17)))]
    assert told() == expected


def test_a_jump_leaves_no_night_out(shop, sandbox, told):
    """All of it is done before the clock call answers, in the order of the days, as if each had come by itself."""
    invoiced(shop)
    invoiced(shop, title="Cake", due_date=on(12).isoformat(), notification_days_after_due_date=1)
    assert shop.http.post("/_sandbox/clock", json={"advance": 30 * DAY}).status_code == 200
    assert [(day, event) for event, day in told()] == [
        (midnight(on(7)), "before due"),
        (midnight(on(9)), "before due"),
        (midnight(on(10)), "due"),
        (midnight(on(12)), "due"),
        (midnight(on(13)), "after due"),
        (midnight(on(17)), "after due"),
    ]


def test_the_invoice_says_when(shop, sandbox, told):
    """By its three fields; 0 on the due date leaves that notice out."""
    fields = {"notification_days_before_due_date": 9, "notification_on_due_date": 0}
    invoiced(shop, **fields, notification_days_after_due_date=1)
    sandbox.advance(20 * DAY)
    assert told() == [("before due", midnight(on(1))), ("after due", midnight(on(11)))]


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
def test_only_who_can_pay_is_reminded(shop, sandbox, told, fields, expected):
    """Nothing of a closed or expired invoice, and nothing to nobody."""
    invoiced(shop, **fields)
    sandbox.advance(30 * DAY)
    assert [event for event, _ in told()] == expected


def test_who_has_paid_is_not_reminded(shop, sandbox, told):
    """In full; who has paid a part is reminded of the rest. What is deleted is forgotten."""
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


def test_no_night_comes_twice(shop, sandbox, told):
    """Also when the clock is set back and passes it again; a later due date does not repeat what was said."""
    made = invoiced(shop)
    sandbox.advance(8 * DAY)
    sandbox.advance(-5 * DAY)
    sandbox.advance(5 * DAY)
    assert told() == [("before due", midnight(on(7)))]
    shop.put("quickinvoice", f"/v2/quickinvoices/{made['id']}", {"due_date": on(20).isoformat()})
    sandbox.advance(30 * DAY)
    assert [event for event, _ in told()] == ["before due", "due", "after due"]


def test_the_clock_runs_into_midnight(shop, sandbox, told, eventually):
    """Nobody has to move it."""
    invoiced(shop)
    sandbox.set_clock(midnight(on(7)) - 0.2)
    assert eventually(told) == [("before due", midnight(on(7)))]


# --- batches and bank payments


def test_a_batch_settles_at_midnight(shop, sandbox, batches):
    """Its payments too; what is paid the next day begins another one."""
    sale = shop.pay().json()["transaction"]
    sandbox.advance(DAY)
    shop.pay()
    settled = shop.get(f"/v2/transactions/{sale['id']}").json()["transaction"]
    assert (settled["status_id"], settled["settle_date"]) == (134, on(1).isoformat())
    assert batches() == [(1, 1), (0, 2)]


def test_a_batch_with_trouble_settles_the_night_after(shop, sandbox, batches):
    """6.30 in it: the first close fails. One jump over both nights does the same as two."""
    shop.pay("6.30")
    sandbox.advance(DAY)
    assert batches() == [(1, 3)]
    sandbox.advance(DAY)
    assert batches() == [(0, 2)]
    shop.pay("6.30")
    sandbox.advance(40 * DAY)
    assert batches() == [(0, 2), (0, 2)]


def test_a_bank_payment_waits_for_its_day(shop, sandbox):
    """From its `effective_date` on it takes a step each night, also in a jump over quiet nights."""
    bank = {"payment_method": "ach", "action": "debit", "account_number": "12345678", "routing": "072000326"}
    bank |= {"account_type": "checking", "account_holder_name": "Ada", "ach_sec_code": "WEB", "exp_date": ...}
    paid = shop.pay(effective_date=on(100).isoformat(), **bank).json()["transaction"]
    sandbox.advance(100 * DAY)
    moved = shop.get(f"/v2/transactions/{paid['id']}").json()["transaction"]
    sandbox.advance(100 * DAY)
    settled = shop.get(f"/v2/transactions/{paid['id']}").json()["transaction"]
    assert [paid["status_id"], moved["status_id"], settled["status_id"]] == [131, 132, 134]
    assert settled["settle_date"] == on(102).isoformat()


# --- far jumps, other runs, new beginnings


@pytest.mark.timeout(20)
def test_a_far_jump_costs_what_there_is_to_do(shop, sandbox, told, batches):
    """To the year 9000 in no time, with a reminder and a settlement on the way."""
    invoiced(shop, due_date="8000-01-01")
    shop.pay("6.30")
    answer = shop.http.post("/_sandbox/clock", json={"now": noon(date(8999, 12, 31))})
    assert answer.status_code == 200
    assert told()[1] == ("due", midnight(date(8000, 1, 1)))
    assert batches() == [(0, 2)]


def test_a_reset_begins_the_nights_anew(shop, sandbox, told):
    """After a far jump too: the clock is right again, and the next night is tomorrow's."""
    sandbox.advance(1000 * DAY)
    sandbox.reset()
    today = datetime.fromtimestamp(sandbox.now(), UTC).date()
    invoiced(shop, due_date=(today + timedelta(1)).isoformat(), notification_days_before_due_date=9)
    sandbox.advance(DAY)
    assert [event for event, _ in told()] == ["due"]


def test_the_nights_of_a_file_go_on(tmp_path, open_shop):
    """What fell due while nobody served it is done at the next start, and what was done is not done again."""
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
