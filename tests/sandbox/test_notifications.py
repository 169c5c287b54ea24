"""The outbox: which messages customers get, and which not."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from tests.support import plain_http

from .conftest import OpenShop, Record, Shop

PHONE, EMAIL = "5551234567", "ada@example.test"
SentMessages = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def invoice(shop: Shop) -> Callable[..., Record]:
    """Create an invoice of 21.00 with an address for each channel, and return the record."""

    def make(**fields: Any) -> Record:
        said: Record = {"title": "Tea", "email": EMAIL, "cell_phone": PHONE, "send_text_to_pay": 1}
        record: Record = shop.invoice(**said | fields).json()["quickinvoice"]
        return record

    return make


@pytest.fixture
def sent_messages(sandbox: Sandbox) -> SentMessages:
    """Return channel, address and event of each message so far."""
    return lambda **about: [(one["channel"], one["to"], one["event"]) for one in sandbox.outbox(**about)]


def resend(shop: Shop, invoice: Record, **query: Any) -> httpx.Response:
    return shop.http.post(f"/v2/quickinvoices/{invoice['id']}/resend", params=query)


# --- paylinks


@pytest.mark.parametrize(
    ("method", "channels"), [(0, []), (1, ["email"]), (2, ["sms"]), (3, ["email", "sms"]), (..., ["email"])]
)
def test_delivery_methods(shop: Shop, sandbox: Sandbox, method: object, channels: list[str]) -> None:
    """A paylink's message is sent on creation; 0 sends nothing, and the default is an e-mail."""
    shop.paylink(email=EMAIL, cell_phone=PHONE, delivery_method=method)
    assert [one["channel"] for one in sandbox.outbox()] == channels


def test_paylink_message(shop: Shop, sandbox: Sandbox) -> None:
    """A message has the amount, the link and the merchant's words, and is about the paylink only."""
    paylink = shop.paylink(email=EMAIL, description="Engines").json()["paylink"]
    (message,) = sandbox.outbox()
    assert message == {
        "id": message["id"],
        "created_ts": paylink["created_ts"],
        "channel": "email",
        "to": EMAIL,
        "event": "created",
        "quick_invoice_id": None,
        "paylink_id": paylink["id"],
        "subject": "Engines",
        "text": f"Engines: please pay 21.00.\n{shop.info.base_url}?paylink_id={paylink['id']}",
        "attachments": [],
    }


def test_currencies(open_shop: OpenShop) -> None:
    """Amounts have the currency of the sandbox; dollars need no name."""
    with Sandbox(currency="EUR") as sandbox:
        open_shop(sandbox.info).paylink(email=EMAIL, description="Engines")
        (message,) = sandbox.outbox()
    assert message["text"].startswith("Engines: please pay EUR 21.00.")


@pytest.mark.parametrize("nowhere", [{"email": "ada.example.test"}, {"cell_phone": "555"}, {"email": ...}])
def test_recipients(shop: Shop, sandbox: Sandbox, nowhere: Record) -> None:
    """An address has an @ and a phone ten digits; resending without one is not an error."""
    method = 2 if "cell_phone" in nowhere else 1
    paylink = shop.paylink(delivery_method=method, **nowhere).json()["paylink"]
    assert shop.http.post(f"/v2/paylinks/{paylink['id']}/resend").status_code == 204
    assert sandbox.outbox() == []


def test_resent_paylink(shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    """A paylink is resent by the channels of its creation; a payment is confirmed, a decline sends nothing."""
    paylink = shop.paylink("5.00", email=EMAIL, cell_phone=PHONE, delivery_method=3).json()["paylink"]
    sandbox.pay_paylink(paylink["id"])
    other = shop.paylink(delivery_method=0, email=EMAIL).json()["paylink"]
    shop.put("paylink", f"/v2/paylinks/{other['id']}", {"delivery_method": 1})
    assert shop.http.post(f"/v2/paylinks/{other['id']}/resend").status_code == 204
    sandbox.pay_paylink(other["id"])
    assert sent_messages(paylink_id=paylink["id"]) == [("email", EMAIL, "created"), ("sms", PHONE, "created")]
    assert sent_messages(paylink_id=other["id"]) == [("email", EMAIL, "resend"), ("email", EMAIL, "paid")]
    assert "thank you" in sandbox.outbox()[-1]["text"]


def test_a_paid_paylink_asks_for_no_payment(shop: Shop, sandbox: Sandbox) -> None:
    paylink = shop.paylink(email=EMAIL).json()["paylink"]
    sandbox.pay_paylink(paylink["id"])
    assert shop.http.post(f"/v2/paylinks/{paylink['id']}/resend").status_code == 204
    assert sandbox.outbox()[-1]["text"].startswith("Payment: there is nothing left to pay.\n")


# --- invoices


def test_send_email(invoice: Callable[..., Record], sent_messages: SentMessages) -> None:
    """`send_email`, which is not shown, sends an invoice at once, with a text if `send_text_to_pay` is set."""
    invoice()
    assert sent_messages() == []
    assert "send_email" not in invoice(send_email=1)
    assert sent_messages() == [("email", EMAIL, "created"), ("sms", PHONE, "created")]
    later = invoice(send_email=1, send_text_to_pay=0)
    assert sent_messages(quick_invoice_id=later["id"]) == [("email", EMAIL, "created")]


def test_invoice_message(invoice: Callable[..., Record], sandbox: Sandbox, shop: Shop) -> None:
    """The message has the remaining balance, and the note to the customer."""
    made = invoice(send_email=1, note="Thank you for your order.")
    link = f"{shop.info.base_url}/quickinvoice/?id={made['id']}"
    email, sms = sandbox.outbox()
    assert email["text"] == sms["text"] == f"Tea: please pay 21.00.\nThank you for your order.\n{link}"
    assert (email["subject"], sms["subject"]) == ("Tea", None)
    assert (email["quick_invoice_id"], email["paylink_id"]) == (made["id"], None)
    page = plain_http.get(email["text"].splitlines()[-1], headers={"accept": "text/html"})
    assert (page.status_code, '<h1 id="title">Tea</h1>' in page.text) == (200, True)


@pytest.mark.parametrize(
    ("query", "channels"),
    [
        ({}, ["email", "sms"]),
        ({"sms": 0}, ["email"]),
        ({"email": 0}, ["sms"]),
        ({"email": 1, "sms": "true"}, ["email", "sms"]),
    ],
)
def test_resent_invoice(
    invoice: Callable[..., Record], shop: Shop, sandbox: Sandbox, query: Record, channels: list[str]
) -> None:
    """An invoice is resent by e-mail and text, or by the one that is not excluded."""
    response = resend(shop, invoice(), **query)
    assert (response.status_code, response.content) == (204, b"")
    assert [(one["channel"], one["event"]) for one in sandbox.outbox()] == [(way, "resend") for way in channels]


def test_addresses(invoice: Callable[..., Record], shop: Shop, sent_messages: SentMessages) -> None:
    """An invoice goes by the channel that has an address; a contact's serves where the invoice has none."""
    resend(shop, invoice(email=None))
    resend(shop, invoice(send_text_to_pay=0))
    contact = shop.contact(email="charles@example.test").json()["contact"]
    invoice(send_email=1, email=None, contact_id=contact["id"], send_text_to_pay=0)
    expected = [("sms", PHONE, "resend"), ("email", EMAIL, "resend"), ("email", "charles@example.test", "created")]
    assert sent_messages() == expected


def test_payment(invoice: Callable[..., Record], shop: Shop, sandbox: Sandbox, sent_messages: SentMessages) -> None:
    """A payment sends an e-mail and no text; a decline sends nothing."""
    made = invoice(item_list={"Pot": "5.00", "Cup": "16.00"}, allow_partial_pay=1)
    for amount in ("5.00", "16.00"):
        shop.http.post(f"/_sandbox/quickinvoices/{made['id']}/pay", json={"amount": amount})
    assert sent_messages() == [("email", EMAIL, "paid")]


@pytest.mark.parametrize(("attach", "names"), [(0, []), (1, ["menu.txt", "map.txt"])])
def test_attached_files(shop: Shop, sandbox: Sandbox, attach: int, names: list[str]) -> None:
    """Files are attached only if `attach_files_to_email` is 1, and never to a text."""
    form = {"title": "Tea", "due_date": "2030-01-31", "item_list][Cup": "10", "location_id": shop.info.location_id}
    form |= {"email": EMAIL, "cell_phone": PHONE, "send_text_to_pay": "1", "send_email": "1"}
    form["attach_files_to_email"] = str(attach)
    files = {f"quickinvoice[files][{n}]": (name, b"x") for n, name in enumerate(["menu.txt", "map.txt"])}
    data = {f"quickinvoice[{name}]": value for name, value in form.items()}
    assert shop.http.post("/v2/quickinvoices", data=data, files=files).status_code == 201
    assert [(one["channel"], one["attachments"]) for one in sandbox.outbox()] == [("email", names), ("sms", [])]


def test_later_files(shop: Shop, invoice: Callable[..., Record]) -> None:
    """After an update of `attach_files_to_email`, a resend and the thanks for the payment carry the files."""
    made = invoice(send_email=1, attach_files_to_email=0)
    path = f"/v2/quickinvoices/{made['id']}"
    assert shop.http.post(f"{path}/files", files={"file[file]": ("menu.txt", b"x")}).status_code == 201
    shop.http.post(f"{path}/resend?sms=0")
    shop.http.put(path, json={"quickinvoice": {"attach_files_to_email": 1}})
    shop.http.post(f"{path}/resend?sms=0")
    shop.http.post(f"/_sandbox/quickinvoices/{made['id']}/pay", json={})
    shown = shop.http.get("/_sandbox/outbox").json()["outbox"]
    emails = [(each["event"], each["attachments"]) for each in shown if each["channel"] == "email"]
    assert emails == [("created", []), ("resend", []), ("resend", ["menu.txt"]), ("paid", ["menu.txt"])]


# --- the outbox


def test_outbox(shop: Shop, sandbox: Sandbox, invoice: Callable[..., Record]) -> None:
    """HTTP and Python show the same, newest last, also for one paylink or invoice."""
    made = invoice(send_email=1)
    paylink = shop.paylink(email=EMAIL).json()["paylink"]
    everything = shop.get("/_sandbox/outbox").json()["outbox"]
    assert everything == sandbox.outbox()
    assert shop.get("/_sandbox/outbox", quick_invoice_id=made["id"]).json()["outbox"] == everything[:2]
    assert shop.get("/_sandbox/outbox", paylink_id=paylink["id"]).json()["outbox"] == everything[2:]
    assert sandbox.outbox(paylink_id="nowhere") == []
