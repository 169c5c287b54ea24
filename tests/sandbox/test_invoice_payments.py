"""Payments of an invoice: on its page, and by adding and removing transactions."""

import threading
from collections.abc import Callable
from itertools import product
from typing import Any

import httpx
import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.state_machines.quick_invoices import INVOICE_MACHINE, InvoiceState, InvoiceTrigger, codes_of

from .conftest import Errors, Eventually, Record, Shop, recorded

PATH = "/v2/quickinvoices"
Make = Callable[..., str]
Step = Callable[[Shop, str], httpx.Response]


@pytest.fixture
def bill(shop: Shop) -> Make:
    """Create an invoice over 21.00 and return its id."""
    return lambda **fields: shop.invoice(**fields).json()["quickinvoice"]["id"]


@pytest.fixture
def sale(shop: Shop) -> Make:
    """Create an approved sale and return its id."""
    return lambda amount="21.00", **fields: shop.paid(amount, **fields)["id"]


def add(shop: Shop, invoice_id: str, transaction_id: object) -> httpx.Response:
    return shop.put("quickinvoice", f"{PATH}/{invoice_id}/addTransaction", {"transaction_id": transaction_id})


def remove(shop: Shop, invoice_id: str, transaction_id: object) -> httpx.Response:
    return shop.put("quickinvoice", f"{PATH}/{invoice_id}/removeTransaction", {"transaction_id": transaction_id})


def read(shop: Shop, invoice_id: str) -> Record:
    record: Record = shop.get(f"{PATH}/{invoice_id}").json()["quickinvoice"]
    return record


def status_of(record: Record) -> tuple[int, int, str]:
    """Return `status_id`, `payment_status_id` and balance of an invoice."""
    return record["status_id"], record["payment_status_id"], record["remaining_balance"]


def pay(shop: Shop, invoice_id: str, **body: Any) -> httpx.Response:
    """Pay an invoice by a control call."""
    return shop.http.post(f"/_sandbox/quickinvoices/{invoice_id}/pay", json=body)


# --- on its page


def test_full_payment(shop: Shop, bill: Make) -> None:
    """By default a visa pays the whole balance, which closes the invoice; both records are as GET shows them."""
    invoice_id = bill(contact_id=shop.info.contact_id)
    response = pay(shop, invoice_id)
    made, invoice = response.json()["transaction"], response.json()["quickinvoice"]
    assert response.status_code == 200
    assert status_of(invoice) == (0, 2, "0.00")
    assert (made["transaction_amount"], made["status_id"], made["trx_source_id"]) == ("21.00", 101, 8)
    assert (made["quick_invoice_id"], made["contact_id"], made["last_four"]) == (
        invoice_id,
        shop.info.contact_id,
        "1111",
    )
    assert made["product_transaction_id"] == invoice["cc_product_transaction_id"]
    assert shop.get(f"/v2/transactions/{made['id']}").json()["transaction"] == made
    assert read(shop, invoice_id) == invoice


def test_python_payment(sandbox: Sandbox, bill: Make) -> None:
    """The records are plain values, and items keep their digits."""
    paid = sandbox.pay_quick_invoice(bill(item_list={"Tea": 1.1}), "1.10", card="5454545454545454")
    assert paid["transaction"]["account_type"] == "mc"
    assert str(paid["quickinvoice"]["item_list"]["Tea"]) == "1.1"


LIMITS = {"allow_partial_pay": 1, "single_payment_min_amount": "5.00", "single_payment_max_amount": "15.00"}


@pytest.mark.parametrize(
    ("fields", "amount", "reason"),
    [
        ({}, "20.99", "it takes no less than 21.00."),
        ({}, "21.01", "it takes no more than 21.00."),
        ({"allow_overpayment": 1}, "20.99", "it takes no less than 21.00."),
        ({"allow_partial_pay": 1}, "21.01", "it takes no more than 21.00."),
        ({"allow_partial_pay": 1}, "0.00", "amount: must be greater than 0.00."),
        ({"item_list": {"Tea": 0}}, None, "amount: must be greater than 0.00."),
        (LIMITS, "4.99", "it takes no single payment below 5.00."),
        (LIMITS, "15.01", "it takes no single payment above 15.00."),
        ({"status_id": 0}, None, "it is closed."),
        ({"expire_date": "2000-01-31"}, None, "it has expired."),
        ({"ach_product_transaction_id": ...}, None, "it takes no cards."),
        ({}, "-1", "amount: must be an amount of at most 8 digits and 2 decimals."),
    ],
)
def test_a_payment_that_is_not_allowed_charges_nothing(
    shop: Shop, bill: Make, fields: Record, amount: str, reason: str
) -> None:
    if "ach_product_transaction_id" in fields:
        fields = {"ach_product_transaction_id": shop.info.ach_product_transaction_id}
    invoice_id = bill(**fields)
    response = pay(shop, invoice_id, amount=amount)
    assert (response.status_code, response.json()["message"].removeprefix(f"quickinvoice {invoice_id}: ")) == (
        422,
        reason,
    )
    assert shop.get("/v2/transactions").json()["transactions"] == []


def test_parts(shop: Shop, sandbox: Sandbox, bill: Make) -> None:
    """The last part may be smaller than the smallest payment; settling a part changes nothing."""
    invoice_id = bill(**LIMITS)
    expected = {"9.00": (1, 3, "12.00"), 9: (1, 3, "3.00"), "3.00": (0, 2, "0.00")}
    for amount, status in expected.items():
        paid = pay(shop, invoice_id, amount=amount).json()
        assert status_of(paid["quickinvoice"]) == status
        batch = paid["transaction"]["transaction_batch_id"]
        assert shop.http.post(f"/v2/transactionbatches/{batch}/settle").status_code == 200


def test_unpayable(shop: Shop, sandbox: Sandbox, bill: Make) -> None:
    """An unknown or deleted invoice is a 404, an invalid card a 422; both are ValueErrors in Python."""
    deleted = bill()
    shop.http.delete(f"{PATH}/{deleted}")
    for invoice_id in (deleted, "unknown"):
        assert pay(shop, invoice_id).status_code == 404
        with pytest.raises(InvalidRequestError, match=f"^nothing was sent: quickinvoice {invoice_id}: "):
            sandbox.pay_quick_invoice(invoice_id)
    assert pay(shop, bill(), card="4111111111111112").status_code == 422
    with pytest.raises(InvalidRequestError, match=r"^nothing was sent: card: "):
        sandbox.pay_quick_invoice(bill(), card="x")


def test_decline(shop: Shop, bill: Make) -> None:
    """A declined payment is a transaction of the invoice, but does not count as paid."""
    invoice_id = bill(allow_partial_pay=1)
    response = pay(shop, invoice_id, amount="5.00").json()
    assert (response["transaction"]["status_id"], response["transaction"]["quick_invoice_id"]) == (301, invoice_id)
    assert status_of(response["quickinvoice"]) == (1, 1, "21.00")
    assert status_of(pay(shop, invoice_id, amount="1.00").json()["quickinvoice"]) == (1, 3, "20.00")


def test_partial_approval(shop: Shop, bill: Make) -> None:
    """A partial approval pays a part where partial payments are allowed; elsewhere it is a decline."""
    half = pay(shop, bill(item_list={"Tea": 2.01}, allow_partial_pay=1)).json()
    assert (half["transaction"]["reason_code_id"], status_of(half["quickinvoice"])) == (1201, (1, 3, "1.01"))
    whole = pay(shop, bill(item_list={"Tea": 2.01})).json()
    assert (whole["transaction"]["status_id"], status_of(whole["quickinvoice"])) == (301, (1, 1, "2.01"))


@pytest.mark.parametrize("page", ["quickinvoices", "paylinks"])
def test_slow_issuer(shop: Shop, sandbox: Sandbox, eventually: Eventually, page: str) -> None:
    """Of two equal payments at the same time, the second finds the invoice or paylink closed."""
    made = shop.paylink("8.06") if page == "paylinks" else shop.invoice(item_list={"Tea": 8.06})
    (record,) = made.json().values()
    responses = []

    def pay_once() -> None:
        responses.append(shop.http.post(f"/_sandbox/{page}/{record['id']}/pay", json={}))

    paying = [threading.Thread(target=pay_once) for _ in range(2)]
    for one in paying:
        one.start()
    eventually(lambda: len(sandbox._current.gateway.clock.timers) >= 3)  # the two of them, and midnight
    sandbox.advance(60)
    for one in paying:
        one.join()
    assert sorted(response.status_code for response in responses) == [200, 422]
    assert len(shop.get("/v2/transactions").json()["transactions"]) == 1


# --- transactions of other channels


def test_added_transaction(shop: Shop, bill: Make, sale: Make) -> None:
    """The response has the transactions and `active`; the transaction names its invoice."""
    sample = recorded("quickinvoice-addtransaction-response")
    invoice_id, transaction_id = bill(allow_partial_pay=1), sale("1.00")
    response = add(shop, invoice_id, transaction_id)
    record = response.json()["quickinvoice"]
    assert response.status_code == 200
    assert [name for name in record if name in sample] == list(sample)
    assert "is_active" not in record
    assert status_of(record) == (1, 3, "20.00")
    transaction = shop.get(f"/v2/transactions/{transaction_id}").json()["transaction"]
    assert record["transactions"] == [transaction]
    assert (transaction["quick_invoice_id"], transaction["trx_source_id"]) == (invoice_id, 12)


def test_a_relation_is_expanded_on_the_invoice_alone(shop: Shop, bill: Make, sale: Make) -> None:
    path, body = f"{PATH}/{bill()}/addTransaction", {"transaction_id": sale()}
    record = shop.put("quickinvoice", path, body, expand="payment_url").json()["quickinvoice"]
    assert record["payment_url"].endswith(f"/#/quickinvoicepay/{record['id']}")
    assert "payment_url" not in record["transactions"][0]


def test_removed_transaction(shop: Shop, bill: Make, sale: Make) -> None:
    """The response has the remaining ones, and the transaction can pay another invoice."""
    invoice_id, transaction_id = bill(allow_partial_pay=1), sale("1.00")
    add(shop, invoice_id, transaction_id)
    response = remove(shop, invoice_id, transaction_id)
    record = response.json()["quickinvoice"]
    assert (response.status_code, record["transactions"], record["active"]) == (200, [], 1)
    assert status_of(record) == (1, 1, "21.00")
    assert shop.get(f"/v2/transactions/{transaction_id}").json()["transaction"]["quick_invoice_id"] is None
    assert add(shop, bill(allow_partial_pay=1), transaction_id).status_code == 200


def test_a_closed_invoice_stays_closed_when_a_payment_is_taken_back(shop: Shop, bill: Make, sale: Make) -> None:
    invoice_id, transaction_id = bill(), sale()
    assert status_of(add(shop, invoice_id, transaction_id).json()["quickinvoice"]) == (0, 2, "0.00")
    assert status_of(remove(shop, invoice_id, transaction_id).json()["quickinvoice"]) == (0, 1, "21.00")
    assert shop.http.post(f"{PATH}/{invoice_id}/reopen").status_code == 200
    assert status_of(add(shop, invoice_id, transaction_id).json()["quickinvoice"]) == (0, 2, "0.00")


REFUSED = {
    "a declined one": ({}, lambda shop: shop.pay("5.00"), "The transaction took no money."),
    "an authorization": ({}, lambda shop: shop.pay("21.00", action="authonly"), "The transaction took no money."),
    "a refund": ({}, lambda shop: shop.pay("21.00", action="refund"), "The transaction took no money."),
    "too little": ({}, lambda shop: shop.pay("20.00"), "The invoice takes no less than 21.00."),
    "too much": ({}, lambda shop: shop.pay("22.00"), "The invoice takes no more than 21.00."),
    "to a closed one": ({"status_id": 0}, lambda shop: shop.pay("21.00"), "The invoice is closed."),
    "to an expired one": ({"expire_date": "2000-01-31"}, lambda shop: shop.pay("21.00"), "The invoice has expired."),
}


@pytest.mark.parametrize(("fields", "make", "reason"), REFUSED.values(), ids=REFUSED)
def test_unfitting_transaction(
    shop: Shop, bill: Make, errors: Errors, fields: Record, make: Callable[[Shop], httpx.Response], reason: str
) -> None:
    """The response is a 422 under `transaction_id`, and both records stay unchanged."""
    invoice_id, transaction_id = bill(**fields), make(shop).json()["transaction"]["id"]
    before = read(shop, invoice_id)
    assert errors(add(shop, invoice_id, transaction_id)) == {"transaction_id": [reason]}
    assert read(shop, invoice_id) == before
    assert shop.get(f"/v2/transactions/{transaction_id}").json()["transaction"]["quick_invoice_id"] is None


def test_a_transaction_is_added_to_one_invoice_once(shop: Shop, bill: Make, sale: Make, errors: Errors) -> None:
    first, second, transaction_id = bill(allow_overpayment=1), bill(), sale()
    add(shop, first, transaction_id)
    taken = {"transaction_id": ["The transaction belongs to an invoice already."]}
    for invoice_id in (first, second):
        assert errors(add(shop, invoice_id, transaction_id)) == taken
    foreign = {"transaction_id": ["The transaction does not belong to the invoice."]}
    assert errors(remove(shop, second, transaction_id)) == foreign


def test_other_locations(shop: Shop, neighbor: Shop, bill: Make, errors: Errors) -> None:
    """A transaction of another location, an unknown one and none are refused."""
    foreign_id = neighbor.paid("21.00")["id"]
    invalid, blank = "transaction_id provided is not valid", "Transaction Id cannot be blank."
    for move in (add, remove):
        for transaction_id, reason in ((foreign_id, invalid), ("unknown", invalid), (None, blank), ("", blank)):
            assert errors(move(shop, bill(), transaction_id)) == {"transaction_id": [reason]}
        more = shop.put("quickinvoice", f"{PATH}/{bill()}/{move.__name__}Transaction", {"title": "x"})
        assert set(errors(more)) == {"transaction_id"}


def test_void_and_refund(shop: Shop, sandbox: Sandbox, bill: Make) -> None:
    """A void does not count as paid, and a reversed part is due again; refunded money is not."""
    voided, refunded, reversed_ = (sandbox.pay_quick_invoice(bill())["transaction"] for _ in range(3))
    shop.act(voided, "void")
    shop.act(reversed_, "partialreversal", transaction_amount="20.00")
    account = {"account_number": ..., "exp_date": ..., "previous_transaction_id": refunded["id"]}
    assert shop.pay("21.00", action="refund", **account).status_code == 201
    assert status_of(read(shop, voided["quick_invoice_id"])) == (0, 1, "21.00")
    assert status_of(read(shop, refunded["quick_invoice_id"])) == (0, 2, "0.00")
    assert status_of(read(shop, reversed_["quick_invoice_id"])) == (0, 3, "1.00")


def test_returned_payment(shop: Shop, sandbox: Sandbox, bill: Make) -> None:
    """A payment that the bank returns does not count as paid; a notice of change changes nothing."""
    invoices = [bill(allow_partial_pay=1) for _ in range(3)]
    payments = [shop.pay_from_bank().json()["transaction"]["id"] for _ in invoices]
    for invoice_id, payment_id in zip(invoices, payments, strict=True):
        add(shop, invoice_id, payment_id)
    pay(shop, invoices[1], amount="11.00")
    sandbox.advance(24 * 60 * 60)
    for payment_id, code in zip(payments, ("R01", "R01", "C01"), strict=True):
        sandbox.return_payment(payment_id, code)
    expected = [(1, 1, "21.00"), (0, 3, "10.00"), (1, 3, "11.00")]
    assert [status_of(read(shop, invoice_id)) for invoice_id in invoices] == expected


@pytest.mark.parametrize(
    ("fields", "amount", "expected"),
    [
        ({"allow_partial_pay": 1}, "10.00", (1, 3, "11.00")),
        ({}, "21.00", (0, 2, "0.00")),
        ({"allow_overpayment": 1}, "21.00", (1, 2, "0.00")),
        ({"allow_partial_pay": 1, "status_id": 0}, "10.00", (0, 3, "11.00")),
    ],
)
def test_corrected_check(shop: Shop, bill: Make, fields: Record, amount: str, expected: tuple[int, int, str]) -> None:
    """A voided check does not count as paid, and a corrected one counts again; a closed invoice stays closed."""
    invoice_id = bill(**fields | {"status_id": 1})
    check = shop.pay_from_bank(transaction_amount=amount, ach_sec_code="POP").json()["transaction"]
    add(shop, invoice_id, check["id"])
    shop.act(check, "void")
    assert status_of(read(shop, invoice_id))[1:] == (1, "21.00")
    shop.put("quickinvoice", f"{PATH}/{invoice_id}", {"status_id": fields.get("status_id", 1)})
    shop.post("transaction", f"/v2/transactions/{check['id']}/achupdate", {"transaction_amount": amount})
    assert status_of(read(shop, invoice_id)) == expected


@pytest.mark.parametrize(("fields", "reopened"), [({}, 422), ({"allow_overpayment": 1}, 200)])
def test_growing_payment(shop: Shop, bill: Make, sale: Make, fields: Record, reopened: int) -> None:
    """A closed invoice whose payment grows, by a tip for example, stays closed and can be reopened as a paid one."""
    invoice_id, transaction_id = bill(allow_partial_pay=1, **fields), sale("20.00")
    add(shop, invoice_id, transaction_id)
    shop.put("quickinvoice", f"{PATH}/{invoice_id}", {"status_id": 0})
    shop.act({"id": transaction_id}, "tipadjust", tip_amount="1.00")
    assert status_of(read(shop, invoice_id)) == (0, 2, "0.00")
    assert shop.http.post(f"{PATH}/{invoice_id}/reopen").status_code == reopened


def test_other_items(shop: Shop, bill: Make) -> None:
    """If nothing of the new items remains to be paid, an invoice that may not be overpaid closes."""
    part, over = {"allow_partial_pay": 1}, {"allow_overpayment": 1}
    cases: list[tuple[Record, str, int, tuple[int, int, str]]] = [
        (part, "10.00", 30, (1, 3, "20.00")),
        (part, "10.00", 10, (0, 2, "0.00")),
        (part, "10.00", 9, (0, 2, "0.00")),
        (part | over, "10.00", 10, (1, 2, "0.00")),
        (over, "21.00", 22, (1, 3, "1.00")),
    ]
    for fields, amount, items, expected in cases:
        invoice_id = bill(**fields)
        pay(shop, invoice_id, amount=amount)
        changed = shop.put("quickinvoice", f"{PATH}/{invoice_id}", {"item_list": {"Tea": items}})
        assert status_of(changed.json()["quickinvoice"]) == expected


# --- the state machine of an invoice


MOVES: dict[InvoiceTrigger, Step] = {
    InvoiceTrigger.PAY_PART: lambda shop, one: add(shop, one, shop.paid("0.01")["id"]),
    InvoiceTrigger.CHANGE: lambda shop, one: shop.put("quickinvoice", f"{PATH}/{one}", {"title": "x"}),
    InvoiceTrigger.CLOSE: lambda shop, one: shop.put("quickinvoice", f"{PATH}/{one}", {"status_id": 0}),
    InvoiceTrigger.REOPEN: lambda shop, one: shop.http.post(f"{PATH}/{one}/reopen"),
}
BEFORE: dict[InvoiceState, tuple[str, ...]] = {
    InvoiceState.OPEN_UNPAID: (),
    InvoiceState.OPEN_IN_PART: ("pay a part",),
    InvoiceState.CLOSED_UNPAID: ("close",),
    InvoiceState.CLOSED_IN_PART: ("pay a part", "close"),
    InvoiceState.CLOSED_PAID: ("pay",),
}
STEPS: dict[str, Step] = {
    "pay": pay,
    "pay a part": lambda shop, one: pay(shop, one, amount="0.01"),
    "close": MOVES[InvoiceTrigger.CLOSE],
}


def test_states(shop: Shop, bill: Make) -> None:
    """Each allowed transition leads to the state in the table; others change nothing, and are a 422 unless repeated."""
    for state, trigger in product(BEFORE, MOVES):
        invoice_id = bill(allow_partial_pay=1)
        for step in BEFORE[state]:
            STEPS[step](shop, invoice_id)
        response, after = MOVES[trigger](shop, invoice_id), INVOICE_MACHINE.next_state(state, trigger)
        is_repeated = trigger is InvoiceTrigger.REOPEN and codes_of(state)["status_id"] == 1
        assert response.status_code == (422 if after is None and not is_repeated else 200)
        record = read(shop, invoice_id)
        assert {name: record[name] for name in ("status_id", "payment_status_id")} == codes_of(after or state)
