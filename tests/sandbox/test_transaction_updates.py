"""Updates of a payment: the effect of each action, and when it is allowed."""

import pytest

from gateway_async.sandbox import Sandbox

from .conftest import BANK_ACCOUNT, Errors, Record, Shop


def test_void(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """A void has status 201, amount 0.00 and a date, and keeps the authorized amount. Repeated, it changes nothing."""
    sale = shop.paid("12.50")
    response = shop.act(sale, "void")
    voided = response.json()["transaction"]
    assert (response.status_code, voided["status_id"]) == (200, 201)
    assert (voided["transaction_amount"], voided["auth_amount"]) == ("0.00", "12.50")
    assert voided["void_date"] is not None
    sandbox.advance(60)
    again = shop.act(sale, "void")
    assert (again.status_code, again.json()["transaction"]) == (200, voided)
    more = shop.act(sale, "void", description="Tea")
    assert errors(more) == {"action": ["Action void is not allowed when status_id is 201."]}


AUTH_COMPLETION: list[tuple[str, str | None, int, int]] = [
    ("authincrement", "25.00", 102, 1000),
    ("authcomplete", "10.00", 101, 1001),
    ("authcomplete", "7.25", 101, 1001),
    ("authcomplete", None, 101, 1001),
    ("partialreversal", "4.00", 102, 1000),
]


def test_auth_completion(shop: Shop) -> None:
    """The sent amount, or all of it, is the amount to settle; the first authorization stays stored."""
    for action, amount, status, reason in AUTH_COMPLETION:
        auth = shop.paid("10.00", action="authonly")
        changed = shop.act(auth, action, transaction_amount=amount).json()["transaction"]
        assert (changed["status_id"], changed["reason_code_id"]) == (status, reason)
        assert (changed["transaction_amount"], changed["auth_amount"]) == (amount or "10.00", "10.00")


REFUSALS: list[tuple[str, str, Record, str]] = [
    ("authonly", "authcomplete", {"transaction_amount": "10.01"}, "transaction_amount"),
    ("authonly", "authcomplete", {"transaction_amount": "0.00"}, "transaction_amount"),
    ("authonly", "authincrement", {"transaction_amount": "10.00"}, "transaction_amount"),
    ("authonly", "authincrement", {"transaction_amount": "12345678.90"}, "transaction_amount"),
    ("authonly", "partialreversal", {}, "transaction_amount"),
    ("authonly", "tipadjust", {"tip_amount": "1.00"}, "action"),
    ("sale", "authcomplete", {}, "action"),
    ("sale", "authincrement", {"transaction_amount": "20.00"}, "action"),
    ("sale", "tipadjust", {}, "tip_amount"),
    ("sale", "void", {"transaction_amount": "5.00"}, "transaction_amount"),
    ("sale", "edit", {"transaction_amount": "5.00"}, "transaction_amount"),
    ("sale", "refund", {}, "action"),
    ("sale", "explode", {}, "action"),
]


def test_refusals(shop: Shop, errors: Errors) -> None:
    """A change that does not fit status or amount is refused by field, and changes nothing."""
    for first, action, fields, field in REFUSALS:
        made = shop.pay("10.00", action=first).json()
        assert list(errors(shop.act(made["transaction"], action, **fields))) == [field]
        assert shop.get(f"/v2/transactions/{made['transaction']['id']}").json() == made, first


def test_tip(shop: Shop) -> None:
    """A tip is part of the amount, and a second one replaces the first."""
    sale = shop.paid("10.00")
    assert shop.act(sale, "tipadjust", tip_amount="2.00").json()["transaction"]["transaction_amount"] == "12.00"
    tipped = shop.act(sale, "tipadjust", tip_amount="1.00").json()["transaction"]
    assert (tipped["transaction_amount"], tipped["tip_amount"]) == ("11.00", "1.00")


def test_edit(shop: Shop) -> None:
    """An edit of what is not money needs no action, and is allowed at any time."""
    sale = shop.paid()
    path = f"/v2/transactions/{sale['id']}"
    assert shop.act(sale, "edit", description="one").json()["transaction"]["description"] == "one"
    shop.act(sale, "void")
    assert shop.put("transaction", path, {"order_num": "7"}).json()["transaction"]["order_num"] == "7"


def test_expands(shop: Shop) -> None:
    """is_voidable and its siblings follow the status, and what was refunded."""
    names = ("is_voidable", "is_refundable", "is_reversible", "is_completable", "is_settled")
    account = {"account_number": ..., "exp_date": ...}
    cases: list[tuple[str, str, str, tuple[bool, ...]]] = [
        ("sale", "12.50", "", (True, True, True, False, False)),
        ("sale", "12.50", "12.49", (False, True, True, False, False)),
        ("sale", "12.50", "12.50", (False, False, False, False, False)),
        ("sale", "0.01", "", (True, True, False, False, False)),
        ("authonly", "12.50", "", (True, False, True, True, False)),
    ]
    for action, amount, refund, allowed in cases:
        made = shop.paid(amount, action=action)
        if refund:
            shop.paid(refund, action="refund", previous_transaction_id=made["id"], **account)
        shown = shop.get(f"/v2/transactions/{made['id']}", expand=",".join(names)).json()["transaction"]
        assert tuple(shown[name] for name in names) == allowed


def test_partial_approval(shop: Shop, errors: Errors) -> None:
    """2.01 is approved for 1.00: at most that is completed; an increment asks for more."""
    auth, other = (shop.paid("2.01", action="authonly") for _ in range(2))
    assert list(errors(shop.act(auth, "authcomplete", transaction_amount="1.01"))) == ["transaction_amount"]
    assert shop.act(auth, "authcomplete").json()["transaction"]["transaction_amount"] == "1.00"
    shop.act(other, "authincrement", transaction_amount="2.01")
    assert shop.act(other, "authcomplete").json()["transaction"]["transaction_amount"] == "2.01"


def test_partial_reversal(shop: Shop, errors: Errors) -> None:
    """A refund gives at most the rest that a reversal leaves, also of a partial approval."""
    sale = shop.paid("2.01")
    assert list(errors(shop.act(sale, "partialreversal", transaction_amount="1.00"))) == ["transaction_amount"]
    assert shop.act(sale, "partialreversal", transaction_amount="0.40").status_code == 200
    back = {"action": "refund", "account_number": ..., "exp_date": ..., "previous_transaction_id": sale["id"]}
    assert shop.paid(..., **back)["transaction_amount"] == "0.40"


DAY = 24 * 60 * 60
BEGINNINGS: dict[int, Record] = {
    101: {},
    102: {"action": "authonly"},
    111: {"action": "refund"},
    121: {"action": "avsonly"},
    131: BANK_ACCOUNT,
    132: BANK_ACCOUNT,
    133: BANK_ACCOUNT,
    134: {},
    201: {},
    301: {"amount": "5.00"},
}
ACTIONS: dict[str, Record] = {
    "void": {},
    "authcomplete": {},
    "authincrement": {"transaction_amount": "20.00"},
    "partialreversal": {"transaction_amount": "4.00"},
    "tipadjust": {"tip_amount": "1.00"},
    "edit": {"description": "x"},
}
FOLLOWS = {(101, "void"): 201, (101, "partialreversal"): 101, (101, "tipadjust"): 101}
FOLLOWS |= {(102, "void"): 201, (102, "authcomplete"): 101, (102, "authincrement"): 102, (102, "partialreversal"): 102}
FOLLOWS |= {(111, "void"): 201, (131, "void"): 201, (201, "void"): 201}
FOLLOWS |= {(status, "edit"): status for status in BEGINNINGS}


@pytest.mark.parametrize("status", BEGINNINGS)
def test_actions(shop: Shop, sandbox: Sandbox, status: int) -> None:
    """Nine transitions, a repeated void and an edit are allowed; anything else is refused under `action`."""
    made = {name: shop.paid(**({"amount": "10.00"} | BEGINNINGS[status])) for name in ACTIONS}
    if status == 201:
        for one in made.values():
            shop.act(one, "void")
    elif status in {132, 133, 134}:
        sandbox.advance(DAY * (2 if status == 133 else 1))
    responses = {name: shop.act(made[name], name, **fields) for name, fields in ACTIONS.items()}
    allowed = {
        name: response.json()["transaction"]["status_id"] for name, response in responses.items() if response.is_success
    }
    assert allowed == {name: after for (before, name), after in FOLLOWS.items() if before == status}
    refused = [response.json()["errors"] for response in responses.values() if not response.is_success]
    assert {name for errors in refused for name in errors} <= {"action"}
