"""Quick invoices: their fields, and when they can be changed, closed and reopened."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox

from .conftest import Errors, Record, Shop, recorded

PATH = "/v2/quickinvoices"


@pytest.fixture
def invoice(shop: Shop) -> Record:
    record: Record = shop.invoice().json()["quickinvoice"]
    return record


def change(shop: Shop, invoice: Record, **fields: Any) -> httpx.Response:
    return shop.put("quickinvoice", f"{PATH}/{invoice['id']}", fields)


def act(shop: Shop, invoice: Record, verb: str, **query: Any) -> httpx.Response:
    return shop.http.post(f"{PATH}/{invoice['id']}/{verb}", params=query)


def status_of(response: httpx.Response) -> tuple[int, int]:
    """Return `status_id` and `payment_status_id` of a response, which must be a success."""
    assert response.is_success, response.text
    record = response.json()["quickinvoice"]
    return record["status_id"], record["payment_status_id"]


# --- what they take and say


def test_an_invoice_looks_like_the_recorded_one(shop: Shop) -> None:
    sample = recorded("quickinvoice-create-response")
    sent = recorded("quickinvoice-create-request")
    made = shop.invoice(**sent | {"location_id": shop.info.location_id, "due_date": "2030-01-31"})
    record = made.json()["quickinvoice"]
    own = {"id", "location_id", "due_date", "_links", *(name for name in sample if name.endswith(("_ts", "_user_id")))}
    own |= {"cc_product_transaction_id"}
    assert record["_links"]["self"]["href"] == f"{shop.info.base_url}/v2/quickinvoice/view?id={record['id']}"
    assert [name for name in record if name in sample] == list(sample)
    assert {name: record[name] for name in sample if name not in own} == {
        name: value for name, value in sample.items() if name not in own
    }


def test_defaults(shop: Shop, invoice: Record) -> None:
    """Reminders are 3 days before, on and 7 days after the due date; one payment is at most the amount due."""
    assert [invoice[f"notification_{when}_due_date"] for when in ("days_before", "on", "days_after")] == [3, 1, 7]
    assert (invoice["single_payment_min_amount"], invoice["single_payment_max_amount"]) == ("0.00", "21.00")
    products = invoice["cc_product_transaction_id"], invoice["ach_product_transaction_id"]
    assert products == (shop.info.cc_product_transaction_id, None)


def test_named_account(shop: Shop, errors: Errors) -> None:
    """With one of the two ids the other stays null; each must support its payment method."""
    ach = shop.info.ach_product_transaction_id
    record = shop.invoice(ach_product_transaction_id=ach).json()["quickinvoice"]
    assert (record["cc_product_transaction_id"], record["ach_product_transaction_id"]) == (None, ach)
    wrong = shop.invoice(cc_product_transaction_id=ach)
    assert errors(wrong) == {"cc_product_transaction_id": ["cc_product_transaction_id provided is not valid"]}


ITEMS: list[dict[str, Any]] = [
    {"Tea": 1.1, "Cake": "2.20"},
    {"Tea": 0},
    {"a]b": "0.10", "ü": 20},
    {"Tea": 5, "Off": "-1.25", "Tip": -0.5},
    {"Tea": 99999999, "Cake": "0.99"},
]


def test_items(shop: Shop) -> None:
    """Numbers stay numbers and strings strings; the sum is exact, with two decimals."""
    for items in ITEMS:
        record = shop.invoice(item_list=items).json()["quickinvoice"]
        assert record["item_list"] == items
        cents = sum(round(100 * float(amount)) for amount in items.values())
        assert record["amount_due"] == record["remaining_balance"] == f"{cents // 100}.{cents % 100:02}", items


INVALID_ITEMS: list[Any] = [
    *(None, {}, [], "Tea", {"": 1}, {" ": 1}, {"x" * 4000: 1}),
    *({"Tea": 1, "Off": off} for off in ("-1.01", "--1", "- 1")),
    *({"Tea": amount} for amount in [-1, 1.001, "1e2", True, None, {}, 123456789]),
    {"Tea": 99999999.99, "Cake": 0.01},
]


def test_invalid_items(shop: Shop, errors: Errors) -> None:
    """Items without name or amount, a sum of more than ten digits and a list that is too long are named."""
    for items in INVALID_ITEMS:
        assert list(errors(shop.invoice(item_list=items))) == ["item_list"]


def test_license(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """For bank accounts the id of the customer or a license is enough, and an invoice for cards needs neither."""
    ach = {"ach_product_transaction_id": shop.info.ach_product_transaction_id}
    sandbox.change_product(shop.info.ach_product_transaction_id, license_verification=True)
    problem = {"customer_id": ["Customer Id cannot be blank unless Dl Number and Dl State are given."]}
    assert errors(shop.invoice(**ach)) == problem
    for proof in ({"customer_id": "c1"}, {"dl_number": "D1", "dl_state": "FL"}):
        assert shop.invoice(**ach, **proof).status_code == 201
    invoice = shop.invoice().json()["quickinvoice"]
    assert errors(change(shop, invoice, **ach)) == problem


FIELDS_NAMEDS: list[tuple[Record, str]] = [
    ({"send_text_to_pay": 1}, "cell_phone"),
    ({"ssn4": "1234", "dob_year": "1990"}, "dob_year"),
    ({"dl_number": "A1"}, "dl_state"),
    ({"dl_state": "OK"}, "dl_state"),
    ({"status_id": 3}, "status_id"),
    ({"files": []}, "files"),
    ({"tags": "red"}, "tags"),
    ({"tags": [1]}, "tags"),
    ({"contact_api_id": "unknown"}, "contact_api_id"),
    ({"payment_status_id": 2}, "payment_status_id"),
    ({"amount_due": "1.00"}, "amount_due"),
]


def test_each_field_that_does_not_fit_has_one_problem(shop: Shop, errors: Errors) -> None:
    for fields, named in FIELDS_NAMEDS:
        assert list(errors(shop.invoice(**fields))) == [named]


def test_email_of_contact(shop: Shop) -> None:
    """The contact's address is used if the invoice has none; a contact's api id works too."""
    shop.contact(contact_api_id="ada", email="ada@example.test")
    ours = shop.invoice(contact_api_id="ada").json()["quickinvoice"]
    own = shop.invoice(contact_api_id="ada", email="me@example.test").json()["quickinvoice"]
    assert (ours["email"], own["email"]) == ("ada@example.test", "me@example.test")
    assert ours["contact_id"] == own["contact_id"] is not None
    changed = change(shop, shop.invoice().json()["quickinvoice"], contact_api_id="ada")
    assert changed.json()["quickinvoice"]["contact_id"] == own["contact_id"]


# --- changed


def test_changed_items(shop: Shop, invoice: Record) -> None:
    """All other fields stay, except the sum and the largest single payment, which follows it."""
    changed = change(shop, invoice, item_list={"Tea": "3.5"}, title="Tea").json()["quickinvoice"]
    expected = {"item_list": {"Tea": "3.5"}, "title": "Tea", "amount_due": "3.50", "remaining_balance": "3.50"}
    expected["single_payment_max_amount"] = "3.50"
    assert changed == invoice | expected | {"modified_ts": changed["modified_ts"]}


def test_whole_record(shop: Shop, invoice: Record) -> None:
    """The record may be a response of addTransaction, with `active`, transactions and files."""
    invoice |= {"active": 1, "transactions": [], "files": []}
    assert change(shop, invoice, **invoice | {"title": "x"}).json()["quickinvoice"]["title"] == "x"


def test_merchant_account(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """The merchant account changes before the first payment only, and one of the two remains."""
    name, other = "cc_product_transaction_id", "ach_product_transaction_id"
    invoice = shop.invoice(allow_partial_pay=1).json()["quickinvoice"]
    assert list(errors(change(shop, invoice, **{name: None}))) == [name]
    both = change(shop, invoice, **{other: shop.info.ach_product_transaction_id}).json()["quickinvoice"]
    assert both[other] == shop.info.ach_product_transaction_id
    sandbox.pay_quick_invoice(invoice["id"], "1.00")
    assert list(errors(change(shop, invoice, **{other: None}))) == [other]
    assert change(shop, invoice, **{other: both[other]}, title="x").status_code == 200


# --- closed and opened again


def test_status(shop: Shop, errors: Errors) -> None:
    """0 and 2 close, 0 is returned; a closed invoice cannot be changed. It may be closed from the start."""
    for status_id in (0, 2, "0"):
        invoice = shop.invoice().json()["quickinvoice"]
        assert status_of(change(shop, invoice, status_id=1)) == (1, 1)
        assert status_of(change(shop, invoice, status_id=status_id)) == (0, 1)
        for fields in ({"title": "x"}, {"status_id": 1}, {}):
            assert errors(change(shop, invoice, **fields)) == {"status_id": ["The invoice is closed."]}
    closed = shop.invoice(status_id=2)
    assert status_of(closed) == (0, 1)
    assert status_of(act(shop, closed.json()["quickinvoice"], "reopen")) == (1, 1)


def test_open_invoice(shop: Shop, sandbox: Sandbox, invoice: Record) -> None:
    """Reopening an open invoice returns it unchanged, also after its expiry."""
    before = change(shop, invoice, expire_date="2030-01-31").json()
    sandbox.set_clock(datetime(2031, 1, 1, tzinfo=UTC).timestamp())
    again = act(shop, invoice, "reopen")
    assert (again.status_code, again.json()) == (200, before)


def test_reopening(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """A paid invoice is reopened only where it may be overpaid: the contract's conditions are on the payment status."""
    paid, more = (shop.invoice(allow_overpayment=over).json()["quickinvoice"] for over in (0, 1))
    part = shop.invoice(allow_partial_pay=1).json()["quickinvoice"]
    for invoice, amount in ((paid, None), (more, None), (part, "1.00")):
        sandbox.pay_quick_invoice(invoice["id"], amount)
    assert list(errors(act(shop, paid, "reopen"))) == ["status_id"]
    for invoice, payment_status in ((more, 2), (part, 3)):
        assert status_of(change(shop, invoice, status_id=0)) == (0, payment_status)
        assert status_of(act(shop, invoice, "reopen")) == (1, payment_status)


def test_expired_invoice(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    """An invoice expires at the midnight after its expire date, and is not reopened."""
    today = sandbox._current.gateway.clock.today().isoformat()
    invoice = shop.invoice(expire_date=today, status_id=0).json()["quickinvoice"]
    assert status_of(act(shop, invoice, "reopen")) == (1, 1)
    change(shop, invoice, status_id=0)
    sandbox.advance(24 * 60 * 60)
    assert errors(act(shop, invoice, "reopen")) == {"expire_date": ["The invoice has expired."]}


# --- messages


CHANNELS: list[tuple[Record, str]] = [
    ({"sms": 0, "email": 0}, "email"),
    ({"sms": "no"}, "sms"),
    ({"email": ""}, "email"),
]


def test_channels(shop: Shop, invoice: Record, errors: Errors) -> None:
    """A message by neither channel, and an invalid flag, are a 422."""
    for query, named in CHANNELS:
        assert list(errors(act(shop, invoice, "resend", **query))) == [named]
