"""The payment pages of invoices and paylinks, by plain HTTP."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from tests.support.leaks import shown_in
from tests.support.plain_http import read_form

from .conftest import Record, Shop

DAY = 86_400
CARD = {"account_number": "4111 1111 1111 1111", "exp_date": "12/30", "cvv": "999", "account_holder_name": "Ada"}
BANK = {
    "payment_method": "ach",
    "account_number": "1234567890",
    "routing": "072000326",
    "account_type": "checking",
    "account_holder_name": "Ada",
}
HOSTILE = "\"><script>alert(1)</script>'"

Open = Callable[..., httpx.Response]
Pay = Callable[..., httpx.Response]


@pytest.fixture
def open_page(browser: httpx.Client) -> Open:
    return lambda path, **query: browser.get(path, params=query or None)


@pytest.fixture
def pay(browser: httpx.Client) -> Pay:
    """Fill in the form of a page, submit it, and return the page that follows."""

    def run(path: str, **fields: str) -> httpx.Response:
        form = read_form(browser.get(path).text) | CARD | fields
        return browser.post(path, data=form, follow_redirects=True)

    return run


def invoice_of(shop: Shop, **fields: Any) -> Record:
    """Create an invoice for cards and bank accounts, over 21.00."""
    products = {"ach_product_transaction_id": shop.info.ach_product_transaction_id}
    products["cc_product_transaction_id"] = shop.info.cc_product_transaction_id
    record: Record = shop.invoice(**products | fields).json()["quickinvoice"]
    return record


def paylink_of(shop: Shop, **fields: Any) -> Record:
    """Create a paylink over 21.00."""
    record: Record = shop.paylink(21, **fields).json()["paylink"]
    return record


def path_of(record: Record) -> str:
    return f"/{'quickinvoicepay' if 'title' in record else 'paylinkpay'}/{record['id']}"


def payments_of(shop: Shop) -> list[Record]:
    records: list[Record] = shop.get("/v2/transactions", sort="id").json()["transactions"]
    return records


def test_addresses(shop: Shop, open_page: Open) -> None:
    """An invoice is found by id in the path and in the query, and by integrator id in both."""
    invoice = invoice_of(shop, quick_invoice_api_id="order 7/é")
    by_api_id = {"api_id": "1", "location_id": shop.info.location_id}
    pages = [
        open_page(path_of(invoice)),
        open_page("/quickinvoice/", id=invoice["id"]),
        open_page("/quickinvoicepay/order%207%2F%C3%A9", **by_api_id),
        open_page("/quickinvoice/", id="order 7/é", **by_api_id),
    ]
    assert [(page.status_code, '<h1 id="title">Lunch</h1>' in page.text) for page in pages] == [(200, True)] * 4
    page = open_page("", paylink_id=paylink_of(shop, description="Membership")["id"]).text
    assert ("Membership" in page, "Pay $21.00" in page) == (True, True)


def test_invoice_page(shop: Shop, open_page: Open) -> None:
    """The page has merchant, items, texts, due date and amount."""
    texts = {"item_header": "For you:", "item_footer": "Tax included.", "note": "See you.", "invoice_number": "A-7"}
    page = open_page(path_of(invoice_of(shop, **texts))).text
    for text in ("Sandbox", "Soup", "$10.00", "$11.00", "$21.00", "January 31, 2030", *texts.values()):
        assert text in page
    page = open_page(path_of(invoice_of(shop, item_list={"Tea": 5, "Off": "-1.25"}))).text
    assert [text in page for text in ("$5.00", "−$1.25", "$3.75")] == [True] * 3


def test_foreign_text(shop: Shop, open_page: Open, pay: Pay) -> None:
    """Titles, items, notes and names of files cannot become markup, before and after the payment."""
    texts = dict.fromkeys(("title", "item_header", "item_footer", "note", "invoice_number"), HOSTILE)
    invoice = invoice_of(shop, **texts, item_list={HOSTILE: 5})
    name = "<script>alert(1)</script>.html"
    shop.http.post(f"/v2/quickinvoices/{invoice['id']}/files", files={"file[file]": (name, b"<script>")})
    paylink = paylink_of(shop, description=HOSTILE)
    pages = [open_page(path_of(each)) for each in (invoice, paylink)]
    pages += [pay(path_of(invoice), account_holder_name=HOSTILE, exp_date=HOSTILE), pay(path_of(paylink))]
    pages += [open_page(path_of(invoice), use=HOSTILE, method=HOSTILE), open_page(f"/quickinvoicepay/{HOSTILE}")]
    assert not [page.url for page in pages if "<script>alert" in page.text]


def test_entered_values(shop: Shop, pay: Pay) -> None:
    """The transaction has the billing address, the holder, the contact, the source and the check of the address."""
    invoice = invoice_of(shop, contact_id=shop.info.contact_id)
    address = {"billing_street": "5800 NW 39th AVE", "billing_city": "Gainesville", "billing_state": "FL"}
    address |= {"billing_zip": "32606", "billing_phone": "3525550100"}
    page = pay(path_of(invoice), **address)
    (payment,) = payments_of(shop)
    assert page.status_code == 200
    assert {name: payment[name] for name in address} == address
    known = (
        "account_holder_name",
        "last_four",
        "avs",
        "cvv_response",
        "quick_invoice_id",
        "contact_id",
        "trx_source_id",
    )
    expected = ("Ada", "1111", "GOOD", "M", invoice["id"], shop.info.contact_id, 8)
    assert tuple(payment[name] for name in known) == expected
    for text in ("$21.00", "Visa ending in 1111", payment["auth_code"], payment["order_num"], payment["id"]):
        assert text in page.text
    assert shown_in(page.text, ["4111", "41111111"]) == []


def test_paylink(shop: Shop, pay: Pay) -> None:
    """A paid paylink is paid at the gateway, and the customer gets a message of thanks; an amount may only be held."""
    paylink = paylink_of(shop, email="ada@example.com")
    assert "Thank you" in pay(path_of(paylink)).text
    assert shop.get(f"/v2/paylinks/{paylink['id']}").json()["paylink"]["status_id"] == 1
    assert payments_of(shop)[0]["trx_source_id"] == 16
    assert [message["event"] for message in shop.get("/_sandbox/outbox").json()["outbox"]] == ["created", "paid"]
    assert "Amount held on your card" in pay(path_of(paylink_of(shop, paylink_action="auth-only"))).text
    assert payments_of(shop)[1]["status_id"] == 102


@pytest.mark.parametrize("name", ["display_billing_fields", "display_product_transaction_receipt_details"])
def test_paylink_switches(shop: Shop, open_page: Open, pay: Pay, name: str) -> None:
    """Billing fields and receipt details are shown if the paylink says so."""
    for switch in (0, 1):
        paylink = paylink_of(shop, **{name: switch})
        form, result = open_page(path_of(paylink)).text, pay(path_of(paylink)).text
        shown = "billing_street" in form if name == "display_billing_fields" else "Order number" in result
        assert shown == bool(switch)


def test_bank_account(shop: Shop, pay: Pay) -> None:
    """A bank payment is a debit that was authorized on the Internet, and pays invoices and paylinks."""
    for record in (invoice_of(shop), paylink_of(shop)):
        assert "Checking ending in 7890" in pay(path_of(record), **BANK).text
    names = ("payment_method", "type_id", "status_id", "ach_sec_code", "transaction_amount")
    assert [tuple(each[name] for name in names) for each in payments_of(shop)] == [("ach", 50, 131, "WEB", "21.00")] * 2


def test_required_fields(sandbox: Sandbox, shop: Shop, open_page: Open, pay: Pay) -> None:
    """The form shows the fields that a terminal for bank payments requires, without those that the invoice has."""
    sandbox.change_product(sandbox.ach_product_transaction_id, ach_terminal="2313")
    invoice = invoice_of(shop, dl_number="D1", dl_state="FL")
    form = open_page(path_of(invoice), method="ach").text
    assert 'name="ssn4"' in form
    assert 'name="dl_number"' not in form
    assert pay(path_of(invoice), **BANK).status_code == 422
    address = {"billing_street": "Main St", "billing_city": "X", "billing_state": "FL", "billing_zip": "32606"}
    assert "Thank you" in pay(path_of(invoice), **BANK, **address, ssn4="1234").text


def test_license(sandbox: Sandbox, shop: Shop, open_page: Open, pay: Pay) -> None:
    """The customer enters a license unless the invoice has one, or the id of the customer; a card needs neither."""
    license_of, before = {"dl_number": "D1", "dl_state": "FL"}, [invoice_of(shop), paylink_of(shop)]
    sandbox.change_product(sandbox.ach_product_transaction_id, license_verification=True)
    for bill in before:
        assert 'name="dl_number"' in open_page(path_of(bill), method="ach").text
        refused = pay(path_of(bill), **BANK)
        assert (refused.status_code, "Driver&#39;s license cannot be blank." in refused.text) == (422, True)
        assert "Thank you" in pay(path_of(bill), **BANK, **license_of).text
    for bill in (invoice_of(shop, customer_id="c1"), invoice_of(shop, **license_of)):
        assert 'name="dl_number"' not in open_page(path_of(bill), method="ach").text
        assert "Thank you" in pay(path_of(bill), **BANK).text
    assert "Thank you" in pay(path_of(paylink_of(shop))).text


@pytest.mark.parametrize(("product", "missing"), [("cc", "Bank account"), ("ach", "Card number")])
def test_payment_methods(shop: Shop, open_page: Open, pay: Pay, product: str, missing: str) -> None:
    """A record without a merchant account for a method offers no such form, and accepts none."""
    other = "ach" if product == "cc" else "cc"
    invoice = invoice_of(shop, **{f"{other}_product_transaction_id": ...})
    assert missing not in open_page(path_of(invoice), method=other).text
    page = pay(path_of(invoice), **(BANK if other == "ach" else {"payment_method": "cc"}))
    assert (page.status_code, "This invoice takes no" in page.text) == (422, True)


def test_decline(shop: Shop, pay: Pay) -> None:
    """The page says why: nothing is charged, the amount is repeated, and the customer can try again."""
    invoice = invoice_of(shop, item_list={"Tea": 6.16})
    page = pay(path_of(invoice)).text
    assert "<strong>$6.16</strong>" in page
    assert "INSUFFICIENT FUNDS" in page
    assert f'href="{path_of(invoice)}">Try again' in page
    assert "Thank you" in pay(path_of(invoice_of(shop)), billing_zip="32606").text
    assert "AVS DECLINED" in pay(path_of(invoice_of(shop)), billing_zip="32615").text


def test_partial_payments(shop: Shop, open_page: Open, pay: Pay) -> None:
    """A part can be paid, then the rest, and nothing more."""
    invoice = invoice_of(shop, allow_partial_pay=1)
    first = pay(path_of(invoice), amount="$ 15.00").text
    assert "$6.00" in first
    assert "Pay the rest" in first
    assert "From $0.01 to $6.00." in open_page(path_of(invoice)).text
    refused = pay(path_of(invoice), amount="6.01")
    assert (refused.status_code, "This invoice takes no more than 6.00." in refused.text) == (422, True)
    assert "Pay the rest" not in pay(path_of(invoice), amount="6.00").text
    assert "This invoice is paid" in open_page(path_of(invoice)).text
    result = pay(path_of(other := invoice_of(shop, allow_partial_pay=1)), amount="2.01")
    for text in ("Your bank approved a part of $2.01.", "$1.00", "$20.00"):
        assert text in result.text
    payment = result.url.path.rpartition("/")[2]
    pages = [open_page(f"{path_of(record)}/payments/{payment}").status_code for record in (other, invoice)]
    assert pages == [200, 404]


def test_more_than_due(shop: Shop, open_page: Open, pay: Pay) -> None:
    """An invoice that allows it can be paid over, and again."""
    invoice = invoice_of(shop, allow_overpayment=1)
    assert "From $21.00 to $9999999.99." in open_page(path_of(invoice)).text
    assert "Pay more" in pay(path_of(invoice), amount="25.00").text
    assert "Paid in full" in open_page(path_of(invoice)).text
    assert pay(path_of(invoice), amount="").status_code == 422
    assert "Thank you" in pay(path_of(invoice), amount="1.00").text


def test_resubmitted_form(shop: Shop, browser: httpx.Client) -> None:
    """Two submissions of one form have one result, even while the issuer still decides."""
    invoice = invoice_of(shop, item_list={"Tea": 8.01}, allow_overpayment=1)
    path = path_of(invoice)
    form = read_form(browser.get(path).text) | CARD
    with ThreadPoolExecutor() as threads:
        submit = [threads.submit(browser.post, path, data=form) for _ in range(2)]
        results = {
            (response.status_code, response.headers["location"]) for response in (each.result() for each in submit)
        }
    assert len(results) == len(payments_of(shop)) == 1
    assert browser.post(path, data=form).headers["location"] == results.pop()[1]
    assert len(payments_of(shop)) == 1


def test_second_tab(shop: Shop, browser: httpx.Client, pay: Pay) -> None:
    """The form of a tab that was opened before the payment charges nothing and says that the invoice is paid."""
    for record in (invoice_of(shop), paylink_of(shop)):
        form = read_form(browser.get(path_of(record)).text) | CARD
        pay(path_of(record))
        page = browser.post(path_of(record), data=form)
        assert (page.status_code, "is paid" in page.text) == (409, True)
    assert len(payments_of(shop)) == 2


@pytest.mark.parametrize("create", [invoice_of, paylink_of])
def test_unpayable(sandbox: Sandbox, shop: Shop, open_page: Open, create: Any) -> None:
    """Expired, deleted, closed and unknown records say so, with a fitting status."""
    expired, deleted = create(shop, expire_date="2000-01-31"), create(shop)
    shop.http.delete(deleted["_links"]["self"]["href"].replace("quickinvoice/view?id=", "quickinvoices/"))
    states = {path_of(expired): (410, "has expired"), path_of(deleted): (410, "was deleted")}
    states |= {path_of(expired)[:-1]: (404, "does not exist")}
    if create is invoice_of:
        states[path_of(create(shop, status_id=0))] = (410, "is closed")
    pages = {path: open_page(path) for path in states}
    assert {path: (page.status_code, states[path][1] in page.text) for path, page in pages.items()} == {
        path: (status, True) for path, (status, _) in states.items()
    }


def test_expired_invoice(sandbox: Sandbox, shop: Shop, browser: httpx.Client) -> None:
    """The form of an invoice that expires while its page is open charges nothing, and the customer is told."""
    today = shop.get("/_sandbox/clock").json()["now"]
    invoice = invoice_of(shop, expire_date="2099-01-31")
    form = read_form(browser.get(path_of(invoice)).text) | CARD
    sandbox.set_clock(today + 100 * 365 * DAY)
    page = browser.post(path_of(invoice), data=form)
    assert (page.status_code, "has expired" in page.text) == (409, True)
    assert payments_of(shop) == []


def test_invalid_entries(shop: Shop, pay: Pay) -> None:
    """Each problem is shown, nothing is charged, and no account number or security code comes back."""
    entered = {"account_number": "4111 1111 1111 1112", "exp_date": "13/30", "cvv": "98765", "billing_city": "Ocala"}
    page = pay(path_of(invoice_of(shop)), **entered)
    assert page.status_code == 422
    for text in (
        "Card number is not a valid card number.",
        "Expiration must be of the form MM/YY.",
        "Security code should",
        'value="Ocala"',
    ):
        assert text in page.text
    assert shown_in(page.text, ["4111", "41111111", "1112", "98765"]) == []
    assert payments_of(shop) == []


def test_form_token(shop: Shop, browser: httpx.Client, pay: Pay) -> None:
    """A form of another site, or one without its id, charges nothing."""
    path = path_of(invoice_of(shop))
    for fields, status in (({"csrf_token": "x"}, 403), ({"form_id": ""}, 400)):
        refused = pay(path, **fields)
        assert refused.status_code == status
        assert '<body class="payment narrow">' in refused.text
    form = read_form(browser.get(path).text) | CARD
    foreign = browser.post(path, data=form, headers={"origin": "https://shop.example"})
    assert foreign.status_code == 403
    assert payments_of(shop) == []


def test_downloads(shop: Shop, open_page: Open) -> None:
    """A file is saved under its name and is never shown as a page; the address is valid for its invoice only."""
    invoice, other = invoice_of(shop), invoice_of(shop)
    attached = {"file[file]": ('a "é".html', b"<script>", "text/html")}
    file = shop.http.post(f"/v2/quickinvoices/{invoice['id']}/files", files=attached).json()["file"]
    assert f'href="{path_of(invoice)}/files/{file["id"]}"' in open_page(path_of(invoice)).text
    found = open_page(f"{path_of(invoice)}/files/{file['id']}")
    assert (found.status_code, found.content) == (200, b"<script>")
    assert found.headers["content-disposition"].startswith("attachment; filename*=UTF-8''a%20")
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert open_page(f"{path_of(other)}/files/{file['id']}").status_code == 404
    shop.http.delete(f"/v2/quickinvoices/{invoice['id']}")
    assert open_page(f"{path_of(invoice)}/files/{file['id']}").status_code == 404


def test_samples(shop: Shop, open_page: Open) -> None:
    """One click enters a test card or account; only what the record accepts is offered."""
    invoice, paylink = invoice_of(shop, allow_partial_pay=1), paylink_of(shop)
    form = read_form(open_page(path_of(invoice), use="funds").text)
    assert (form["account_number"], form["amount"], form["cvv"]) == ("4111111111111111", "6.16", "999")
    assert read_form(open_page(path_of(invoice), use="checking").text)["routing"] == "072000326"
    page = open_page(path_of(paylink)).text
    assert "use=visa" in page
    assert "use=funds" not in page
    assert "use=denied" not in page
