"""The API reference over plain HTTP: its pages, its forms, and what they do not show."""

import html
import re
from collections.abc import Iterator

import httpx
import pytest

from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.openapi.lookup import list_operations
from tests.support.forms import read_form

OPERATIONS = [operation.id for operation in list_operations()]


@pytest.fixture
def browser(sandbox: Sandbox) -> Iterator[httpx.Client]:
    """A client without credentials."""
    with httpx.Client(base_url=sandbox.base_url, timeout=20, trust_env=False) as client:
        yield client


def send(browser: httpx.Client, operation: str, **fields: str) -> str:
    """Submit the form of an operation, and return the text of the page that it shows."""
    page = browser.get(f"/reference/{operation}").text
    body = re.search(r'<textarea id="body"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    known = {"body": html.unescape(body[1])} if body else {}
    response = browser.post(f"/reference/{operation}", data=read_form(page) | known | fields)
    return response.text


def status_of(page: str) -> str:
    """Return the status of the response that a page shows."""
    found = re.search(r'role="status"><span class="status \w+">(\d+)<', page)
    return found[1] if found else ""


def test_every_operation_has_a_page(browser: httpx.Client) -> None:
    """The list leads to a page for each operation."""
    listed = re.findall(r'href="/reference/(\w+)"', browser.get("/reference").text)
    assert sorted(listed) == sorted(OPERATIONS)
    assert {browser.get(f"/reference/{name}").status_code for name in listed} == {200}


def test_a_search_narrows_the_list(browser: httpx.Client) -> None:
    """Every word has to occur in the method, the path, the summary or the family."""
    page = browser.get("/reference", params={"q": "delete note"}).text
    assert re.findall(r'href="/reference/(\w+)"', page) == ["deleteNote"]


def test_an_unknown_operation_is_a_404(browser: httpx.Client) -> None:
    """The page of an operation that does not exist says so."""
    assert browser.get("/reference/createMoney").status_code == 404


@pytest.mark.parametrize(
    "operation",
    [
        *("createContact", "createAccountVault", "createTransaction", "createToken", "createQuickInvoice"),
        *("createPaylink", "createTag", "createNote", "createPostbackConfig", "createRouterTransaction"),
        *("createLocation", "createTerminal", "createUser", "createUserRole", "createHostedPaymentPage"),
    ],
)
def test_a_form_is_filled_in_with_a_valid_request(browser: httpx.Client, operation: str) -> None:
    """A form can be sent as it is, right after the start."""
    assert status_of(send(browser, operation)) == "201"


def test_a_form_names_the_newest_record(browser: httpx.Client) -> None:
    """The forms of a record's operations name the record that was created last."""
    send(browser, "createTag")
    assert [status_of(send(browser, name)) for name in ("getTag", "updateTag", "deleteTag")] == ["200", "200", "204"]


def test_a_hosted_form_is_signed(browser: httpx.Client) -> None:
    """The reference signs what only a hash key allows."""
    assert status_of(send(browser, "showPaymentForm")) == "200"


def test_a_sent_request_is_in_the_log(browser: httpx.Client) -> None:
    """A request of the reference is logged like that of a program."""
    send(browser, "listContacts")
    assert "/v2/contacts" in html.unescape(browser.get("/").text)


def test_each_request_in_the_log_has_its_own_number(sandbox: Sandbox, browser: httpx.Client) -> None:
    """A request of the reference does not hide that of a program."""
    browser.get("/v2/nothing")
    send(browser, "listContacts")
    numbers = re.findall(r'href="/requests/(\d+)"', browser.get("/").text)
    assert len(set(numbers)) == len(numbers) >= 2


def test_planned_faults_do_not_apply(sandbox: Sandbox, browser: httpx.Client) -> None:
    """A fault waits for a program: the reference has no connection that could break."""
    sandbox.fault("POST /v2/contacts", "reset_after_commit")
    assert status_of(send(browser, "createContact")) == "201"
    assert [plan["affected"] for plan in sandbox.faults()] == [0]


def test_texts_of_records_stay_text(browser: httpx.Client) -> None:
    """Markup in a record, and in what was typed, is shown and not executed."""
    script = "<script>alert(1)</script>"
    page = send(browser, "createContact", **{"query.expand": f'">{script}'})
    assert script not in page
    assert html.escape(script) in page


def test_a_path_needs_its_id(browser: httpx.Client) -> None:
    """Without an id no request is sent, and the form says what is missing."""
    page = send(browser, "getContact", **{"path.id": ""})
    assert "id: required." in page
    assert status_of(page) == ""


def test_an_id_is_encoded(browser: httpx.Client) -> None:
    """An id with a slash or a question mark stays a part of the path."""
    assert status_of(send(browser, "getContact", **{"path.id": "a/../b?c=ü"})) == "404"


def test_secrets_are_not_shown(sandbox: Sandbox, browser: httpx.Client) -> None:
    """No page has a key, the password, or a token that was just created."""
    pages = [send(browser, name) for name in ("createToken", "listUsers", "listLocations", "createPostbackConfig")]
    pages += [browser.get("/reference").text, browser.get("/openapi.json").text]
    info = sandbox.info
    for page in pages:
        for secret in (info.user_api_key, info.user_hash_key, info.password, info.developer_id):
            assert secret not in page
    assert re.search(r'"token": "[0-9a-f]+"', html.unescape(pages[0])) is None


def test_a_form_needs_its_token(browser: httpx.Client) -> None:
    """A form of another site has no token, and nothing is sent."""
    assert browser.post("/reference/createContact", data={"body": "{}"}).status_code == 403
