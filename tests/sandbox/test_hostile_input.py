"""Invalid input of any kind gets a 4xx with a message, and the gateway keeps running."""

import json
from collections.abc import Iterator
from itertools import chain, product

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.schema import BY_PLURAL, ROUTER_ACCOUNT_VAULT, ROUTER_TRANSACTION, STORED
from tests.support import plain_http

from .conftest import Record, Shop, connected

NOUNS = (
    *("contact", "accountvault", "transaction", "quickinvoice", "paylink"),
    *("postbackconfig", "productfile", "routertransaction", "routeraccountvault"),
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One sandbox for all tests, which none of them may break."""
    with Sandbox(terminal_delay=0.0, strict=True) as sandbox:
        yield sandbox


def send(shop: Shop, method: str, path: str, content: object = None) -> tuple[int, bytes]:
    """Send one of thousands of requests, in half of the time that it takes with httpx."""
    shop.plain.request(method, path, json.dumps(content) if content else None, dict(shop.http.headers))
    response = shop.plain.getresponse()
    return response.status, response.read()


@pytest.fixture(autouse=True)
def _no_log_lines(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that no test leaves a traceback in the log."""
    yield
    assert caplog.get_records("call") == []


def is_refusal(response: httpx.Response, *statuses: int) -> Record:
    """Check the status and the form of a refusal, and return its body."""
    body: Record = response.json()
    assert response.status_code in (statuses or (400, 422)), response.text
    assert set(body) in ({"errors"}, {"name", "message", "code", "status"})
    return body


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"{}", b"null", b"[]", b'"contact"'),
        b'{"contact": []}',
        b'{"contact": null}',
        b'{"contacts": {}}',
        b'{"contact": {}, "extra": 1}',
        b'{"contact": {"last_name": NaN}}',
        b'{"contact": {"last_name": Infinity}}',
        b'{"contact": {"last_name": "a", "last_name": "b"}}',
        b'{"contact": {}, "contact": {}}',
        b'{"contact": {"last_name": "\\ud800"}}',
        b'{"contact": {"\\ud800": "x"}}',
        b'{"contact": {"last_name": "\xff"}}',
        b'\xff\xfe{\x00"\x00',
        b'{"contact": {"last_name": "a\nb"}}',
        b'{"contact": {"last_name": 1' + b"0" * 5000 + b"}}",
        b"[" * 100_000,
        b'{"contact":' * 100_000,
        b'{"contact": {"last_name": ' + b"[" * 900 + b"]" * 900 + b"}}",
    ],
    ids=lambda body: body[:40].decode("latin-1"),
)
def test_wrong_bodies(shop: Shop, body: bytes) -> None:
    """Broken JSON, other wrappers, bad text and endless nesting are 400 or 422, never 500."""
    is_refusal(shop.http.post("/v2/contacts", content=body))


WRONG: list[object] = [
    *(None, True, False, 0, -1, 1.5, 10**400),
    *("", "x", "\0", "x" * 300),
    *([], ["x"], {}, {"a": {"b": []}}),
]


@pytest.mark.parametrize("noun", NOUNS)
def test_field_values(shop: Shop, noun: str) -> None:
    """Each field of each record type gets each kind of wrong value."""
    known = {table.singular: table for table in (*STORED, ROUTER_TRANSACTION, ROUTER_ACCOUNT_VAULT)}
    for field, value in product([*known[noun].by_name, "unheard_of", "", "__proto__", "id'; --"], WRONG):
        status, text = send(shop, "POST", f"/v2/{noun}s", {noun: {field: value}})
        assert status in {201, 400, 422}, (field, text)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: str(value)[:12])
def test_change_values(shop: Shop, value: object) -> None:
    """PUT is as strict as POST, whatever the field and the value."""
    made = {
        "contacts": shop.contact().json()["contact"],
        "accountvaults": shop.vault().json()["accountvault"],
        "transactions": shop.paid(action="authonly"),
        "quickinvoices": shop.invoice().json()["quickinvoice"],
    }
    for plural, record in made.items():
        table = BY_PLURAL[plural]
        for field in table.by_name:
            status, text = send(shop, "PUT", f"/v2/{plural}/{record['id']}", {table.singular: {field: value}})
            assert status in {200, 400, 422}, (field, text)
    for path in chain(*([f"/v2/{plural}/{one['id']}", f"/v2/{plural}"] for plural, one in made.items())):
        assert shop.get(path).status_code == 200
    assert shop.get(f"/v2/accountvaults/{made['accountvaults']['id']}/bininfo").status_code == 200
    for action in ("authincrement", "authcomplete", "tipadjust", "partialreversal", "void"):
        amounts = {"transaction_amount": "20.00"} if action == "authincrement" else {"tip_amount": "1.00"}
        assert shop.act(made["transactions"], action, **amounts).status_code in {200, 422}


def test_filters(shop: Shop) -> None:
    """A filter on any column is a value, never SQL."""
    for value in ["", "x", "%00", "%FF", "%ED%A0%80", "'", "%27%20OR%201=1--", ",", "|", "-", "%D9%A3", "9" * 99]:
        for plural in ("contacts", "accountvaults", "transactions", "quickinvoices"):
            for name in chain(
                BY_PLURAL[plural].by_name, ["page", "page_size", "sort", "expand", "created_ts_from", "%00", ""]
            ):
                status, text = send(shop, "GET", f"/v2/{plural}?{name}={value}")
                assert status in {200, 400, 422}, (name, text)


def test_ids(shop: Shop) -> None:
    """An unknown id is a 404, an invalid lookup a 422."""
    for name in ["%00", "%FF", "%2F", "..%2F..", "%27", "x" * 5000, "%ED%A0%80", "a;b", "%25"]:
        right = f"?api_id=1&location_id={shop.info.location_id}"
        queries = ("", right, "?api_id=perhaps", "?api_id=1&location_id=x")
        for method, query in product(("GET", "PUT", "DELETE"), queries):
            response = shop.http.request(method, f"/v2/contacts/{name}{query}", json={"contact": {}})
            is_refusal(response, 404, 422)


def test_an_unknown_path_is_404(shop: Shop) -> None:
    for path in ["/v1", "/v2", "/v2/nothing", "/v2//contacts", "/v3/contacts", "/v2/contacts/a/b"]:
        assert is_refusal(shop.get(path), 404)["status"] == 404


def test_an_unknown_method_is_405(shop: Shop) -> None:
    wrong = {"PATCH": "contacts", "DELETE": "transactions/x", "GET": "routertransactions", "OPTIONS": "contacts"}
    for method, path in wrong.items():
        response = shop.http.request(method, f"/v2/{path}")
        is_refusal(response, 405)
        assert response.headers["allow"], method


def test_a_connection_is_usable_after_a_413(shop: Shop) -> None:
    for content in (b"x" * (11 * 1024 * 1024), (b"x" * 65536 for _ in range(200))):  # the second one in chunks
        response = shop.http.post("/v2/contacts", content=content)
        assert is_refusal(response, 413)["status"] == 413
        assert shop.get("/v2/contacts").status_code == 200


def test_repeated_names(shop: Shop) -> None:
    """A repeated name is found at any position, as fast as the body is read."""
    names = [*range(200_000), 199_999]
    body = json.dumps({"contact": {}})[:-2] + ", ".join(f'"{name}": 1' for name in names) + "}}"
    assert "'199999' occurs twice" in is_refusal(shop.http.post("/v2/contacts", content=body), 400)["message"]


DEEP = [b"[" * 100_000, b'{"a":' * 100_000, b'{"operation": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"]


@pytest.mark.parametrize(
    "path",
    [
        *("clock", "faults", "terminals", "terminals/TERMINAL/present", "tickets", "quickinvoices/x/pay"),
        *("transactionbatches/x", "transactions/x/return", "producttransactions/PRODUCT"),
    ],
)
def test_control_calls_refuse_invalid_bodies(sandbox: Sandbox, path: str) -> None:
    path = path.replace("TERMINAL", sandbox.terminal_id).replace("PRODUCT", sandbox.cc_product_transaction_id)
    url = f"{sandbox.base_url}/_sandbox/{path}"
    text = [b"\xff", b"x", b'"x"', b"null", b'{"x": NaN}', b'{"\\ud800": 1}', b'{"x": 1' + b"0" * 5000 + b"}"]
    for body in (*DEEP, *text):
        is_refusal(plain_http.post(url, content=body), 400)
    is_refusal(plain_http.post(url, content=b" " * (11 * 1024 * 1024)), 413)


@pytest.mark.parametrize("path", ["faults", "clock", "terminals", "connect", "records/x/y", "quickinvoicepay/x"])
def test_oversized_forms(sandbox: Sandbox, path: str) -> None:
    """A form of many bytes or many fields is 413, before its fields are read."""
    for form in (b"a" * (11 * 1024 * 1024), b"&a" * 4_000_000, b"&".join(b"a%d=" % number for number in range(2000))):
        response = plain_http.post(f"{sandbox.base_url}/{path}", content=form)
        assert response.status_code == 413
        assert response.headers["content-type"].startswith("text/html")


def test_endless_parts(shop: Shop) -> None:
    """Parts without an end, and headers of a part without an end, are 400."""
    part = b'--x\r\ncontent-disposition: form-data; name="quickinvoice[title]"\r\n'
    for form in (part + b"\r\n\r\n" + (part + b"\r\n1\r\n") * 5000 + b"--x--", part + b"y: " + b"z" * 1_000_000, part):
        headers = {"content-type": "multipart/form-data; boundary=x"}
        is_refusal(shop.http.post("/v2/quickinvoices", content=form, headers=headers), 400)


def test_file_name(shop: Shop, sandbox: Sandbox) -> None:
    """The name of a file is neither a path on this machine nor a header of a response."""
    for name in ["../../etc/passwd", "/etc/passwd", "..\\x", "a\r\nset-cookie: b=c.pdf", 'a"; x="b.pdf']:
        invoice = shop.invoice().json()["quickinvoice"]
        path, content = f"/v2/quickinvoices/{invoice['id']}", b"%PDF-1.4 content"
        response = shop.http.post(f"{path}/files", files={"file[file]": (name, content)})
        assert response.status_code in {200, 201, 422}, response.text
        files = shop.get(path, expand="files").json()["quickinvoice"]["files"]
        assert len(files) == (response.status_code != 422), name
        for file in files:
            for address in (f"/_sandbox/files/{file['id']}", f"/quickinvoicepay/{invoice['id']}/files/{file['id']}"):
                shown = plain_http.get(f"{sandbox.base_url}{address}")
                assert (shown.status_code, shown.content) == (200, content), name
                assert "set-cookie" not in shown.headers, name
                assert shown.headers["x-content-type-options"] == "nosniff", name
                assert shown.headers["content-disposition"].startswith("attachment"), name


def test_no_http(sandbox: Sandbox) -> None:
    """Other protocols get a 400 in JSON, and the connection is closed after it."""
    for sent in [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET \xff\xfe HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ]:
        with connected(sandbox) as connection:
            connection.sendall(sent)
            received = b"".join(iter(lambda: connection.recv(4096), b""))
        assert received.startswith(b"HTTP/1.1 400 "), sent
        assert json.loads(received.partition(b"\r\n\r\n")[2])["status"] == 400, sent
