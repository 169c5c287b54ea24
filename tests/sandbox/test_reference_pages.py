"""The API reference: what its viewer is given, and that its requests are valid as they stand."""

import json
import re
from html import unescape
from typing import Any

import httpx

from gateway_async.sandbox import Sandbox


def operation_of(browser: httpx.Client, operation_id: str) -> tuple[str, str, dict[str, Any]]:
    """Return the method, the path and the content of an operation, as the viewer loads it."""
    for path, item in browser.get("/reference/openapi.json").json()["paths"].items():
        for method, operation in item.items():
            if operation["operationId"] == operation_id:
                return method.upper(), path, operation
    raise AssertionError(operation_id)


def credentials_of(browser: httpx.Client) -> dict[str, str]:
    """Return the headers that the viewer sends, from the names of the security schemes."""
    found = re.search('data-credentials="([^"]*)"', browser.get("/reference").text)
    assert found
    schemes = browser.get("/openapi.json").json()["components"]["securitySchemes"]
    return {schemes[name]["name"]: value for name, value in json.loads(unescape(found[1])).items()}


def execute(browser: httpx.Client, operation_id: str) -> httpx.Response:
    """Send an operation as the viewer does when nothing is filled in."""
    method, path, operation = operation_of(browser, operation_id)
    examples: dict[str, dict[str, str]] = {"path": {}, "query": {}}
    for each in operation["parameters"]:
        if "example" in each:
            examples[each["in"]][each["name"]] = each["example"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
    headers = credentials_of(browser)
    return browser.request(
        method, path.format_map(examples["path"]), params=examples["query"], headers=headers, json=body
    )


CREATED = (
    *("createContact", "createAccountVault", "createTransaction", "createToken", "createQuickInvoice"),
    *("createPaylink", "createTag", "createNote", "createPostbackConfig", "createRouterTransaction"),
    *("createLocation", "createTerminal", "createUser", "createUserRole", "createHostedPaymentPage"),
)


def test_examples(sandbox: Sandbox, browser: httpx.Client) -> None:
    """Each operation can be executed as it is, right after the start."""
    for operation in CREATED:
        sandbox.reset()
        assert execute(browser, operation).status_code == 201, operation


def test_an_operation_names_the_newest_record(browser: httpx.Client) -> None:
    execute(browser, "createTag")
    assert [execute(browser, name).status_code for name in ("getTag", "updateTag", "deleteTag")] == [200, 200, 204]


def test_secrets(sandbox: Sandbox, browser: httpx.Client) -> None:
    """The document for tools has no credentials, and the viewer has no key that signs."""
    info = sandbox.info
    document, page = browser.get("/openapi.json").text, browser.get("/reference").text
    for secret in (info.user_api_key, info.user_hash_key, info.password, info.developer_id):
        assert secret not in document
    assert info.user_hash_key not in page + browser.get("/reference/openapi.json").text


def test_caching(browser: httpx.Client) -> None:
    """No cache keeps the page with credentials, nor the document with ids; the viewer has a signature of its own."""
    for path in ("/reference", "/reference/openapi.json"):
        assert browser.get(path).headers["cache-control"] == "no-store"
    assert execute(browser, "showPaymentForm").status_code == 200  # which a hash key alone allows
