"""The pages of the request log: what they show, and the secrets that they do not show."""

import base64
import json

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.schema import STORED
from tests.support import plain_http

from .conftest import VISA, Shop

SECRET_FIELDS = sorted({field.name for table in STORED for field in table.fields if field.secret})
SPELLINGS = [
    *("cardNumber", "CVC", "api_key", "client-secret", "accessToken", "ssn", "track2", "pan", "contact[password]"),
]


def open_page(sandbox: Sandbox, path: str = "/requests", status: int = 200) -> str:
    response = plain_http.get(sandbox.base_url + path)
    assert response.status_code == status
    return response.text


def open_last(sandbox: Sandbox) -> str:
    """Return the HTML of the page about the newest request."""
    number = open_page(sandbox).partition('href="/requests/')[2].partition('"')[0]
    return open_page(sandbox, f"/requests/{number}")


def send(shop: Shop, content: bytes | str, content_type: str = "application/json") -> None:
    """POST a body, with whatever result."""
    shop.http.post("/v2/contacts", content=content, headers={"content-type": content_type})


@pytest.mark.parametrize("path", ["/", "/requests"])
def test_empty_log(sandbox: Sandbox, path: str) -> None:
    """Without requests, the first page and the log show how to send one, without the credentials."""
    page = open_page(sandbox, path)
    assert "AsyncGateway.from_env()" in page
    assert f"curl {sandbox.base_url}/v2/contacts" in page
    assert sandbox.info.user_api_key not in page


def test_entry(sandbox: Sandbox, shop: Shop) -> None:
    """The log shows method, path, status, amount, problem and integrator id of a request, and links to its record."""
    shop.pay(transaction_api_id="order-2", contact_api_id="ada")
    sale = shop.paid("12.50", transaction_api_id="order-1")
    shop.get("/v2/contacts/unknown")
    page = open_page(sandbox)
    link = f'href="/records/transactions/{sale["id"]}"'
    for text in ("</b> /v2/transactions<", "</b> /v2/contacts/unknown<", ">201<", "order-1", ">12.50<", link):
        assert text in page
    assert page.index("/v2/contacts/unknown") < page.index("/v2/transactions")
    assert [text in page for text in ("The record cannot be found.", "order-2", ">ada<")] == [True, True, False]
    record = shop.at_terminal().json()["routertransaction"]
    assert f'href="/records/transactions/{record["id"]}"' in open_last(sandbox)
    plain_http.post(f"{sandbox.base_url}/v2/contacts", json={})  # refused before its body was read
    assert "The body was not read." in open_last(sandbox)


def test_filters(sandbox: Sandbox, shop: Shop) -> None:
    """A filter leaves out what does not match, and a search finds a part of a path, status, id or amount, no secret."""
    tags, contact, payments = "/v2/tags", "/v2/contacts/x", "/v2/transactions"
    sale = shop.paid("12.50", transaction_api_id="order-1")
    shop.get(contact)
    shop.get(tags)

    def shown(query: str) -> list[str]:
        page = open_page(sandbox, f"/requests?{query}")
        return [path for path in (tags, contact, payments) if f"</b> {path}<" in page]

    for show in ("", "unknown"):
        assert shown(f"show={show}") == [tags, contact, payments]
    assert (shown("show=writes"), shown("show=errors")) == ([payments], [contact])
    for text in ("/V2/TRANSACTIONS", "201", "order-1", sale["id"], "12.5"):
        assert shown(f"q={text}") == [payments]
    assert shown(f"q={VISA[:8]}") == []


def test_control_calls(sandbox: Sandbox, shop: Shop) -> None:
    """Calls that steer the sandbox are counted, and shown if asked for."""
    shop.get("/v2/tags")
    shop.http.post("/_sandbox/clock", json={"advance": 1})
    page = open_page(sandbox)
    assert ("/_sandbox/clock<" in page, "1 control call is hidden." in page) == (False, True)
    page = open_page(sandbox, "/requests?controls=1")
    assert ("/_sandbox/clock<" in page, "hidden." in page) == (True, False)


def test_fault(sandbox: Sandbox, shop: Shop) -> None:
    """The entry of a request that a fault affected names the fault, also without a response."""
    sandbox.fault("GET /v2/tags", "close_after_commit")
    with pytest.raises(httpx.RemoteProtocolError):
        shop.get("/v2/tags")
    sandbox.wait_until_idle()
    page = open_page(sandbox, "/requests?show=errors")
    assert "fault: close_after_commit" in page
    assert "no response" in page
    assert "The program got no response." in open_page(sandbox, "/requests/1")


def test_pagination(sandbox: Sandbox, shop: Shop) -> None:
    """Fifty entries are on a page, the newest on the first; a page beyond the end is empty, an unknown entry a 404."""
    for number in range(51):
        shop.get(f"/v2/tags/tag-{number}")
    assert "/v2/tags/tag-50<" in open_page(sandbox)
    assert "/v2/tags/tag-0<" not in open_page(sandbox)
    assert "/v2/tags/tag-0<" in open_page(sandbox, "/requests?page=2")
    for page in ("/requests?page=99", "/requests?page=x", "/requests?page=-1", "/requests?page=" + "9" * 5000):
        open_page(sandbox, page)
    for entry in ("0", "999", "x", "-1"):
        assert "not found" in open_page(sandbox, f"/requests/{entry}", 404)


HIDDEN = dict.fromkeys([*SECRET_FIELDS, *SPELLINGS], "do-not-show")
FORMS = {
    "json": json.dumps({"contact": HIDDEN | {"last_name": "visible"}}),
    "lists": json.dumps({"contact": {name: [{"x": [1, "do-not-show"]}] for name in HIDDEN} | {"last_name": "visible"}}),
    "in text": json.dumps({"contact": {"note": json.dumps({"last_name": "visible"} | HIDDEN)}}),
    "cut": json.dumps({"contact": {"last_name": "visible"} | HIDDEN | {"address": "x" * 20_000}}),
    "escaped": json.dumps({"last_name": "visible", "note": json.dumps(HIDDEN), "address": "x" * 20_000}),
    "cut lists": json.dumps({"last_name": "visible", "cvv": [[1], "do-not-show"], "address": "x" * 20_000}),
    "broken": "last_name: visible," + ",".join(f'{name}: \'do-not-show\', "{name}": "do-not-show' for name in HIDDEN),
    "pairs": "last_name=visible&" + "&".join(f"{name}=do-not-show" for name in HIDDEN),
}
"""Ways to send secrets, the last ones by mistake."""


@pytest.mark.parametrize("form", FORMS)
def test_secret_fields(sandbox: Sandbox, shop: Shop, form: str) -> None:
    """The value of a secret field is not shown, in whatever form it was sent."""
    for content_type in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
        send(shop, FORMS[form], content_type)
        page = open_last(sandbox)
        assert ("do-not-show" in page, "visible" in page) == (False, True)


CARDS: list[object] = [
    *(VISA, int(VISA), "4111 1111 1111 1111", "4111-1111-1111-1111", [VISA], {VISA: "x"}),
    *(f"my card: {VISA}.", f"%B{VISA}^DOE/JOHN^30121010000?", f";{VISA}=30121010000?", f"https://a:b@host/{VISA}"),
]


def test_card_numbers(sandbox: Sandbox, shop: Shop) -> None:
    """A card number is masked in a field that is not known, but for its last four digits."""
    for value in CARDS:
        send(shop, json.dumps({"contact": {"whatever": value}}))
        page = open_last(sandbox)
        assert [digits in page for digits in ("1111", VISA, "4111 1111", "4111-1111")] == [True, False, False, False]


def test_credentials(sandbox: Sandbox) -> None:
    """No kind of credentials is shown, in headers, query or body, and no token in a response."""
    info = sandbox.info
    basic = base64.b64encode(f"{info.user_id}:{info.user_api_key}".encode()).decode()
    keys = {"developer-id": info.developer_id, "user-id": info.user_id, "user-api-key": info.user_api_key}
    login = {"username": info.username, "password": info.password, "domain": info.domain}
    with plain_http.open_client(base_url=info.base_url) as client:
        secrets = {
            info.user_api_key,
            info.user_hash_key,
            info.password,
            basic,
            "the-hash-key",
            "the-bearer",
            "a-cookie",
        }
        client.get("/v2/contacts", headers=keys)
        client.get("/v2/contacts", params=keys)
        client.get("/v2/contacts", headers={"authorization": f"Basic {basic}", "cookie": "x=a-cookie"})
        client.get("/v2/contacts", headers={"authorization": "Bearer the-bearer"})
        client.get("/v2/contacts", headers={"referer": "http://host/?hash-key=the-hash-key"})
        client.get("/v2/payform", params={"hash-key": "the-hash-key", "data": "7b7d", "user-id": info.user_id})
        response = client.post("/v2/token", json=login, headers={"developer-id": info.developer_id}).json()
        secrets.add(response["token"]["token"])
        client.delete(f"/v2/token/{response['token']['token']}", headers=keys)
    for path in ("/", "/requests", *(f"/requests/{number}" for number in range(1, 9))):
        page = open_page(sandbox, path)
        assert [secret for secret in secrets if secret in page] == []
    assert "Basic ***" in open_page(sandbox, "/requests/3")
    assert "data=***" in open_page(sandbox, "/requests/6")


def test_multipart_form(sandbox: Sandbox, shop: Shop) -> None:
    """The values of a form are shown, but secrets are masked, and of a file only the name and the size is shown."""
    shop.http.post(
        "/v2/quickinvoices",
        data={
            "quickinvoice[title]": f"<Lunch> {VISA}",
            "quickinvoice[quick_invoice_api_id]": "order-1",
            "quickinvoice[ssn4]": "hidden",
        },
        files={"quickinvoice[files][0]": ("<menu>.txt", b"hidden-content" * 1000)},
    )
    page = open_last(sandbox)
    assert "<code>quickinvoice[title]</code></dt><dd>&lt;Lunch&gt; ************1111</dd>" in page
    assert "<code>quickinvoice[ssn4]</code></dt><dd>***</dd>" in page
    assert "&lt;menu&gt;.txt" in page
    assert "more than" in page
    assert "<code>order-1</code>" in open_page(sandbox)
    assert [text for text in ("hidden", VISA) if text in page] == []


@pytest.mark.parametrize(
    "name",
    ["name=quickinvoice[ssn4]", "name=ssn4", 'NAME="ssn4"', "name*=utf-8''quickinvoice%5Bssn4%5D", 'name=""', "x=ssn4"],
)
def test_unreadable_name(sandbox: Sandbox, shop: Shop, name: str) -> None:
    """The value of a part whose name cannot be read is not shown."""
    send(
        shop,
        f"--x\r\nContent-Disposition: form-data; {name}\r\n\r\nhidden\r\n--x--\r\n",
        "multipart/form-data; boundary=x",
    )
    page = open_last(sandbox)
    assert "<dd>***</dd>" in page
    assert "hidden" not in page


BODIES: list[tuple[bytes, str, str]] = [
    (b"", "application/json", "No body."),
    (b"\xff\x00\xfe", "application/json", "3 bytes that are not shown"),
    (b"a,b\nssn,1", "text/csv", "9 bytes that are not shown"),
    (b"--x", "multipart/form-data; boundary=y", "Request"),
    (b"--x", "multipart/form-data", "3 bytes that are not shown"),
    (b"[" * 9000, "application/json", "[[[["),
    (b'{"a":' * 1500, "application/json", "a&#34;"),
    (b"[" * 300 + b"]" * 300, "application/json", "[]"),
    (b"a" * 20_000, "text/plain", "Only the first 10,000 of 20,000 bytes are kept."),
    ("ü".encode() * 9999, "text/plain", "ü"),
    (b'{"contact": {"contact_balance": 21.00}}', "application/json", "21.00"),
]


def test_bodies(sandbox: Sandbox, shop: Shop) -> None:
    """The page of a request opens whatever its body is, with exact digits, and says what it leaves out."""
    for body, content_type, note in BODIES:
        send(shop, body, content_type)
        assert note in open_last(sandbox)


def test_markup(sandbox: Sandbox) -> None:
    """Markup in a path, a query, a header and a body is escaped."""
    attack = "<script>alert(1)</script>"
    with plain_http.open_client(base_url=sandbox.base_url) as client:
        client.post(f"/v2/{attack}", params={attack: attack}, headers={"x-attack": attack}, json={attack: attack})
    for page in (open_page(sandbox), open_page(sandbox, "/"), open_last(sandbox)):
        assert attack not in page
    assert "&lt;script&gt;" in open_last(sandbox)
