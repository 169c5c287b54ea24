"""Hosted payment pages, row by row: their records on both sides, and the page that a URL of the SDK opens."""

from base64 import b64decode, b64encode
from decimal import Decimal
from typing import Any

import httpx
import pytest

from gateway_async.hosted_forms import hosted_page_url
from gateway_async.sandbox import Sandbox
from tests.support import plain_http

from .raw_client import RawClient
from .sides import SdkSide

PATH, WRAPPER = "/v2/hostedpaymentpages", "hostedpaymentpage"
KEY = "0123456789abcdef0123456789abcdef"
ENCRYPTED = (
    "oUXEyTKNQvy1lwwdN9ug9WQbC7hEnDBVwKar5NbXPptaXAAJr/1sCU6UDOCvbur1wB1x1bfURglXAfHQCQNEwXBF4w712g5vUkhlEEQflJwUgnneA"
    "+nIJosFTQX21PjJEkOqhDXRIXElv8FPBOZFTE/BSCIYboDp4G9mzxPxNM0n/sBr8uSAxsHKI1Nhl5Sd"
)
"""By `openssl enc -aes-256-cbc -md md5 -S 0102030405060708 -pass pass:… -base64` of 12.50 and other settings."""
SALTED = b64encode(b"Salted__" + bytes(range(1, 9)) + b64decode(ENCRYPTED)).decode()
API_ID = {"id": "transaction_api_id", "value": "<b>order-1001", "visible": False}


def page(raw_client: RawClient, **fields: Any) -> dict[str, Any]:
    return raw_client.made(PATH, WRAPPER, **{"title": "Tea", "encryption_key": KEY} | fields)


def with_fields(*fields: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with fields of the page's body."""
    return {"field_configuration": {"body": {"fields": list(fields)}}}


def amount(value: Any, **more: Any) -> dict[str, Any]:
    """Return the settings of a page over an amount."""
    return with_fields({"id": "transaction_amount", "value": value, "readonly": True}) | more


def opened(sandbox: Sandbox, page_id: str, settings: dict[str, Any], **options: Any) -> httpx.Response:
    """Open the URL that the SDK makes."""
    return plain_http.get(hosted_page_url(sandbox.base_url, page_id, settings, encryption_key=KEY, **options))


def fields_refused(response: httpx.Response) -> list[str]:
    """Return the names in a refusal."""
    assert response.status_code == 422, response.text
    return list(response.json()["errors"])


def test_page(raw_client: RawClient, sides: dict[str, Any]) -> None:
    """Both sides see the same record; its key is made by the gateway if it is omitted."""
    sdk: SdkSide = sides["SDK"]
    pages = sdk.gateway.resource("hostedpaymentpages", name="hostedpaymentpage")
    new = {"title": "Tea", "location_id": raw_client.info.location_id, "min_payment_amount": Decimal(1)}
    made = sdk.portal.call(pages.create, new)
    shown = raw_client.http.get(f"{PATH}/{made.id}").json()[WRAPPER]
    assert len(shown["encryption_key"]) == 32
    assert (shown["min_payment_amount"], shown["action"]) == ("1.00", "sale")
    read = sdk.portal.call(pages.get, made.id)
    listed = sdk.portal.call(pages.list({"title": "Tea"}, page_size=1).to_list, 1)
    assert {each["encryption_key"].reveal() for each in (read, *listed)} == {shown["encryption_key"]}
    assert raw_client.http.get(PATH).json()[PATH[4:]][0]["id"] == made.id


def test_expands(raw_client: RawClient) -> None:
    """Each documented relation is part of the response."""
    path = f"{PATH}/{page(raw_client)['id']}"
    for name in ("location", "created_user", "modified_user", "product_transaction"):
        assert raw_client.http.get(path, params={"expand": name}).json()[WRAPPER][name]["id"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"title": ""}, "title"),
        ({"location_id": None}, "location_id"),
        ({"stylesheet_url": "s" * 257}, "stylesheet_url"),
        ({"redirect_url_on_approve": "a" * 257}, "redirect_url_on_approve"),
        ({"redirect_url_on_decline": "d" * 257}, "redirect_url_on_decline"),
        ({"redirect_url_delay": 16}, "redirect_url_delay"),
        ({"encryption_key": "short"}, "encryption_key"),
        ({"parent_send_message": 2}, "parent_send_message"),
        ({"action": "void"}, "action"),
    ],
)
def test_refusals(raw_client: RawClient, fields: dict[str, Any], name: str) -> None:
    """The problem of a refused page is that of the field."""
    new = {"location_id": raw_client.info.location_id, "title": "Tea"} | fields
    assert fields_refused(raw_client.post(PATH, WRAPPER, new)) == [name]


def test_shown_page(sandbox: Sandbox, raw_client: RawClient) -> None:
    """The developer id is optional, and the page escapes what it shows."""
    page_id = page(raw_client)["id"]
    fields = amount(Decimal("12.5"))["field_configuration"]["body"]["fields"]
    for options in ({}, {"developer_id": raw_client.info.developer_id}):
        response = opened(sandbox, page_id, with_fields(*fields, API_ID), **options)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert all(text in response.text for text in ("12.50", "&lt;b&gt;order-1001", "<dd>sale</dd>"))
    assert opened(sandbox, page_id, {}, developer_id="another").status_code == 401


def test_openssl_data(sandbox: Sandbox, raw_client: RawClient) -> None:
    """Key and format are those of OpenSSL; without data the page shows its own settings; garbage is a 400."""
    params = {"id": page(raw_client)["id"], "data": SALTED}
    assert "12.50" in plain_http.get(f"{sandbox.base_url}/hostedpaymentpage", params=params).text
    response = plain_http.get(f"{sandbox.base_url}/hostedpaymentpage", params={"id": params["id"]})
    assert (response.status_code, "12.50" in response.text) == (200, False)
    for data in ("", "x", SALTED[:-4], b64encode(b"x" * 48).decode()):
        response = plain_http.get(f"{sandbox.base_url}/hostedpaymentpage", params=params | {"data": data})
        assert response.status_code == 400


def test_unknown_page(sandbox: Sandbox, raw_client: RawClient) -> None:
    """Its id is required; the key of another page does not open a page."""
    url = f"{sandbox.base_url}/hostedpaymentpage"
    assert [plain_http.get(url).status_code, plain_http.get(f"{url}?id={'f' * 24}").status_code] == [404, 404]
    other = page(raw_client, encryption_key="f" * 32)["id"]
    assert opened(sandbox, other, amount("12.50")).status_code == 400


def test_hidden_action(sandbox: Sandbox, raw_client: RawClient) -> None:
    """A hidden action replaces that of the page, which applies without it."""
    page_id = page(raw_client, action="authonly")["id"]
    assert "<dd>authonly</dd>" in opened(sandbox, page_id, {}).text
    for invisible in (False, "false", "0"):
        hidden = {"id": "action", "value": "avsonly", "visible": invisible}
        assert "<dd>avsonly</dd>" in opened(sandbox, page_id, with_fields(hidden)).text
    shown = {"id": "action", "value": "avsonly", "visible": "true"}
    assert fields_refused(opened(sandbox, page_id, with_fields(shown))) == ["action"]


def test_refused_settings(sandbox: Sandbox, raw_client: RawClient) -> None:
    """A field that is not on the page must be hidden, and the amount must be within the limits."""
    page_id = page(raw_client)["id"]
    assert fields_refused(opened(sandbox, page_id, with_fields({"id": "order_num", "value": "1"}))) == ["order_num"]
    for beyond in (amount("0.99", min_payment_amount="1.00"), amount("100.01", max_payment_amount=100)):
        assert fields_refused(opened(sandbox, page_id, beyond)) == ["transaction_amount"]
    fields = with_fields({"id": "description"}, {"id": "transaction_amount", "value": "5.00"})
    configured = page(raw_client, **fields)["id"]
    response = opened(sandbox, configured, with_fields({"id": "description", "value": "Rent"}))
    assert (response.status_code, "5.00" in response.text) == (200, True)
    other = opened(sandbox, configured, with_fields({"id": "billing_zip", "value": "1"}))
    assert fields_refused(other) == ["billing_zip"]
