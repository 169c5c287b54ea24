"""Batches: their payments, settlement, and the steps of their processor."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox

from .conftest import Errors, Record, Shop, recorded

DAY = 24 * 60 * 60
MORNING = datetime(2099, 3, 11, 9, tzinfo=UTC).timestamp()
"""A Wednesday in the future: the clock does not repeat a day."""


def batches(shop: Shop, **query: Any) -> list[Record]:
    response = shop.get("/v2/transactionbatches", **query)
    assert response.status_code == 200, response.text
    found: list[Record] = response.json()["transactionbatches"]
    return found


def numbers(shop: Shop, **query: Any) -> list[int]:
    return [batch["batch_num"] for batch in batches(shop, **query)]


def settle(shop: Shop, batch_id: str, **query: Any) -> httpx.Response:
    return shop.http.post(f"/v2/transactionbatches/{batch_id}/settle", params=query)


def settled(shop: Shop, batch_id: str) -> Record:
    response = settle(shop, batch_id)
    assert response.status_code == 200, response.text
    batch: Record = response.json()["transactionbatch"]
    return batch


def again(shop: Shop, payment: Record) -> Record:
    record: Record = shop.get(f"/v2/transactions/{payment['id']}").json()["transaction"]
    return record


def test_first_payment(shop: Shop) -> None:
    """No batch is ever empty; the first payment has its id and number."""
    assert batches(shop) == []
    sale = shop.paid()
    [batch] = batches(shop)
    assert (sale["transaction_batch_id"], sale["batch"]) == (batch["id"], str(batch["batch_num"]))
    assert (batch["batch_num"], batch["is_open"], batch["processing_status_id"]) == (1, 1, 1)
    assert (batch["batch_close_ts"], batch["settlement_file_name"]) == (None, None)
    assert batch["product_transaction_id"] == shop.info.cc_product_transaction_id
    assert batch["created_ts"] == sale["created_ts"]


def test_settled_payments(shop: Shop) -> None:
    """Sales, forces, refunds, partial approvals and sales at terminals are settled; other payments are in no batch."""
    for action, amount in (("authonly", "12.50"), ("avsonly", "0.00"), ("sale", "5.00")):
        made = shop.paid(amount, action=action)
        assert (made["transaction_batch_id"], made["batch"]) == (None, None)
    assert batches(shop) == []
    payments = [shop.paid(action=action, auth_code="123456") for action in ("sale", "force", "refund")]
    payments += [shop.paid("2.01"), shop.at_terminal().json()["routertransaction"]]
    assert {one["transaction_batch_id"] for one in payments} == {batches(shop)[0]["id"]}


def test_authorizations(shop: Shop) -> None:
    """A completed authorization joins the batch that is open then; if voided, none."""
    auth, other = shop.paid(action="authonly"), shop.paid(action="authonly")
    done = shop.act(auth, "authcomplete").json()["transaction"]
    assert [done["transaction_batch_id"]] == [batch["id"] for batch in batches(shop)]
    assert shop.act(other, "void").json()["transaction"]["transaction_batch_id"] is None


def test_settlement(shop: Shop, sandbox: Sandbox) -> None:
    """The batch gets status 2 with time and file. Payments get 134 with the day, and voided ones stay voided."""
    sandbox.set_clock(MORNING)
    sale, refund, voided = shop.paid(), shop.paid(action="refund"), shop.paid()
    shop.act(voided, "void")
    auth = shop.paid(action="authonly")
    batch = settled(shop, sale["transaction_batch_id"])
    assert (batch["is_open"], batch["processing_status_id"]) == (0, 2)
    assert MORNING <= batch["batch_close_ts"] <= MORNING + 60
    assert batch["settlement_file_name"] == "settlement-20990311-1.txt"
    for one in (again(shop, sale), again(shop, refund)):
        assert (one["status_id"], one["settle_date"]) == (134, "2099-03-11")
        assert one["transaction_settlement_status"] == "SETTLED"
    assert [again(shop, one)["status_id"] for one in (voided, auth)] == [201, 102]
    assert again(shop, voided)["settle_date"] is None


def test_numbers(shop: Shop, neighbor: Shop, errors: Errors) -> None:
    """Numbers count up for each merchant account; batches of another location do not exist."""
    for number in (1, 2, 3):
        sale = shop.paid()
        assert sale["batch"] == str(number)
        settled(shop, sale["transaction_batch_id"])
    theirs = neighbor.paid()
    assert theirs["batch"] == "1"
    assert numbers(shop) == [3, 2, 1]
    assert numbers(shop, product_transaction_id=shop.info.ach_product_transaction_id) == []
    assert settle(shop, theirs["transaction_batch_id"]).status_code == 404
    assert shop.get(f"/v2/transactionbatches/{theirs['transaction_batch_id']}").status_code == 404
    by_api_id = shop.get("/v2/transactionbatches/1", api_id=1, location_id=shop.info.location_id)
    assert list(errors(by_api_id)) == ["api_id"]


def test_repeated_settlement(shop: Shop, sandbox: Sandbox) -> None:
    """A settled batch is returned, and a second settlement changes nothing."""
    sale = shop.paid()
    first = settled(shop, sale["transaction_batch_id"])
    sandbox.advance(60)
    again = settle(shop, first["id"])
    assert (again.status_code, again.json()["transactionbatch"]) == (200, first)
    read = shop.get(f"/v2/transactionbatches/{first['id']}", expand="changelogs").json()["transactionbatch"]
    assert len(read["changelogs"]) == 2


@pytest.mark.parametrize("status", [5, 6])
def test_batch_in_process(shop: Shop, sandbox: Sandbox, errors: Errors, status: int) -> None:
    """The refusal names the status, because the batch is closed and not settled."""
    batch_id = shop.paid()["transaction_batch_id"]
    sandbox.process_batch(batch_id, status)
    expected = {"processing_status_id": [f"Settle is not allowed when processing_status_id is {status}."]}
    assert errors(settle(shop, batch_id)) == expected


def test_settled_payment(shop: Shop, errors: Errors) -> None:
    """The refund is in the next batch; a settled refund is not refunded again."""
    sale = shop.paid()
    settled(shop, sale["transaction_batch_id"])
    assert list(errors(shop.act(sale, "void"))) == ["action"]
    back = {"action": "refund", "account_number": ..., "exp_date": ...}
    refund = shop.paid("12.50", **back, previous_transaction_id=sale["id"])
    assert (refund["status_id"], refund["batch"]) == (111, "2")
    settled(shop, refund["transaction_batch_id"])
    of_refund = shop.pay("1.00", **back, previous_transaction_id=refund["id"])
    assert list(errors(of_refund)) == ["previous_transaction_id"]
    for one in (sale, refund):
        flags = shop.get(f"/v2/transactions/{one['id']}", expand="is_settled,is_voidable,is_refundable").json()
        assert [flags["transaction"][f"is_{name}"] for name in ("settled", "voidable", "refundable")] == [
            True,
            False,
            False,
        ]


def test_failed_settlement(shop: Shop) -> None:
    """With 6.30 the first settlement returns status 3 and the batch stays open; the second one and a void succeed."""
    sale, trouble = shop.paid(), shop.paid("6.30")
    assert trouble["status_id"] == 101
    first = settled(shop, sale["transaction_batch_id"])
    assert (first["processing_status_id"], first["is_open"], first["batch_close_ts"]) == (3, 1, None)
    assert first["settlement_file_name"] is None
    assert (again(shop, sale)["status_id"], shop.paid()["batch"]) == (101, "1")
    second = settled(shop, first["id"])
    assert (second["processing_status_id"], second["is_open"]) == (2, 0)
    assert {again(shop, one)["status_id"] for one in (sale, trouble)} == {134}
    voided = shop.paid("6.30")
    shop.act(voided, "void")
    assert settled(shop, voided["transaction_batch_id"])["processing_status_id"] == 2


def test_midnight(shop: Shop, neighbor: Shop, sandbox: Sandbox) -> None:
    """All open batches settle at midnight UTC; a batch with 6.30 needs a second one."""
    sandbox.set_clock(MORNING)
    sale, theirs = shop.paid(), neighbor.paid()
    sandbox.advance(14 * 60 * 60)
    assert again(shop, sale)["status_id"] == 101
    sandbox.advance(DAY - 14 * 60 * 60)
    [batch] = batches(shop)
    assert (batch["processing_status_id"], batch["batch_close_ts"]) == (2, MORNING + 15 * 60 * 60)
    for client, paid in ((shop, sale), (neighbor, theirs)):
        assert again(client, paid)["settle_date"] == "2099-03-12"
    trouble = shop.paid("6.30")
    sandbox.advance(DAY)
    assert again(shop, trouble)["status_id"] == 101
    sandbox.advance(DAY)
    assert again(shop, trouble)["settle_date"] == "2099-03-14"


def test_bank_payments(shop: Shop, sandbox: Sandbox) -> None:
    """From the effective date on, 131 becomes 132, 133 and 134; only 131 can be voided, and stays so."""
    sandbox.set_clock(MORNING)
    days = (None, "2099-03-14", None)
    debit, later, voided = (shop.pay_from_bank(effective_date=day).json()["transaction"] for day in days)
    assert (debit["transaction_batch_id"], debit["batch"]) == (None, None)
    assert shop.act(voided, "void").json()["transaction"]["status_id"] == 201
    seen = []
    for _ in range(4):
        sandbox.advance(DAY)
        seen.append(tuple(again(shop, one)["status_id"] for one in (debit, later, voided)))
    assert seen == [(132, 131, 201), (133, 131, 201), (134, 132, 201), (134, 133, 201)]
    assert again(shop, debit)["settle_date"] == "2099-03-14"
    assert shop.act(later, "void").status_code == 422
    assert batches(shop) == []


@pytest.fixture
def a_month(shop: Shop, sandbox: Sandbox) -> None:
    """Create batches 1 to 4: of the last month, last week, yesterday and today; the last is open."""
    for number, days in enumerate((-20, -7, -1, 0), 1):
        sandbox.set_clock(MORNING + days * DAY)
        sale = shop.paid()
        assert sale["batch"] == str(number)
        if days:
            sandbox.advance(60)
            settled(shop, sale["transaction_batch_id"])


FILTERS: list[tuple[Record, list[int]]] = [
    ({"is_open": 1}, [4]),
    ({"is_open": 0}, [3, 2, 1]),
    ({"processing_status_id": "1,2"}, [4, 3, 2, 1]),
    ({"processing_status_id": 1}, [4]),
    ({"batch_num": 2}, [2]),
    ({"created_ts": "today"}, [4]),
    ({"created_ts": "yesterday"}, [3]),
    ({"created_ts": "this week"}, [4, 3]),
    ({"created_ts": "last week"}, [2]),
    ({"created_ts": "last 30 days"}, [4, 3, 2, 1]),
    ({"created_ts": "this month"}, [4, 3, 2]),
    ({"created_ts": "last month"}, [1]),
    ({"batch_close_ts": "today"}, []),
    ({"batch_close_ts": "yesterday"}, [3]),
    ({"batch_close_ts": "last month"}, [1]),
    ({"created_ts": "custom", "created_ts_from": int(MORNING - 8 * DAY), "created_ts_to": int(MORNING - DAY)}, [3, 2]),
    ({"batch_close_ts": "custom", "batch_close_ts_to": int(MORNING - 7 * DAY)}, [1]),
    ({"sort": "created_ts"}, [1, 2, 3, 4]),
    ({"sort": "-created_ts", "page_size": 3}, [4, 3, 2]),
    ({"sort": "-created_ts", "page_size": 3, "page": 2}, [1]),
]


@pytest.mark.usefixtures("a_month")
def test_filters(shop: Shop) -> None:
    """Batches are found by status, number, merchant account and both times, named or custom."""
    for query, found in FILTERS:
        assert numbers(shop, **query) == found, query


def test_a_page_of_batches_has_fifteen(shop: Shop) -> None:
    for _ in range(16):
        settled(shop, shop.paid()["transaction_batch_id"])
    meta = shop.get("/v2/transactionbatches", sort="-created_ts").json()["meta"]
    assert (meta["pagination"]["perPage"], meta["pagination"]["pageCount"]) == (15, 2)
    assert meta["sort"]["attributes"] == {"created_ts": "desc"}


def test_changelogs(shop: Shop, sandbox: Sandbox) -> None:
    """The newest is first, with the user, in the recorded form; at midnight there is no user."""
    logs = recorded("postback-transactionbatch-update")["changelogs"]
    batch = settle(shop, shop.paid()["transaction_batch_id"], expand="changelogs").json()["transactionbatch"]
    assert [log["action"] for log in batch["changelogs"]] == ["UPDATE", "CREATE"]
    update, creation = batch["changelogs"]
    assert [update.keys(), update["user"].keys()] == [logs[0].keys(), logs[0]["user"].keys()]
    assert {one["field"]: one["old_value"] for one in update["changelog_details"]} == {
        "batch_close_ts": None,
        "is_open": "1",
        "processing_status_id": "1",
        "settlement_file_name": None,
    }
    assert all(one.keys() == logs[0]["changelog_details"][0].keys() for one in update["changelog_details"])
    assert (update["model"], update["model_id"]) == ("TransactionBatch", batch["id"])
    assert (update["user"]["id"], creation["changelog_details"]) == (shop.info.user_id, [])
    shop.paid()
    sandbox.advance(DAY)
    assert batches(shop, expand="changelogs")[0]["changelogs"][0]["user"] is None


def test_abandoned_batch(shop: Shop, sandbox: Sandbox) -> None:
    """Step 6 closes the batch for good; its payments stay as they are and can be voided."""
    sale = shop.paid()
    batch = sandbox.process_batch(sale["transaction_batch_id"], 6)
    assert (batch["is_open"], batch["processing_status_id"]) == (0, 6)
    sandbox.advance(DAY)
    assert settle(shop, batch["id"]).status_code == 422
    assert again(shop, sale)["status_id"] == 101
    assert shop.act(sale, "void").status_code == 200


def test_a_control_call_returns_the_batch_as_get_does(shop: Shop) -> None:
    path = f"/_sandbox/transactionbatches/{shop.paid()['transaction_batch_id']}"
    assert [shop.http.post(path, json={"processing_status_id": 5}).json()] == batches(shop)
    for body, status in (({"processing_status_id": 4}, 422), ({"processing_status_id": "5"}, 400), ({}, 400)):
        refused = shop.http.post(path, json=body)
        assert refused.status_code == status
        assert refused.json()["message"].startswith("processing_status_id: ") or status == 400
    assert shop.http.post("/_sandbox/transactionbatches/x", json={"processing_status_id": 5}).status_code == 404


STEPS = {1: (), 5: (5,), 3: (5, 3), 4: (5, 3, 4), 6: (6,), 2: (5, 2)}
ALLOWED = {(1, 5), (1, 6), (3, 4), (3, 6), (4, 5), (4, 6), (5, 2), (5, 3), (5, 6)}


def test_states(shop: Shop, sandbox: Sandbox) -> None:
    """Every combination of status and step is tried: 5 and 6 close a batch, 2 settles it, 3 and 4 reopen it."""
    for status, steps in STEPS.items():
        for step in (5, 2, 3, 4, 6):
            sale = shop.paid()
            batch_id = sale["transaction_batch_id"]
            for before in steps:
                sandbox.process_batch(batch_id, before)
            if (status, step) in ALLOWED:
                batch = sandbox.process_batch(batch_id, step)
                assert (batch["processing_status_id"], batch["is_open"]) == (step, int(step in (3, 4)))
                assert (batch["batch_close_ts"] is None) == (step in (3, 4))
                assert again(shop, sale)["status_id"] == (134 if step == 2 else 101)
                assert shop.paid()["batch"] == ("1" if batch["is_open"] else "2")
                assert settle(shop, batch_id).status_code == (422 if step in (5, 6) else 200)
            else:
                problem = rf"^nothing was sent: processing_status_id: {step} cannot follow {status}\."
                with pytest.raises(InvalidRequestError, match=problem):
                    sandbox.process_batch(batch_id, step)
            sandbox.reset()
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: transactionbatch nowhere: not found\."):
        sandbox.process_batch("nowhere", 5)


def test_closing_time(shop: Shop, sandbox: Sandbox) -> None:
    """It stays the same when the processor settles the batch later."""
    closed = sandbox.process_batch(shop.paid()["transaction_batch_id"], 5)
    sandbox.advance(60)
    assert sandbox.process_batch(closed["id"], 2)["batch_close_ts"] == closed["batch_close_ts"]


def test_moved_payment(shop: Shop, sandbox: Sandbox) -> None:
    """In a batch of its own it can be settled alone; the other payments and the next one stay in their batch."""
    other, moved = shop.paid(), shop.paid()
    path = f"/_sandbox/transactions/{moved['id']}/batch"
    own = shop.http.post(path, json={}).json()
    assert (own["is_open"], again(shop, moved)["transaction_batch_id"]) == (1, own["id"])
    assert shop.http.post(path, json={"settle": True}).json()["id"] == own["id"]
    assert shop.paid()["transaction_batch_id"] == other["transaction_batch_id"] != own["id"]
    assert [(each["status_id"]) for each in (again(shop, moved), again(shop, other))] == [134, 101]
    refused = shop.http.post(path, json={})
    message = f"transaction {moved['id']}: is in no open batch."
    assert (refused.status_code, refused.json()["message"]) == (422, message)
    with pytest.raises(InvalidRequestError, match=message):
        sandbox.isolate_payment(moved["id"])
    assert sandbox.isolate_payment(other["id"], settle=True)["processing_status_id"] == 2
