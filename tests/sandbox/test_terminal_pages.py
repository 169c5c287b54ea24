"""The pages of the terminals by plain HTTP: what they show in each state, and what they refuse."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from html import unescape
from pathlib import Path

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from tests.support import plain_http

from .conftest import Eventually, OpenShop, Shop

ATTACK = "<script>alert('x')</script>"
VISA_CHIP = {"card": "visa", "entry_mode": "C"}


Sell = Callable[..., Future[httpx.Response]]


@pytest.fixture
def slow() -> Iterator[Sandbox]:
    """A gateway whose terminals act after two minutes."""
    with Sandbox(terminal_delay=120) as sandbox:
        yield sandbox


@pytest.fixture
def begin(open_shop: OpenShop) -> Iterator[Callable[..., Future[httpx.Response]]]:
    """Begin a call at a terminal of a sandbox, and return when it waits there."""
    with ThreadPoolExecutor(4) as pool:

        def run(
            sandbox: Sandbox, call: Callable[..., httpx.Response] = Shop.at_terminal, **fields: str
        ) -> Future[httpx.Response]:
            begun = pool.submit(call, open_shop(sandbox.info), **fields)
            sandbox.wait_for_call()
            return begun

        yield run


def read(sandbox: Sandbox, path: str = "/terminals") -> str:
    """Return the text of a page, without tags."""
    page = plain_http.get(sandbox.base_url + path).raise_for_status().text
    return " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())


def submit(sandbox: Sandbox, path: str, **fields: str) -> httpx.Response:
    page = plain_http.get(f"{sandbox.base_url}/terminals").text
    return plain_http.post(sandbox.base_url + path, data={"csrf_token": plain_http.read_token(page), **fields})


def press(sandbox: Sandbox, key: str, **fields: str) -> httpx.Response:
    """Press a key of the first terminal, with a Visa card by default."""
    return submit(sandbox, f"/terminals/{sandbox.terminal_id}", key=key, **(VISA_CHIP | fields))


def test_a_key_leads_back_to_the_terminal(manual: Sandbox, begin: Sell) -> None:
    sale = begin(manual)
    response = press(manual, "approve", card="debit", entry_mode="K")
    assert (response.status_code, response.headers["location"]) == (303, f"/terminals/{manual.terminal_id}")
    made = sale.result().json()["routertransaction"]
    assert (made["status_id"], made["last_four"], made["entry_mode_id"]) == (101, "0333", "K")


def test_a_key_without_a_call_does_nothing(manual: Sandbox) -> None:
    response = press(manual, "approve")
    assert response.status_code == 303
    assert "This key does nothing: no call waits here" in read(manual, response.headers["location"])


CHOICES = {
    "key": ("explode", "key: must be one of approve, decline, reject_pin, cancel, silence."),
    "card": ("4111111111111111", "card: must be one of visa, mc, amex, disc, debit."),
    "entry_mode": ("X", "entry_mode: must be one of S, K, C, P, F, B."),
}


def test_refused_forms(manual: Sandbox, begin: Sell) -> None:
    """An unknown choice and terminal are refused, and a form without the token of this sandbox."""
    sale = begin(manual)
    for name, (value, problem) in CHOICES.items():
        response = press(manual, **({"key": "approve"} | {name: value}))
        assert (response.status_code, problem in response.text) == (422, True)
    path = "/terminals/nowhere"
    for response in (submit(manual, path, key="cancel"), plain_http.get(manual.base_url + path)):
        assert (response.status_code, "terminal nowhere: not found." in response.text) == (404, True)
    response = plain_http.post(f"{manual.base_url}/terminals/{manual.terminal_id}", data={"key": "silence"})
    assert response.status_code == 403
    assert (manual.terminals()[0]["silent"], sale.done()) == (False, False)
    manual.cancel()


def test_invalid_title(manual: Sandbox) -> None:
    """The form keeps what was entered and says what is wrong."""
    for title in ("", "  ", "x" * 65):
        response = submit(manual, "/terminals", control="add_terminal", title=title)
        assert (response.status_code, "title: must have 1 to 64 characters." in response.text) == (422, True)
        assert f'name="title" value="{title}"' in response.text
    assert len(manual.terminals()) == 1


def test_foreign_text(manual: Sandbox, begin: Sell) -> None:
    """A title, a program's name and an integrator id with tags are shown as text."""

    def sell(shop: Shop, **fields: str) -> httpx.Response:
        shop.http.headers["user-agent"] = ATTACK
        return shop.at_terminal(**fields)

    till = manual.add_terminal(ATTACK)
    sale = begin(manual, sell, transaction_api_id=ATTACK)
    for path in ("/terminals", f"/terminals/{till}", f"/terminals/{manual.terminal_id}"):
        page = plain_http.get(manual.base_url + path).text
        assert ATTACK not in page
        assert ATTACK in unescape(page)
    manual.cancel()
    assert sale.result().status_code == 201


def test_countdown(slow: Sandbox, begin: Sell) -> None:
    """The screen says so before a call, while one waits, and when the terminal is silent."""
    assert "Presents a card by itself, 120 s after a call arrives" in read(slow)
    begin(slow)
    assert re.search("waits for 0:0[0-9] of 5:00 Acts by itself in (2:00|1:5[0-9])", read(slow))
    press(slow, "silence")
    assert "Stays silent until you press a key" in read(slow)
    press(slow, "cancel")
    begin(slow, amount="7.71")
    assert "Stays silent for this amount" in read(slow)
    slow.cancel()
    slow.silence()
    assert "Will stay silent until you press a key" in read(slow)


def test_receipt(manual: Sandbox, begin: Sell, eventually: Eventually) -> None:
    """Of a partial approval it shows the approved amount, and of a card its brand and last four digits."""
    begin(manual, amount="2.01")
    press(manual, "approve", card="amex")
    eventually(lambda: "Approved $1.00 Sale, amex ···· 8431" in read(manual))
    begin(manual, Shop.store_at_terminal)
    assert "Store a card" in read(manual)
    press(manual, "approve")
    eventually(lambda: "Stored Store, visa ···· 1111" in read(manual))


def test_receipts(manual: Sandbox, begin: Sell, eventually: Eventually) -> None:
    """A page keeps three receipts until a reset, the newest first, and shows no whole card number."""
    for number in range(1, 5):
        begin(manual, amount=f"{number}.00")
        press(manual, "approve")
        eventually(lambda: f"${number}.00 Sale" in read(manual))  # noqa: B023  # waited for within the loop
    assert re.findall(r"\$([0-9.]+) Sale", read(manual)) == ["4.00", "3.00", "2.00"]
    for path in ("/terminals", f"/terminals/{manual.terminal_id}"):
        assert re.findall("[0-9]{12,}", read(manual, path).replace(manual.terminal_id, "")) == []
    manual.reset()
    assert "Last receipts" not in read(manual)


def test_receipts_survive_a_restart(tmp_path: Path, open_shop: OpenShop) -> None:
    path = tmp_path / "sandbox.db"
    with Sandbox(data=path, terminal_delay=0.0) as sandbox:
        for amount in ("1.00", "5.00"):
            open_shop(sandbox.info).at_terminal(amount)
    with Sandbox(data=path) as sandbox:
        assert re.findall(r"(Approved|Declined: \w+) \$([0-9.]+) Sale", read(sandbox)) == [
            ("Declined: DENY", "5.00"),
            ("Approved", "1.00"),
        ]
