"""Files of invoices, their forms, and the service that stores them."""

import gc
import threading
from typing import Any

import httpx
import pytest

from gateway_async import InvalidRequestError
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.handlers.quick_invoices import LARGEST_FILE
from gateway_async.sandbox.request.forms import FORM_LIMIT
from gateway_async.sandbox.schema import FILE_CONTENT
from tests.support import plain_http

from .conftest import Errors, Eventually, OpenShop, Record, Shop

PATH = "/v2/quickinvoices"
Part = tuple[str, tuple[str | None, str | bytes] | tuple[str | None, str | bytes, str | None]]


@pytest.fixture
def invoice(shop: Shop) -> Record:
    record: Record = shop.invoice().json()["quickinvoice"]
    return record


def parts_of(shop: Shop, **fields: Any) -> list[Part]:
    """Return the parts of a form with one item; `...` omits a part."""
    known = {"title": "Lunch", "due_date": "2030-01-31", "location_id": shop.info.location_id, "item_list][Tea": "1.50"}
    texts = {name: value for name, value in (known | fields).items() if value is not ...}
    return [(f"quickinvoice[{name}]", (None, value)) for name, value in texts.items()]


def send(shop: Shop, *parts: Part, **fields: Any) -> httpx.Response:
    """POST an invoice as a form, with further parts."""
    return shop.http.post(PATH, files=[*parts_of(shop, **fields), *parts])


def upload(number: int, content: bytes = b"x", name: str | None = None, content_type: str | None = None) -> Part:
    """The part of a form that holds a file."""
    return (f"quickinvoice[files][{number}]", (name or f"{number}.txt", content, content_type))


def attach(
    shop: Shop, invoice: Record, content: bytes = b"x", name: str = "a.txt", field: str = "file[file]"
) -> httpx.Response:
    return shop.http.post(f"{PATH}/{invoice['id']}/files", files={field: (name, content)})


def attach_as(shop: Shop, invoice: Record, content_type: str) -> httpx.Response:
    """Attach a file whose part has this header for the content type, or none."""
    head = f'--b\r\ncontent-disposition: form-data; name="file[file]"; filename="a"{content_type}'
    return shop.http.post(
        f"{PATH}/{invoice['id']}/files",
        content=f"{head}\r\n\r\nx\r\n--b--\r\n".encode(),
        headers={"content-type": "multipart/form-data; boundary=b"},
    )


def names_of(shop: Shop, invoice: Record) -> list[str]:
    record = shop.get(f"{PATH}/{invoice['id']}", expand="files").json()["quickinvoice"]
    return [file["name"] for file in record["files"]]


# --- forms


def test_form(shop: Shop) -> None:
    """A form can have texts, flags, items and numbered tags; items come back as sent."""
    made = send(shop, allow_partial_pay="1", **{"tags][1": "hot", "tags][0": "red", "item_list][a 'b' \"c\"\n%": "2"})
    record = made.json()["quickinvoice"]
    assert made.status_code == 201
    assert (record["title"], record["allow_partial_pay"], record["amount_due"]) == ("Lunch", 1, "3.50")
    assert record["item_list"] == {"Tea": "1.50", "a 'b' \"c\"\n%": "2"}
    expanded = shop.get(f"{PATH}/{record['id']}", expand="tags,files").json()["quickinvoice"]
    assert (expanded["tags"], expanded["files"]) == (["red", "hot"], [])


def test_files_are_stored_in_the_order_of_their_numbers(shop: Shop, sandbox: Sandbox) -> None:
    made = send(shop, upload(1, b"two", 'b "2".bin'), upload(0, b"\x00\xff\r\n--", "ä.pdf", "application/pdf"))
    invoice = made.json()["quickinvoice"]
    first, second = shop.get(f"{PATH}/{invoice['id']}", expand="files").json()["quickinvoice"]["files"]
    described = {"quick_invoice_id": invoice["id"], "name": "ä.pdf", "size": 6, "content_type": "application/pdf"}
    assert first == described | {"id": first["id"], "created_ts": first["created_ts"]}
    assert second["name"] == 'b "2".bin'
    assert [sandbox.file(file["id"]) for file in (first, second)] == [b"\x00\xff\r\n--", b"two"]


PART_PROBLEM: list[tuple[Record, str]] = [
    ({"title": ...}, "title"),
    ({"item_list][Tea": "much"}, "item_list"),
    ({"item_list][Tea": ...}, "item_list"),
    ({"item_list][a][b": "1"}, "quickinvoice[item_list][a][b]"),
    ({"item_list": "Tea"}, "item_list"),
    ({"title][x": "1"}, "title"),
    ({"tags][x": "red"}, "tags"),
    ({"tags": "red"}, "tags"),
    ({"files][0": "no file"}, "files"),
    ({"files": "no file"}, "files"),
    ({"allow_partial_pay": "maybe"}, "allow_partial_pay"),
]


def test_part_problem(shop: Shop, errors: Errors) -> None:
    """The problem of a part has the name of its field, as with JSON."""
    for fields, named in PART_PROBLEM:
        assert named in errors(send(shop, **fields))


def test_foreign_parts(shop: Shop, strict_shop: Shop, errors: Errors) -> None:
    """Refused by name: without the wrapper, with another one, repeated, unknown, or a file instead of a text."""
    parts: list[tuple[Part, str]] = [
        (("title", (None, "Lunch")), "title"),
        (("contact[title]", (None, "Lunch")), "contact[title]"),
        (("quickinvoice[title]", (None, "Lunch")), "title"),
        (("", (None, "Lunch")), ""),
        (("quickinvoice[files]", ("a.txt", b"x")), "files"),
        (("quickinvoice[note]", ("a.txt", b"x")), "note"),
    ]
    for part, named in parts:
        assert list(errors(send(shop, part))) == [named]
    assert send(shop, color="red").status_code == 201
    assert list(errors(send(strict_shop, color="red"))) == ["color"]


MALFORMED = {
    "no boundary": ("multipart/form-data", b"--b--\r\n"),
    "nothing": ("multipart/form-data; boundary=b", b""),
    "no end": ("multipart/form-data; boundary=b", b"--b"),
    "no part": ("multipart/form-data; boundary=b", b"--b--\r\n"),
    "another boundary": ("multipart/form-data; boundary=b", b"--a--\r\n"),
    "no name": ("multipart/form-data; boundary=b", b"--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n--b--\r\n"),
    "no disposition": ("multipart/form-data; boundary=b", b"--b\r\n\r\nx\r\n--b--\r\n"),
    "a bad header": ("multipart/form-data; boundary=b", b"--b\r\n\x00: x\r\n\r\nx\r\n--b--\r\n"),
    "JSON": ("multipart/form-data; boundary=b", b'{"quickinvoice": {}}'),
    "cut off": (
        "multipart/form-data; boundary=b",
        b'--b\r\ncontent-disposition: form-data; name="quickinvoice[title]"\r\n\r\nLunch\r\n',
    ),
    "a boundary of great length": ("multipart/form-data; boundary=" + "b" * 300, b"--" + b"b" * 300 + b"--\r\n"),
    "text of another coding": (
        "multipart/form-data; boundary=b",
        b'--b\r\ncontent-disposition: form-data; name="quickinvoice[title]"\r\n\r\n\xff\r\n--b--\r\n',
    ),
    "a name of another coding": (
        "multipart/form-data; boundary=b",
        b'--b\r\ncontent-disposition: form-data; name="\xff"\r\n\r\nx\r\n--b--\r\n',
    ),
}


def test_malformed_form(shop: Shop, invoice: Record, caplog: pytest.LogCaptureFixture) -> None:
    """The response has a message, nothing is logged, and no partial form is accepted."""
    for content_type, body in MALFORMED.values():
        for path in (PATH, f"{PATH}/{invoice['id']}/files"):
            response = shop.http.post(path, content=body, headers={"content-type": content_type})
            assert (response.status_code, response.json()["status"]) == (400, 400), content_type
            assert response.json()["message"].startswith("The form "), content_type
            assert [
                line for line in caplog.records if line.name.startswith(("gateway_async", "python_multipart"))
            ] == [], content_type


def test_a_form_with_too_many_parts_is_400(shop: Shop) -> None:
    assert send(shop, *((f"quickinvoice[item_list][{n}]", (None, "1")) for n in range(1001))).status_code == 400


# --- limits


def test_fifth_file(shop: Shop, errors: Errors, invoice: Record) -> None:
    """A fifth file is refused with the invoice, also if all are large, and after it; removing one allows another."""
    expected = ["An invoice has at most 4 files."]
    for content in (b"x", b"x" * LARGEST_FILE):
        assert errors(send(shop, *(upload(n, content) for n in range(5)))) == {"files": expected}
    ids = [attach(shop, invoice).json()["file"]["id"] for _ in range(4)]
    assert errors(attach(shop, invoice)) == {"file": expected}
    assert shop.http.delete(f"{PATH}/{invoice['id']}/files/{ids[0]}").status_code == 204
    assert attach(shop, invoice).status_code == 201


def test_a_byte_too_many_is_refused(shop: Shop, errors: Errors, invoice: Record) -> None:
    large = b"x" * (LARGEST_FILE + 1)
    assert errors(send(shop, upload(0, large))) == {"files": ["0.txt is larger than 5242880 bytes."]}
    assert errors(attach(shop, invoice, large)) == {"file": ["a.txt is larger than 5242880 bytes."]}
    assert [one["id"] for one in shop.get(PATH).json()["quickinvoices"]] == [invoice["id"]]
    assert names_of(shop, invoice) == []


def test_a_form_without_end_is_413(shop: Shop) -> None:
    response = send(shop, upload(0, b"x" * FORM_LIMIT))
    assert (response.status_code, response.json()["status"]) == (413, 413)
    assert shop.get(PATH).status_code == 200


def test_refused_files(shop: Shop, errors: Errors, invoice: Record) -> None:
    """The name has 1 to 255 characters, the part has the name of a file, and a file does not come as JSON."""
    for name in ("x" * 256, "\0"):
        assert list(errors(attach(shop, invoice, name=name))) == ["file"]
    for field in ("file", "files[file]", "file[files]", "quickinvoice[files][0]"):
        assert set(errors(attach(shop, invoice, field=field))) & {field, "files"}
    assert shop.post("file", f"{PATH}/{invoice['id']}/files", {"file": "x"}).status_code == 400
    assert names_of(shop, invoice) == []


# --- one by one


def test_attached_file(shop: Shop, sandbox: Sandbox, invoice: Record) -> None:
    """The response is 201 with the record; the content type is that of the form, or an octet stream."""
    response = attach(shop, invoice, b"hello")
    file = response.json()["file"]
    assert response.status_code == 201
    assert file["_links"]["self"]["href"] == f"{shop.info.base_url}{PATH}/{invoice['id']}/files/{file['id']}"
    assert (file["name"], file["size"], file["content_type"]) == ("a.txt", 5, "text/plain")
    shown = plain_http.get(f"{sandbox.base_url}/_sandbox/files/{file['id']}")
    assert (shown.content, shown.headers["content-type"]) == (b"hello", "text/plain")
    untyped = attach_as(shop, invoice, "").json()["file"]
    assert (untyped["size"], untyped["content_type"]) == (1, "application/octet-stream")


def test_content_type(shop: Shop, invoice: Record, errors: Errors) -> None:
    """Other content types are refused, because a response could not show them."""
    for content_type in ("text/\u65e5", "text/\u00e9", "text/\x7f"):
        response = attach_as(shop, invoice, f"\r\ncontent-type: {content_type}")
        assert errors(response) == {"file": ["A file's Content Type must be printable ASCII."]}


def test_removal(shop: Shop, sandbox: Sandbox, invoice: Record) -> None:
    """A removal is a 204 without a body, then 404; the content is deleted."""
    kept, gone = (attach(shop, invoice, name=name).json()["file"]["id"] for name in ("a.txt", "b.txt"))
    response = shop.http.delete(f"{PATH}/{invoice['id']}/files/{gone}")
    assert (response.status_code, response.content) == (204, b"")
    assert shop.http.delete(f"{PATH}/{invoice['id']}/files/{gone}").status_code == 404
    assert names_of(shop, invoice) == ["a.txt"]
    assert plain_http.get(f"{sandbox.base_url}/_sandbox/files/{gone}").status_code == 404
    with pytest.raises(InvalidRequestError, match=f"^nothing was sent: file {gone}: "):
        sandbox.file(gone)
    assert sandbox.file(kept) == b"x"
    assert [row["id"] for row in sandbox._call(lambda gateway: gateway.store.select(FILE_CONTENT))] == [kept]


def test_foreign_file(shop: Shop, neighbor: Shop, invoice: Record) -> None:
    """Another invoice or location cannot remove it, and another location cannot add one."""
    file = attach(shop, invoice).json()["file"]["id"]
    other = shop.invoice().json()["quickinvoice"]["id"]
    assert shop.http.delete(f"{PATH}/{other}/files/{file}").status_code == 404
    assert neighbor.http.delete(f"{PATH}/{invoice['id']}/files/{file}").status_code == 404
    assert attach(neighbor, invoice).status_code == 404
    assert names_of(shop, invoice) == ["a.txt"]


def test_a_closed_invoice_takes_files_and_a_deleted_one_does_not(shop: Shop) -> None:
    invoice = shop.invoice(status_id=0).json()["quickinvoice"]
    file = attach(shop, invoice).json()["file"]["id"]
    shop.http.delete(f"{PATH}/{invoice['id']}")
    assert attach(shop, invoice).status_code == 409
    assert shop.http.delete(f"{PATH}/{invoice['id']}/files/{file}").status_code == 409


# --- the service


def test_file_storage(shop: Shop, neighbor: Shop, errors: Errors) -> None:
    """It is off in a location until its own user enables it; invoices without files need none."""
    invoice = send(neighbor).json()["quickinvoice"]
    expected = ["The File Storage Service is not enabled for this location."]
    assert errors(send(neighbor, upload(0))) == {"files": expected}
    assert errors(attach(neighbor, invoice)) == {"file": expected}
    storage = {"title": "Files", "product_file_credential_id": "1" * 24, "location_id": neighbor.info.location_id}
    assert errors(neighbor.post("productfile", "/v2/productfiles", {})).keys() == storage.keys()
    foreign = shop.post("productfile", "/v2/productfiles", storage)
    assert errors(foreign) == {"location_id": ["location_id provided is not valid"]}
    enabled = neighbor.post("productfile", "/v2/productfiles", storage)
    assert (enabled.status_code, enabled.json()["productfile"] | storage) == (201, enabled.json()["productfile"])
    assert (attach(neighbor, invoice).status_code, send(neighbor, upload(0)).status_code) == (201, 201)


def test_large_files(open_shop: OpenShop, eventually: Eventually) -> None:
    """No thread and no open file remains after the sandbox stops, whatever the form was."""
    before = set(threading.enumerate())
    with Sandbox() as sandbox:
        shop = open_shop(sandbox.info)
        large = upload(0, b"x" * LARGEST_FILE)
        responses = [send(shop, large), send(shop, large, title=...), send(shop, upload(0, b"x" * FORM_LIMIT))]
    gc.collect()
    assert [response.status_code for response in responses] == [201, 422, 413]
    eventually(lambda: before.issuperset(threading.enumerate()))  # a thread ends a moment after it was told to


def test_faults_match_a_path_with_two_ids_by_its_pattern(shop: Shop, sandbox: Sandbox, invoice: Record) -> None:
    sandbox.fault("DELETE /v2/quickinvoices/{id}/files/{file_id}", "error_after_commit")
    file = attach(shop, invoice).json()["file"]["id"]
    path = f"{PATH}/{invoice['id']}/files/{file}"
    assert [shop.http.delete(path).status_code for _ in range(2)] == [500, 404]
