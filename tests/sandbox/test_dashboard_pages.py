"""The pages of postbacks, outbox, faults, clock and connection, without a browser."""

import re
from datetime import UTC, date, datetime

import httpx
import pytest

from gateway_async import AsyncGateway, PostbackConfigCreate, QuickInvoiceCreate, TransactionCreate
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.simulators.faults import FAULTS
from tests.support.plain_http import read_token

pytestmark = pytest.mark.anyio

SALE = TransactionCreate(action="sale", transaction_amount="12.50", account_number="4111111111111111", exp_date="1230")
PLAN = {"control": "fault", "operation": "POST /v2/transactions", "fault": "empty"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio; the client is tested on trio elsewhere."""
    return "asyncio"


class Pages:
    """Reads pages and submits their forms, as a browser without scripts."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def show(self, path: str, status: int = 200) -> str:
        response = self._http.get(path)
        assert response.status_code == status
        return response.text

    def submit(self, path: str, form: str, status: int = 303, **fields: str) -> str:
        """Submit a form of a page, and return the response."""
        response = self._http.post(form, data=fields | {"csrf_token": read_token(self.show(path))})
        assert response.status_code == status
        return response.text


@pytest.fixture
def pages(browser: httpx.Client) -> Pages:
    return Pages(browser)


async def test_a_postback_is_shown_and_sent_again(sandbox: Sandbox, gateway: AsyncGateway, pages: Pages) -> None:
    assert "No program has asked for postbacks yet" in pages.show("/postbacks")
    config = PostbackConfigCreate(
        location_id=sandbox.location_id,
        product_transaction_id=sandbox.cc_product_transaction_id,
        resource="transaction",
        url="http://user:secret@127.0.0.1:9/postbacks",
        on_create=True,
        number_of_attempts=1,
        attempt_interval=300,
    )
    await gateway.postback_configs.create(config)
    assert "Nothing has changed yet" in pages.show("/postbacks")
    payment = await gateway.transactions.create(SALE)
    sandbox.wait_until_idle()
    listed = pages.show("/postbacks")
    assert (f'href="/records/transactions/{payment.id}"' in listed, ">Failed<" in listed, "secret" in listed) == (
        True,
        True,
        False,
    )
    (address,) = re.findall(r'href="(/postbacks/[0-9a-f]+)"', listed)
    pages.submit(address, address, control="replay_postback")
    sandbox.wait_until_idle()
    shown = pages.show(address)
    assert [f"<td>{number}</td>" in shown for number in (1, 2, 3)] == [True, True, False]  # attempts
    assert "411111111111" not in shown
    assert f'<span class="key">&#34;id&#34;</span>: <span class="string">&#34;{payment.id}&#34;</span>' in shown
    assert "postback" in pages.show("/postbacks/none", 404)


def test_the_format_of_postbacks_is_chosen(sandbox: Sandbox, pages: Pages) -> None:
    assert '<option value="json" selected>' in pages.show("/postbacks")
    pages.submit("/postbacks", "/postbacks", control="set_postback_format", postback_format="form")
    assert '<option value="form" selected>' in pages.show("/postbacks")


async def test_mail(sandbox: Sandbox, gateway: AsyncGateway, pages: Pages) -> None:
    """A mail is shown as text: nothing in it is markup but the link to the payment page."""
    assert "No customer has received a message yet" in pages.show("/outbox")
    invoice = QuickInvoiceCreate(
        title=f"A{HOSTILE}"[:64],
        due_date=date(2030, 1, 1),
        item_list={HOSTILE: "50.00"},
        note=HOSTILE,
        email="ada@example.test",
        send_email=True,
        cc_product_transaction_id=sandbox.cc_product_transaction_id,
    )
    made = await gateway.quick_invoices.create(invoice)
    shown = pages.show("/outbox")
    assert "<img" not in shown
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert re.search(rf'href="{sandbox.base_url}/[^"]*{made.id}', shown)


async def test_a_fault_is_planned_and_counted(sandbox: Sandbox, gateway: AsyncGateway, pages: Pages) -> None:
    pages.submit("/faults", "/faults", 303, **(PLAN | {"fault": "close_after_commit", "nth": "1", "times": "1"}))
    payment = await gateway.transactions.create(SALE)
    (plan,) = sandbox.faults()
    assert (plan["affected"], plan["seconds"], plan["retry_after"]) == (1, 1.0, 1.0)
    assert str(payment.transaction_api_id) in pages.show("/faults")
    pages.submit("/faults", "/faults", control="clear_faults")
    assert sandbox.faults() == []
    pages.submit("/faults", "/faults", control="scenario", name="a bad day")
    assert len(sandbox.faults()) == 90


def test_each_fault_is_explained(pages: Pages) -> None:
    shown = pages.show("/faults")
    for name in FAULTS:
        assert f'<a href="/faults?fault={name}#plan"><code>{name}</code></a></dt><dd>' in shown
        assert f'<option value="{name}" selected>' in pages.show(f"/faults?fault={name}")
    assert "The response arrives after <code>seconds</code>." in shown
    assert "How many requests get the fault" in shown  # from the docstring


WRONG = {
    "nth": ("x", "nth: must be a number."),
    "probability": ("2", "probability: must be from 0 to 1."),
    "fault": (HOSTILE, "fault: must be one of"),
    "operation": (HOSTILE, "operation: must be a method and a path"),
    "seconds": ("nan", "seconds: must be 0 or more."),
}


async def test_the_form_of_a_wrong_fault_plan_keeps_what_was_entered(pages: Pages) -> None:
    for name, (value, problem) in WRONG.items():
        shown = pages.submit("/faults", "/faults", 422, **(PLAN | {"seed": "77", name: value}))
        assert [text in shown for text in (problem, 'value="77"', "<img")] == [True, True, False]


async def test_the_port_closes_from_the_page(sandbox: Sandbox, pages: Pages) -> None:
    shown = pages.submit("/faults", "/faults", 200, **(PLAN | {"fault": "refuse", "seconds": "0"}))
    assert "The port closes for 0 s." in shown
    sandbox.clear_faults()


async def test_the_clock_moves(sandbox: Sandbox, pages: Pages) -> None:
    """Each button moves it, and a date sets it."""
    before = sandbox.now()
    pages.submit("/clock", "/clock", to="day")
    assert 86_400 <= sandbox.now() - before < 86_460
    assert "ahead of the real time by 1 day" in pages.show("/clock")
    pages.submit("/clock", "/clock", to="midnight")
    assert sandbox.now() % 86_400 < 60
    pages.submit("/clock", "/clock", time="2031-05-06T07:08:09")
    assert 0 <= sandbox.now() - datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC).timestamp() < 60
    pages.submit("/clock", "/clock", to="real")
    assert abs(sandbox.now() - before) < 60
    assert "time: must be a date and a time." in pages.submit("/clock", "/clock", 422, time="soon")
    assert "clock: must show a time" in pages.submit("/clock", "/clock", 422, time="9999-01-01T00:00:00")


async def test_connection_lines(sandbox: Sandbox, gateway: AsyncGateway, pages: Pages) -> None:
    """The lines to paste are the variables of this sandbox; a reset deletes the records."""
    shown = pages.show("/connect")
    assert all(f"export {name}={value}" in shown for name, value in sandbox.environment().items())
    await gateway.transactions.create(SALE)
    pages.submit("/connect", "/connect", control="reset")
    assert await gateway.transactions.list().count() == 0


@pytest.mark.parametrize("path", ["/nothing", "/faults/none", "/%2e%2e/secret"])
def test_unknown_address(browser: httpx.Client, path: str) -> None:
    """A browser gets a page with the navigation, a program an error in JSON, as at every endpoint."""
    page = browser.get(path, headers={"accept": "text/html,*/*;q=0.8"})
    reply = browser.get(path)
    endpoint = browser.get("/v2/nothing", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "The sandbox has no page at this address." in page.text
    assert 'href="/records"' in page.text
    assert (reply.status_code, reply.headers["content-type"]) == (404, "application/json")
    assert endpoint.headers["content-type"] == "application/json"
