"""Postback configs: required values, the form of responses, and secrets that are not shown."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from gateway_async.sandbox import Sandbox

from .conftest import Errors, Record, Shop

PATH = "/v2/postbackconfigs"
RESOURCES = ("contact", "transaction", "transactionbatch", "accountvault")
Create = Callable[..., httpx.Response]


@pytest.fixture
def configure(shop: Shop) -> Create:
    """Create a config, for contacts by default; `...` leaves a field out."""

    def create(query: Record | None = None, **fields: Any) -> httpx.Response:
        config = {"location_id": shop.info.location_id, "resource": "contact", "url": "https://127.0.0.1/receiver"}
        config = {name: value for name, value in (config | fields).items() if value is not ...}
        return shop.post("postbackconfig", PATH, config, **(query or {}))

    return create


def test_defaults(configure: Create) -> None:
    """The defaults are `api-default`, one attempt and 300 seconds; active, with every switch off."""
    config = configure().json()["postbackconfig"]
    assert (config["format"], config["number_of_attempts"], config["attempt_interval"]) == ("api-default", 1, 300)
    assert [config[name] for name in ("is_active", "on_create", "on_update", "on_delete")] == [1, 0, 0, 0]
    assert (config["expands"], config["product_transaction_id"]) == (None, None)


def test_flags(shop: Shop, configure: Create) -> None:
    """A flag has the type in which it was sent, then and later."""
    for spelling in (1, "1", True, 0, "0", False):
        for flag in ["on_create", "on_update", "on_delete", "is_active"]:
            config = configure(**{flag: spelling}).json()["postbackconfig"]
            changed = shop.put("postbackconfig", f"{PATH}/{config['id']}", {"expands": ""}).json()["postbackconfig"]
            for one in (config, changed):
                assert (type(one[flag]), one[flag]) == (type(spelling), spelling)


@pytest.mark.parametrize("resource", RESOURCES)
def test_resources(shop: Shop, configure: Create, errors: Errors, resource: str) -> None:
    """Four can be watched; transactions and batches need a merchant account that exists."""
    product = {"product_transaction_id": shop.info.ach_product_transaction_id}
    assert configure(resource=resource, **product).status_code == 201
    if resource.startswith("transaction"):
        blank = {"product_transaction_id": ["Product Transaction Id cannot be blank."]}
        assert errors(configure(resource=resource)) == blank
    unknown = {"product_transaction_id": ["product_transaction_id provided is not valid"]}
    assert errors(configure(resource=resource, product_transaction_id="nowhere")) == unknown


WRONG: dict[str, list[object]] = {
    "resource": ["paylink", "Contact", "", ...],
    "url": [
        *("ftp://127.0.0.1/", "127.0.0.1/receiver", "https://", "https://127.0.0.1:port/", "https://[::1/"),
        *("https://127.0.0.1/a b", "https://127.0.0.1/\r\nx: y", "", ...),
    ],
    "location_id": [...],
    "on_create": [2],
    "on_delete": ["yes"],
    "is_active": [1.0],
    "format": ["json"],
    "number_of_attempts": [0, 101, -1],
    "attempt_interval": [86_401, "soon"],
    "expands": ["contact,nothing"],
    "basic_auth_username": ["a:b"],
    "basic_auth_password": [7],
    "created_ts": [1],
}
RIGHT: dict[str, list[object]] = {
    "url": ["http://127.0.0.1:8080/receiver?key=1"],
    "number_of_attempts": [1, 100],
    "attempt_interval": [0, 299, 86_400],  # shorter than in production
    "format": ["api-default"],
    "expands": ["location,tags,changelogs"],
}


def test_values(configure: Create, errors: Errors) -> None:
    """Bounds are included; a 422 names only the invalid field."""
    for field, value in ((field, value) for field, values in WRONG.items() for value in values):
        assert list(errors(configure(**{field: value}))) == [field]
    for field, value in ((field, value) for field, values in RIGHT.items() for value in values):
        response = configure(**{field: value})
        assert (response.status_code, response.json()["postbackconfig"][field]) == (201, value)


def test_change(shop: Shop, sandbox: Sandbox, configure: Create, errors: Errors) -> None:
    """A PUT may have some fields; the rules apply to the whole config."""
    sandbox.set_clock(4_000_000_000)
    config = configure(number_of_attempts=3).json()["postbackconfig"]
    sandbox.set_clock(4_000_000_060)
    path = f"{PATH}/{config['id']}"
    changed = shop.put("postbackconfig", path, {"is_active": "0", "url": "http://127.0.0.1/"})
    expected = config | {"is_active": "0", "url": "http://127.0.0.1/", "modified_ts": config["modified_ts"] + 60}
    assert (changed.status_code, changed.json()["postbackconfig"]) == (200, expected)
    assert list(errors(shop.put("postbackconfig", path, {"resource": "transaction"}))) == ["product_transaction_id"]
    assert list(errors(shop.put("postbackconfig", path, {"url": None}))) == ["url"]
    assert list(errors(shop.put("postbackconfig", path, {"location_id": "other"}))) == ["location_id"]
    assert shop.put("postbackconfig", path, changed.json()["postbackconfig"]).status_code == 200


def test_credentials_are_shown_by_expand_only(shop: Shop, configure: Create) -> None:
    secret = {"basic_auth_username": "shop", "basic_auth_password": "planted"}
    made = configure(**secret)
    path = f"{PATH}/{made.json()['postbackconfig']['id']}"
    assert "planted" not in made.text
    assert "basic_auth" not in shop.put("postbackconfig", path, {"is_active": 1}).text
    shown = shop.put("postbackconfig", path, {}, expand=",".join(secret)).json()["postbackconfig"]
    assert {name: shown[name] for name in secret} == secret
    assert configure({"expand": "basic_auth_password"}).json()["postbackconfig"]["basic_auth_password"] is None
