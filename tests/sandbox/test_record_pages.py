"""The pages of records, ledger and batches."""

import json
import re
from html import unescape

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.schema import FILE_CONTENT, STORED
from tests.support.leaks import shown_in
from tests.support.plain_http import open_client, read_token

from .conftest import VISA, Configure, OpenShop, Record, Shop

ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture
def browser(browser: httpx.Client) -> httpx.Client:
    """A browser that follows redirects."""
    browser.follow_redirects = True
    return browser


def open_page(browser: httpx.Client, path: str, status: int = 200) -> str:
    response = browser.get(path)
    assert (response.status_code, path) == (status, path)
    return response.text


def press(browser: httpx.Client, batch: str, step: str, **fields: str) -> httpx.Response:
    form = {"csrf_token": read_token(open_page(browser, "/batches")), "step": step}
    return browser.post(f"/batches/{batch}", data=form | fields)


def created(response: httpx.Response) -> Record:
    assert response.is_success, response.text
    record: Record = next(iter(response.json().values()))
    return record


def one_of_each(sandbox: Sandbox, shop: Shop) -> Record:
    """Create records of many families, with secrets and markup in them; return the contact."""
    contact = created(shop.contact(last_name=ATTACK, contact_api_id="c-1"))
    shop.post("note", "/v2/notes", {"resource": "Contact", "resource_id": contact["id"], "note": f"{ATTACK} {VISA}"})
    shop.post("tag", "/v2/tags", {"title": ATTACK, "location_id": shop.info.location_id})
    vault = created(shop.vault(contact_id=contact["id"], title=ATTACK, ssn4="7391", dl_number="DL-7391", dl_state="FL"))
    sale = created(shop.pay(account_number=..., account_vault_id=vault["id"], description=ATTACK))
    shop.pay("1.00", action="refund", account_number=..., previous_transaction_id=sale["id"])
    shop.pay_from_bank()
    invoice = created(shop.invoice(title=ATTACK, email="a@example.com", item_list={ATTACK: 1}, dob_year="7391"))
    sandbox.pay_quick_invoice(invoice["id"])
    shop.http.post(f"/v2/quickinvoices/{invoice['id']}/files", files={"file[file]": (ATTACK, b"x")})
    shop.paylink(description=ATTACK, contact_id=contact["id"])
    plan = {"account_vault_id": vault["id"], "location_id": shop.info.location_id, "transaction_amount": 1}
    plan |= {"interval": 1, "interval_type": "m", "start_date": "2030-01-31", "description": ATTACK}
    shop.post("recurring", "/v2/recurrings", plan)
    signed = {"resource": "AccountVault", "resource_id": vault["id"], "signature": "iVBORw0KGgo="}
    shop.post("signature", "/v2/signatures", signed)
    terms = {"terminal_id": sandbox.terminal_id, "require_signature": 0, "terms_conditions": ATTACK}
    shop.post("deviceterm", "/v2/deviceterms", terms | {"location_id": shop.info.location_id})
    hosted = {"location_id": shop.info.location_id, "title": ATTACK, "encryption_key": "7391-73-" * 4}
    created(shop.post("hostedpaymentpage", "/v2/hostedpaymentpages", hosted))
    shop.at_terminal()
    sandbox.ticket()
    login = {"username": shop.info.username, "password": shop.info.password, "domain": shop.info.domain}
    shop.http.post("/v2/token", json=login)
    return contact


def test_every_page(sandbox: Sandbox, shop: Shop, browser: httpx.Client, configure: Configure) -> None:
    """Every link of the record pages leads to a page, where markup is text and no secret is shown."""
    configure("transaction", basic_auth_username="name-7391", basic_auth_password="word-7391")
    one_of_each(sandbox, shop)
    found, waiting = set[str](), {"/", "/records", "/ledger", "/batches"}
    while waiting:
        path = waiting.pop()
        found.add(path)
        page = open_page(browser, path)
        assert "<img" not in page
        secrets = [VISA, "7391", "iVBORw", sandbox.info.user_api_key, sandbox.info.user_hash_key, sandbox.info.password]
        assert shown_in(page, secrets) == []
        waiting |= {link for link in re.findall('href="(/records[^"#]*)"', page) if link not in found}
    families = {path.split("/")[2] for path in found if path.count("/") == 3}
    stored = sandbox._call(lambda gateway: {table.plural for table in STORED if gateway.store.select(table)})
    assert len(stored) > 20
    assert stored - families == {FILE_CONTENT.plural, "receipts"}


def test_lists(sandbox: Sandbox, shop: Shop, browser: httpx.Client) -> None:
    """The first page counts the records of a family, and the deleted ones, which are still shown and marked."""
    sandbox.add_vaults(51)
    first, second = (open_page(browser, f"/records/accountvaults?page={number}") for number in (1, 2))
    ids = re.findall(r"/records/accountvaults/(\w+)", first + second)
    assert len(ids) == 51
    assert ids == sorted(ids, reverse=True)
    assert "Page 1 of 2" in first
    assert "Show the first" in open_page(browser, "/records/accountvaults?page=3")
    deleted = created(shop.vault())["id"]
    shop.http.delete(f"/v2/accountvaults/{deleted}")
    card = open_page(browser, "/records").partition(">Account vaults<")[2].partition("</li>")[0]
    assert [text in card for text in (">51<", "1 deleted")] == [True, True]
    assert ">Deleted<" in open_page(browser, "/records/accountvaults")
    assert "Deleted at" in open_page(browser, f"/records/accountvaults/{deleted}")


@pytest.mark.parametrize("page", ["/records", "/records/transactions"])
def test_search(shop: Shop, browser: httpx.Client, page: str) -> None:
    """A record is found by its id and by its integrator id."""
    sale = created(shop.pay(transaction_api_id="order-1"))
    other = created(shop.pay(transaction_api_id="another"))
    for text in (sale["id"], "order-1"):
        found = open_page(browser, f"{page}?q={text}")
        assert f"/records/transactions/{sale['id']}" in found
        assert f"/records/transactions/{other['id']}" not in found
    assert "No record has" in open_page(browser, f"{page}?q=unknown")


def test_unknown_records(browser: httpx.Client) -> None:
    """An unknown family or record is a 404."""
    for path in ("x", "filecontents", "contacts/x", "x/y", "transactions/%3Cscript%3E"):
        assert "not found" in open_page(browser, f"/records/{path}", 404)


def test_transitions(shop: Shop, browser: httpx.Client) -> None:
    """A record shows its state, and only the transitions that are possible for it; a voided sale its former amount."""
    sale = created(shop.pay(action="authonly"))
    page = open_page(browser, f"/records/transactions/{sale['id']}")
    assert 'title="status_id 102">Authorized<' in page
    assert re.search(r"<td>authcomplete</td><td><span [^>]*>Approved</span>", page)
    assert "<td>tipadjust</td>" not in page
    settled = created(shop.pay())
    shop.http.post(f"/v2/transactionbatches/{settled['transaction_batch_id']}/settle")
    page = open_page(browser, f"/records/transactions/{settled['id']}")
    assert "<td>refund</td>" in page
    assert "the bank returns it" not in page
    declined = created(shop.pay("6.16"))
    page = open_page(browser, f"/records/transactions/{declined['id']}")
    assert 'title="status_id 301, reason_code_id 1616">Declined: Insufficient funds<' in page
    assert "What can happen next" not in page
    voided = created(shop.pay("7.50"))
    shop.act(voided, "void")
    for path in ("/records/transactions", f"/records/transactions/{voided['id']}", f"/records?q={voided['id']}"):
        page = open_page(browser, path)
        assert ("$7.50" in page, ">Voided<" in page) == (True, True)


def test_links_lead_both_ways(sandbox: Sandbox, shop: Shop, browser: httpx.Client) -> None:
    contact = one_of_each(sandbox, shop)
    page = open_page(browser, f"/records/contacts/{contact['id']}")
    for family in ("notes", "accountvaults", "paylinks"):
        (other,) = re.findall(rf"/records/{family}/\w+", page)
        assert f"/records/contacts/{contact['id']}" in open_page(browser, other)


def read_json(page: str, block: str = "record-json") -> Record:
    """Return the JSON in a page: the text of its element, which a browser copies."""
    html = page.partition(f'id="{block}"')[2].partition(">")[2].partition("</div>")[0]
    value: Record = json.loads(unescape(re.sub("<[^>]*>", "", html)))
    return value


def test_json(shop: Shop, browser: httpx.Client) -> None:
    """The page of a record shows the fields of a GET, with exact amounts and without secrets."""
    invoice = created(shop.invoice(item_list={"Soup": "10.00"}, ssn4="7391"))
    page = open_page(browser, f"/records/quickinvoices/{invoice['id']}")
    shown, got = read_json(page)["quickinvoice"], created(shop.get(f"/v2/quickinvoices/{invoice['id']}"))
    assert (shown["item_list"], shown["ssn4"]) == ({"Soup": "10.00"}, "***")
    assert {name for name in got if got[name] != shown[name]} == {"ssn4"}
    assert f'href="/quickinvoicepay/{invoice["id"]}"' in page
    assert "Empty: ************1111." in page  # the card with which it would be paid
    assert page.count("<details open>") >= 3  # the invoice, its items and its links can be folded


def read_amounts(page: str) -> list[str]:
    return re.findall(r'class="number">(\$[0-9.]+)<', page)


@pytest.mark.parametrize(
    ("query", "amounts"),
    [("status_id=101", ["$2.00", "$1.00"]), ("status_id=101,301&reason_code_id=1616", ["$6.16"]), ("status_id=x", [])],
)
def test_filters(shop: Shop, browser: httpx.Client, query: str, amounts: list[str]) -> None:
    """A field takes several values; the page says what limits it. A secret cannot be found by trying."""
    for amount in ("1.00", "2.00", "6.16"):
        shop.pay(amount)
    page = open_page(browser, f"/records/transactions?{query}")
    assert read_amounts(page) == amounts
    assert "<code>status_id " in page
    assert "Only with" not in open_page(browser, "/records/contacts?ssn4=0000")


def test_batch_history(shop: Shop, browser: httpx.Client) -> None:
    """The page of a batch shows its changes, and the requests that named it."""
    sale = created(shop.pay())
    batch = created(shop.get(f"/v2/transactions/{sale['id']}"))["transaction_batch_id"]
    shop.http.post(f"/v2/transactionbatches/{batch}/settle")
    page = open_page(browser, f"/records/transactionbatches/{batch}")
    assert "<code>processing_status_id</code> was 1" in page
    assert f"POST /v2/transactionbatches/{batch}/settle" in page
    assert f"/records/transactions/{sale['id']}" in page


def read_figures(page: str) -> dict[str, tuple[str, str]]:
    """Return the figures of the overview with their links, by name."""
    found = re.findall(r'<dt>([^<]+)</dt>\s*<dd><a id="[^"]+" href="([^"]+)">([^<]+)<', page)
    return {name: (value, unescape(link)) for name, link, value in found}


def test_sums(sandbox: Sandbox, shop: Shop, browser: httpx.Client, configure: Configure) -> None:
    """Each figure has the sum of the records that it links to."""
    configure("transaction", url="http://127.0.0.1:9/", number_of_attempts=1)
    sale, voided = created(shop.pay("10.00")), created(shop.pay("20.00"))
    shop.act(voided, "void")
    shop.pay("2.01")  # of which 1.00 is approved
    shop.pay("6.16")
    shop.pay("3.00", action="refund", account_number=..., previous_transaction_id=sale["id"])
    shop.pay("99.00", action="authonly")
    shop.pay("0", action="avsonly")
    sandbox.wait_until_idle()
    page = open_page(browser, "/")
    figures, failed = read_figures(page), len(sandbox.postbacks())
    assert failed > 0
    assert {name: value for name, (value, _) in figures.items()} == {
        "Charged": "$11.00",
        "Refunded": "$3.00",
        "Waiting at terminals": "0",
        "Failed postbacks": str(failed),
        "Planned faults": "0",
    }
    assert read_amounts(open_page(browser, figures["Charged"][1])) == ["$1.00", "$10.00"]
    assert read_amounts(open_page(browser, figures["Refunded"][1])) == ["$3.00"]
    assert open_page(browser, figures["Failed postbacks"][1]).count(">Failed<") == failed
    result = r'<td><span [^>]*>([^<]+)</span>\s*</td><td class="number"><a [^>]*href="([^"]+)"[^>]*>([0-9,]+)<'
    results = re.findall(result, page)
    counted = {name: (int(count), unescape(link)) for name, link, count in results}
    once = ("Authorized", "Refunded", "Voided", "Declined: Insufficient funds")
    assert {name: count for name, (count, _) in counted.items()} == {"Approved": 2} | dict.fromkeys(once, 1)
    for count, link in counted.values():
        assert len(re.findall('<td><a href="/records/transactions/', open_page(browser, link))) == count
    assert f'href="/records/transactionbatches/{sale["transaction_batch_id"]}"' in page
    assert page.count('<td class="path">') >= 7  # the last requests


def test_currency(open_shop: OpenShop) -> None:
    """Each page that shows an amount shows the currency of the sandbox."""
    with Sandbox(currency="EUR", terminal_delay=0.0) as sandbox, open_client(base_url=sandbox.base_url) as browser:
        shop = open_shop(sandbox.info)
        sale, link = created(shop.pay("12.50")), created(shop.paylink(12.5))
        shop.at_terminal("12.50")
        pages = ["/", "/records/transactions", f"/records/transactions/{sale['id']}", "/batches", "/terminals"]
        for path in [*pages, f"/paylinkpay/{link['id']}"]:
            page = open_page(browser, path)
            assert (path, "EUR 12.50" in page or "EUR 25.00" in page, "$" in page) == (path, True, False)


def test_alarm(shop: Shop, neighbor: Shop, browser: httpx.Client) -> None:
    """An id with more than one effect is shown first, and raises an alarm, also on the first page."""
    assert "No payment with an integrator id" in open_page(browser, "/ledger")
    shop.pay(transaction_api_id="twice")
    shop.pay("6.16", transaction_api_id="declined")
    shop.pay(transaction_api_id="once")
    page = open_page(browser, "/ledger")
    assert "Every id has one effect." in page
    assert "declined" not in page
    neighbor.pay(transaction_api_id="twice")
    page = open_page(browser, "/ledger")
    assert 'role="alert"' in page
    assert "1 id has more than one effect." in page
    assert page.index("<code>twice</code>") < page.index("<code>once</code>")
    browser.post("/_sandbox/faults", json={"operation": "GET /v2/tags", "fault": "empty"})
    page = open_page(browser, "/")
    assert read_figures(page)["Planned faults"] == ("1", "/faults")
    assert "1 id moved money more than once." in page
    assert "/_sandbox/faults" not in page


def test_batch_buttons(shop: Shop, browser: httpx.Client) -> None:
    """The buttons of a batch settle it, or set the status that a processor sets."""
    payment = created(shop.pay("12.50"))
    shop.pay("2.50", action="refund", account_number=..., previous_transaction_id=payment["id"])
    batch = payment["transaction_batch_id"]
    page = open_page(browser, "/batches")
    assert [amount for amount in ("12.50", "2.50") if f"<dd>${amount}</dd>" in page] == ["12.50", "2.50"]
    assert 'value="5"' in press(browser, batch, "3").text.partition("Closed")[0]
    assert 'value="2"' in press(browser, batch, "5").text
    page = press(browser, batch, "2").text
    assert "No batch is open." in page
    assert ">Settled<" in page
    assert created(shop.get(f"/v2/transactions/{payment['id']}"))["status_id"] == 134


def test_failed_batch(shop: Shop, browser: httpx.Client) -> None:
    """The message of a failed settlement is shown, and the batch can be settled again."""
    batch = created(shop.pay("6.30"))["transaction_batch_id"]
    page = press(browser, batch, "settle").text
    assert "REJECTED_BATCH" in page
    assert ">Error<" in page
    assert ">Settled<" in press(browser, batch, "settle").text


def test_refused_step(shop: Shop, browser: httpx.Client) -> None:
    """A step that the state does not allow, an unknown batch, a wrong token and another page's form are refused."""
    batch = created(shop.pay())["transaction_batch_id"]
    for step in ("2", "4", "x", "", "²", "9" * 5000):
        response = press(browser, batch, step)
        assert (response.status_code, 'role="alert"' in response.text) == (422, True)
    assert press(browser, "unknown", "settle").status_code == 404
    assert press(browser, batch, "settle", csrf_token="wrong").status_code == 403
    assert browser.post(f"/batches/{batch}", data={"step": "settle"}, headers={"origin": "http://x"}).status_code == 403
    assert 'title="processing_status_id 1">To settle<' in open_page(browser, "/batches")


def read_fields(page: str, control: str) -> dict[str, str]:
    """Return what the fields of a control's form contain; a list has its chosen value."""
    form = page.partition(f'name="control" value="{control}"')[2].partition("</form>")[0]
    inputs = dict(re.findall(r'<input id="[^"]*" name="(\w+)" value="([^"]*)"', form))
    chosen = re.findall(r'<select id="[^"]*" name="(\w+)".*?<option value="([^"]*)" selected', form)
    return inputs | dict(chosen)


def run(browser: httpx.Client, path: str, control: str, **fields: str) -> httpx.Response:
    """Submit the form of a control on the page of a record."""
    form = {"csrf_token": read_token(open_page(browser, path)), "control": control}
    return browser.post(path, data=form | fields)


def test_controls(sandbox: Sandbox, shop: Shop, browser: httpx.Client) -> None:
    """The forms of a record are those of its control calls: a bank payment is returned, and a card updated."""
    payment = created(shop.pay_from_bank())
    sandbox.advance(2 * 86_400)
    path = f"/records/transactions/{payment['id']}"
    assert read_fields(open_page(browser, path), "return_payment") == {"code": "R01"}
    assert "Charged back" in run(browser, path, "return_payment", code="R02").text
    vault = created(shop.vault())
    changed = run(browser, f"/records/accountvaults/{vault['id']}", "update_card", card="", exp_date="0931")
    assert changed.status_code == 200
    assert created(shop.get(f"/v2/accountvaults/{vault['id']}"))["exp_date"] == "0931"


def test_unchanged_flags(sandbox: Sandbox, browser: httpx.Client) -> None:
    """A merchant account keeps the settings whose choice is empty."""
    path = f"/records/producttransactions/{sandbox.cc_product_transaction_id}"
    run(browser, path, "change_product", auto_decline_cvv="yes", allow_partial_authorization="no")
    shown = read_json(run(browser, path, "change_product", auto_decline_zip="yes").text)["product_transaction"]
    names = ("auto_decline_cvv", "auto_decline_zip", "allow_partial_authorization", "auto_decline_street")
    assert [shown[name] for name in names] == [True, True, False, False]


def test_refused_control(shop: Shop, browser: httpx.Client) -> None:
    """The form comes back with the problem, and with what was entered as text; a card number in it is masked."""
    path = f"/records/transactions/{created(shop.pay())['id']}"
    response = run(browser, path, "return_payment", code=ATTACK)
    assert (response.status_code, "code: " in response.text, "<img" in response.text) == (422, True, False)
    assert unescape(read_fields(response.text, "return_payment")["code"]) == ATTACK
    response = run(browser, path, "reset")
    assert response.status_code == 422
    assert "control: must be one of isolate_payment, return_payment." in response.text
    assert run(browser, path, "return_payment", csrf_token="wrong").status_code == 403
    path = f"/records/accountvaults/{created(shop.vault())['id']}"
    refused = run(browser, path, "update_card", card="", exp_date="5454545454545454")
    assert (refused.status_code, "5454545454545454" in refused.text) == (422, False)
    assert read_fields(refused.text, "update_card")["exp_date"] == "************5454"
