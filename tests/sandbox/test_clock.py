"""The sandbox clock, shown and moved over HTTP and from Python."""

import time

import pytest

from gateway_async.sandbox import Sandbox

from .conftest import Shop


def now(shop: Shop) -> float:
    seconds: float = shop.get("/_sandbox/clock").json()["now"]
    return seconds


@pytest.mark.parametrize("move", ["http", "python"])
def test_the_clock_is_moved_and_set(shop: Shop, sandbox: Sandbox, move: str) -> None:
    def control(name: str, seconds: int) -> None:
        if move == "http":
            shop.http.post("/_sandbox/clock", json={name: seconds})
        else:
            {"advance": sandbox.advance, "now": sandbox.set_clock}[name](seconds)

    before = now(shop)
    assert abs(before - time.time()) < 60
    control("advance", 86400)
    assert shop.contact().json()["contact"]["created_ts"] >= int(before) + 86400
    control("now", 1_781_092_800)
    assert int(now(shop)) == int(sandbox.now()) == 1_781_092_800
    assert shop.contact().json()["contact"]["created_ts"] - 1_781_092_800 in range(60)


def test_clock_set_back(shop: Shop, sandbox: Sandbox) -> None:
    """Ids grow even then: the newest record stays first in the list."""
    shop.contact(last_name="Old")
    sandbox.advance(-86400)
    shop.contact(last_name="New")
    assert shop.get("/v2/contacts").json()["contacts"][0]["last_name"] == "New"


INVALID = [
    *("[]", '{"x": 1}', '{"now": "x"}', '{"now": 1e30}', '{"now": 1e400}'),
    *('{"advance": -1e12}', '{"advance": NaN}'),
]
AMBIGUOUS = ["", "{}", '{"advance": 1, "now": 1}', '{"advance": null}']


def test_an_invalid_time_is_refused(shop: Shop) -> None:
    for body in INVALID + AMBIGUOUS:
        response = shop.http.post("/_sandbox/clock", content=body)
        assert response.status_code in {400, 422}
        if body in AMBIGUOUS:
            expected = "The body must have exactly one of advance and now, in seconds."
            assert (response.status_code, response.json()["message"]) == (400, expected)
    assert abs(now(shop) - time.time()) < 60


def test_the_control_calls_have_an_index(shop: Shop, sandbox: Sandbox) -> None:
    calls = shop.get("/_sandbox/").json()["calls"]
    assert shop.get("/_sandbox").json()["calls"] == calls
    assert all(sentence.endswith(".") for sentence in calls.values())
    shown = {call.removeprefix("GET ") for call in calls if call.startswith("GET ")} - {"/_sandbox/files/{id}"}
    paths = [path.replace("{id}", sandbox.terminal_id) for path in shown]
    assert {shop.get(path).status_code for path in paths} == {200}


def test_reset(shop: Shop, sandbox: Sandbox) -> None:
    """Records, faults and the clock are reset; credentials and the first contact stay."""
    shop.pay(transaction_api_id="t1")
    shop.vault()
    sandbox.fault("GET /v2/contacts", "unavailable")
    sandbox.advance(86400)
    assert shop.http.post("/_sandbox/reset").status_code == 204
    assert not any(sandbox.ledger().values())
    assert [one["id"] for one in shop.get("/v2/contacts").json()["contacts"]] == [shop.info.contact_id]
    assert abs(now(shop) - time.time()) < 60
    assert shop.pay(transaction_api_id="t1").status_code == 201


def test_ledger(shop: Shop) -> None:
    """The ledger counts charges, refunds and stored cards; a decline counts nothing, a void still counts."""
    paid = shop.paid(transaction_api_id="paid")
    shop.pay("5.00", transaction_api_id="declined")
    shop.pay("0.00", transaction_api_id="address", action="avsonly")
    back = {"action": "refund", "account_number": ..., "exp_date": ..., "previous_transaction_id": paid["id"]}
    shop.pay("1.00", transaction_api_id="back", **back)
    shop.act(shop.paid(transaction_api_id="voided"), "void")
    shop.vault(account_vault_api_id="kept")
    ledger = shop.get("/_sandbox/ledger").json()
    assert (ledger["charged"], ledger["refunded"]) == ({"paid": 1, "voided": 1}, {"back": 1})
    assert ledger["stored"] == {"kept": 1}
    made = ["paid", "declined", "address", "back", "voided"]
    assert [one["transaction_api_id"] for one in ledger["transactions"]] == made
    assert [one["is_open"] for one in ledger["transactionbatches"]] == [1]
