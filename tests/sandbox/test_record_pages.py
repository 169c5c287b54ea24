"""The pages of records, ledger and batches."""

import re
from collections.abc import Iterator

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.schema import FILE_CONTENT, STORED
from tests.support.forms import read_token

from .conftest import VISA, Configure, Record, Shop

ATTACK = "<img src=x onerror=alert(1)>"


@pytest.fixture
def browser(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A browser that follows redirects."""
    with httpx.Client(base_url=sandbox.base_url, follow_redirects=True) as client:
        yield client


def open_page(browser: httpx.Client, path: str, status: int = 200) -> str:
    """Return the HTML of a page."""
    response = browser.get(path)
    assert (response.status_code, path) == (status, path)
    return response.text


def press(browser: httpx.Client, batch: str, step: str, **fields: str) -> httpx.Response:
    """Press a button of a batch."""
    form = {"csrf_token": read_token(open_page(browser, "/batches")), "step": step}
    return browser.post(f"/batches/{batch}", data=form | fields)


def created(response: httpx.Response) -> Record:
    """Return the record of a response."""
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
    hosted = {"location_id": shop.info.location_id, "title": ATTACK, "encryption_key": "7391" * 8}
    created(shop.post("hostedpaymentpage", "/v2/hostedpaymentpages", hosted))
    sandbox.ticket()
    login = {"username": shop.info.username, "password": shop.info.password, "domain": shop.info.domain}
    shop.http.post("/v2/token", json=login)
    return contact


def test_every_page_of_every_record_opens(
    sandbox: Sandbox, shop: Shop, browser: httpx.Client, configure: Configure
) -> None:
    """Every link of the record pages leads to a page, where markup is text and no secret is shown."""
    configure("transaction", basic_auth_username="name-7391", basic_auth_password="word-7391")
    one_of_each(sandbox, shop)
    found, waiting = set[str](), {"/records", "/ledger", "/batches"}
    while waiting:
        path = waiting.pop()
        found.add(path)
        page = open_page(browser, path)
        assert "<img" not in page
        secrets = [VISA, "7391", "iVBORw", sandbox.info.user_api_key, sandbox.info.user_hash_key, sandbox.info.password]
        assert [secret for secret in secrets if secret in page] == []
        waiting |= {link for link in re.findall('href="(/records[^"#]*)"', page) if link not in found}
    families = {path.split("/")[2] for path in found if path.count("/") == 3}
    stored = sandbox._call(lambda gateway: {table.plural for table in STORED if gateway.store.select(table)})
    assert len(stored) > 20
    assert stored - families == {FILE_CONTENT.plural}


def test_counts(shop: Shop, browser: httpx.Client) -> None:
    """The first page counts the records of a family, and the deleted ones by themselves."""
    for _ in range(3):
        tag = created(shop.post("tag", "/v2/tags", {"title": "VIP", "location_id": shop.info.location_id}))
    shop.http.delete(f"/v2/tags/{tag['id']}")
    card = open_page(browser, "/records").partition(">Tags<")[2].partition("</li>")[0]
    assert ">2<" in card
    assert "1 deleted" in card


def test_a_list_has_pages(sandbox: Sandbox, browser: httpx.Client) -> None:
    """A list shows fifty records, the newest first, and links to the others."""
    sandbox.add_vaults(51)
    first, second = (open_page(browser, f"/records/accountvaults?page={number}") for number in (1, 2))
    ids = re.findall(r"/records/accountvaults/(\w+)", first + second)
    assert len(ids) == 51
    assert ids == sorted(ids, reverse=True)
    assert "Page 1 of 2" in first
    assert "Show the first" in open_page(browser, "/records/accountvaults?page=3")


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


def test_a_deleted_record_is_marked(shop: Shop, browser: httpx.Client) -> None:
    """A deleted record is still shown, in its list and on its own page, and marked."""
    contact = created(shop.contact())
    shop.http.delete(f"/v2/contacts/{contact['id']}")
    assert ">deleted<" in open_page(browser, "/records/contacts")
    assert "Deleted at" in open_page(browser, f"/records/contacts/{contact['id']}")


@pytest.mark.parametrize(
    "path",
    [
        "/records/x",
        "/records/filecontents",
        "/records/contacts/x",
        "/records/x/y",
        "/records/transactions/%3Cscript%3E",
    ],
)
def test_unknown_records(browser: httpx.Client, path: str) -> None:
    """An unknown family or record is a 404."""
    assert "not found" in open_page(browser, path, 404)


def test_the_state_and_what_can_follow(shop: Shop, browser: httpx.Client) -> None:
    """A record shows its state, and only the transitions that are possible for it."""
    sale = created(shop.pay(action="authonly"))
    page = open_page(browser, f"/records/transactions/{sale['id']}")
    assert "102 authorized" in page
    assert "<td>authcomplete</td><td>101 approved</td>" in page
    assert "<td>tipadjust</td>" not in page
    settled = created(shop.pay())
    shop.http.post(f"/v2/transactionbatches/{settled['transaction_batch_id']}/settle")
    page = open_page(browser, f"/records/transactions/{settled['id']}")
    assert "<td>refund</td>" in page
    assert "the bank returns it" not in page
    declined = created(shop.pay("6.16"))
    page = open_page(browser, f"/records/transactions/{declined['id']}")
    assert "301 declined: Insufficient funds" in page
    assert "What can happen next" not in page


def test_links_lead_both_ways(sandbox: Sandbox, shop: Shop, browser: httpx.Client) -> None:
    """A record links to those that it refers to, and they link back to it."""
    contact = one_of_each(sandbox, shop)
    page = open_page(browser, f"/records/contacts/{contact['id']}")
    for family in ("notes", "accountvaults", "paylinks"):
        (other,) = re.findall(rf"/records/{family}/\w+", page)
        assert f"/records/contacts/{contact['id']}" in open_page(browser, other)


def test_the_json_is_that_of_a_get(shop: Shop, browser: httpx.Client) -> None:
    """The page of a record shows the fields of a GET, with exact amounts."""
    invoice = created(shop.invoice(item_list={"Soup": "10.00"}, ssn4="7391"))
    page = open_page(browser, f"/records/quickinvoices/{invoice['id']}")
    assert "&#34;Soup&#34;: &#34;10.00&#34;" in page
    assert "&#34;ssn4&#34;: &#34;***&#34;" in page
    assert all(f"&#34;{name}&#34;: " in page for name in created(shop.get(f"/v2/quickinvoices/{invoice['id']}")))


def test_the_history_of_a_batch(shop: Shop, browser: httpx.Client) -> None:
    """The page of a batch shows its changes, and the requests that named it."""
    sale = created(shop.pay())
    batch = created(shop.get(f"/v2/transactions/{sale['id']}"))["transaction_batch_id"]
    shop.http.post(f"/v2/transactionbatches/{batch}/settle")
    page = open_page(browser, f"/records/transactionbatches/{batch}")
    assert "<code>processing_status_id</code> was 1" in page
    assert f"POST /v2/transactionbatches/{batch}/settle" in page
    assert f"/records/transactions/{sale['id']}" in page


def test_the_ledger_alarms(shop: Shop, neighbor: Shop, browser: httpx.Client) -> None:
    """An id with more than one effect is shown first, and raises an alarm."""
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


def test_a_batch_is_settled_and_processed(shop: Shop, browser: httpx.Client) -> None:
    """The buttons of a batch settle it, or set the status that a processor sets."""
    payment = created(shop.pay("12.50"))
    shop.pay("2.50", action="refund", account_number=..., previous_transaction_id=payment["id"])
    batch = payment["transaction_batch_id"]
    page = open_page(browser, "/batches")
    assert [amount for amount in ("12.50", "2.50") if f"<dd>{amount}</dd>" in page] == ["12.50", "2.50"]
    assert 'value="5"' in press(browser, batch, "3").text.partition("Closed")[0]
    assert 'value="2"' in press(browser, batch, "5").text
    page = press(browser, batch, "2").text
    assert "No batch is open." in page
    assert "2 settled" in page
    assert created(shop.get(f"/v2/transactions/{payment['id']}"))["status_id"] == 134


def test_a_batch_that_fails_says_why(shop: Shop, browser: httpx.Client) -> None:
    """The message of a failed settlement is shown, and the batch can be settled again."""
    batch = created(shop.pay("6.30"))["transaction_batch_id"]
    page = press(browser, batch, "settle").text
    assert "REJECTED_BATCH" in page
    assert "3 error" in page
    assert "2 settled" in press(browser, batch, "settle").text


@pytest.mark.parametrize("step", ["2", "4", "x", "", "²", "9" * 5000])
def test_a_step_that_is_not_possible(shop: Shop, browser: httpx.Client, step: str) -> None:
    """A step that the state of a batch does not allow is refused on the page."""
    batch = created(shop.pay())["transaction_batch_id"]
    response = press(browser, batch, step)
    assert response.status_code == 422
    assert 'role="alert"' in response.text


def test_a_batch_is_changed_by_its_own_page_only(shop: Shop, browser: httpx.Client) -> None:
    """An unknown batch is a 404; a form without its token, or from another page, is refused."""
    batch = created(shop.pay())["transaction_batch_id"]
    assert press(browser, "unknown", "settle").status_code == 404
    assert press(browser, batch, "settle", csrf_token="wrong").status_code == 403
    assert browser.post(f"/batches/{batch}", data={"step": "settle"}, headers={"origin": "http://x"}).status_code == 403
    assert "1 to settle" in open_page(browser, "/batches")
