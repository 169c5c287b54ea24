"""URLs of hosted payment pages: a vector of another program, the rows of the documents, and the sandbox's page."""

import sys
from base64 import b64decode, b64encode
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gateway_async import InvalidRequestError, Secret
from gateway_async.hosted_forms import HostedPage, hosted_page_url, read_hosted_page_url

BASE, PAGE, KEY = "https://api.example.test", "11e8c3d4e5f6a7b8c9d0e1f2", "0123456789abcdef0123456789abcdef"
SALT = bytes(range(1, 9))
AMOUNT = {"id": "transaction_amount", "value": Decimal("12.5"), "readonly": True}
SETTINGS: dict[str, Any] = {"field_configuration": {"body": {"fields": [AMOUNT]}}, "redirect_url_delay": 5}
ENCRYPTED = (
    "oUXEyTKNQvy1lwwdN9ug9WQbC7hEnDBVwKar5NbXPptaXAAJr/1sCU6UDOCvbur1wB1x1bfURglXAfHQCQNEwXBF4w712g5vUkhlEEQflJwUgnneA"
    "+nIJosFTQX21PjJEkOqhDXRIXElv8FPBOZFTE/BSCIYboDp4G9mzxPxNM0n/sBr8uSAxsHKI1Nhl5Sd"
)
"""By `openssl enc -aes-256-cbc -md md5 -S 0102030405060708 -pass pass:… -base64` of the JSON, without the salt."""


def page_url(settings: Any = SETTINGS, **changes: Any) -> str:
    options: dict[str, Any] = {"base_url": BASE, "page_id": PAGE, "encryption_key": KEY, **changes}
    return hosted_page_url(options.pop("base_url"), options.pop("page_id"), settings, **options)


def with_field(**field: Any) -> dict[str, Any]:
    """Return settings with one field of the page's body."""
    return {"field_configuration": {"body": {"fields": [field]}}}


def problems_of(settings: Any = SETTINGS, **changes: Any) -> tuple[str, ...]:
    """Return the problems of a URL that cannot be made."""
    with pytest.raises(InvalidRequestError) as caught:
        page_url(settings, **changes)
    return caught.value.problems


def test_a_page() -> None:
    """The URL is that of the documents, with data that another program encrypted."""
    parts = urlsplit(page_url(salt=SALT))
    params = parse_qs(parts.query)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{BASE}/hostedpaymentpage"
    assert params == {"id": [PAGE], "data": [b64encode(b"Salted__" + SALT + b64decode(ENCRYPTED)).decode()]}
    assert "developer-id=dev-1" in page_url(developer_id="dev-1")


def test_salt() -> None:
    """Two URLs with the same settings are different, and have the same content."""
    one, two = page_url(), page_url()
    assert one != two
    assert read_hosted_page_url(one, encryption_key=KEY) == read_hosted_page_url(two, encryption_key=Secret(KEY))


def test_url() -> None:
    """The content is that of the URL; the repr shows no values."""
    page = read_hosted_page_url(page_url(developer_id="dev-1"), encryption_key=KEY)
    settings = with_field(id="transaction_amount", value="12.50", readonly=True) | {"redirect_url_delay": 5}
    assert page == HostedPage(PAGE, "dev-1", settings)
    assert "12.50" not in repr(page)


SETTINGS_TRIED: list[dict[str, Any]] = [
    {},
    {"stylesheet_url": "s" * 256, "redirect_url_on_approve": "a" * 256, "redirect_url_on_decline": "d" * 256},
    {"parent_send_message": True, "redirect_url_delay": 15},
    {"parent_send_message": "true"},
    with_field(id="tax", readonly="true", visible="false"),
    {"min_payment_amount": 1, "max_payment_amount": Decimal(100)},
    with_field(id="transaction_api_id", value="order-1001", visible=False),
    with_field(id="account_holder_name", label="Your name", visible=True),
    {"field_configuration": {"header": {"fields": [{"id": "title", "value": "Tea"}]}}},
    with_field(id="action", value="authonly", visible=False),
]


def test_settings() -> None:
    """Each documented setting is accepted up to its documented length."""
    for settings in SETTINGS_TRIED:
        assert list(read_hosted_page_url(page_url(settings), encryption_key=KEY).settings) == list(settings)


UNSENDABLE: list[tuple[dict[str, Any], str]] = [
    ({"stylesheet_url": "s" * 257}, "stylesheet_url: must have at most 256 characters, not 257"),
    ({"redirect_url_on_approve": "a" * 257}, "redirect_url_on_approve: must have at most 256 characters, not 257"),
    ({"redirect_url_on_decline": "d" * 257}, "redirect_url_on_decline: must have at most 256 characters, not 257"),
    ({"redirect_url_on_approval": "a"}, "redirect_url_on_approval: is a setting of payform and accountform only"),
    ({"show_cvv": 1}, "show_cvv: is a setting of payform only"),
    ({"redirect_url_delay": 16}, "redirect_url_delay: must be at most 15 seconds"),
    ({"parent_send_message": 2}, 'parent_send_message: must be True, False, 1, 0, "true" or "false"'),
    ({"min_payment_amount": 1.5}, "min_payment_amount: must be a Decimal, an int or a str, never a float"),
    ({"max_payment_amount": "1.005"}, "max_payment_amount: has more than two decimals"),
    ({"account_number": "4111111111111111"}, "account_number: must not be in a URL; it is entered on the form"),
    ({"field_configuration": []}, "field_configuration: must be a mapping"),
    (
        {"field_configuration": {"footer": {}}},
        "field_configuration.footer: is not a part of a page (expected header or body)",
    ),
    ({"field_configuration": {"body": {"fields": {}}}}, "field_configuration.body.fields: must be a list"),
    (
        {"field_configuration": {"body": {"fields": [], "title": ""}}},
        "field_configuration.body.title: is unknown (expected fields)",
    ),
    ({"field_configuration": {"header": {"fields": [1]}}}, "field_configuration.header.fields[0]: must be a mapping"),
    (with_field(value="x"), "field_configuration.body.fields[0].id: must be the name of a field"),
    (with_field(id="tax", value=1.5), "field_configuration.body.fields[0].value: tax: must be a Decimal, an int"),
    (with_field(id="order_num", value=1.5), "field_configuration.body.fields[0].value: order_num: must not be a float"),
    (with_field(id="tax", lable=""), "field_configuration.body.fields[0].lable: is unknown (expected id, value"),
    (with_field(id="tax", label=1), "field_configuration.body.fields[0].label: must be text"),
    (with_field(id="tax", visible="no"), "field_configuration.body.fields[0].visible: must be True, False, 1, 0,"),
    (with_field(id="tax", readonly=2), "field_configuration.body.fields[0].readonly: must be True, False, 1, 0,"),
]


def test_unsendable() -> None:
    """The problem names the setting or the field that cannot be sent."""
    for settings, problem in UNSENDABLE:
        (line,) = problems_of(settings)
        assert line.startswith(problem)


@pytest.mark.parametrize("name", ["account_number", "exp_date", "cvv", "account_holder_name"])
def test_account(name: str) -> None:
    """The gateway takes no values of account fields from a URL."""
    assert problems_of(with_field(id=name, value="x")) == (
        f"field_configuration.body.fields[0].value: {name} can only be entered on the page",
    )


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"base_url": f"{BASE}/v2"}, "base_url: leave /v2 out"),
        ({"page_id": ""}, "page_id: must be printable"),
        ({"encryption_key": ""}, "encryption_key: must be printable"),
        ({"developer_id": ""}, "developer_id: must be printable"),
        ({"salt": b"short"}, "salt: must be 8 bytes"),
    ],
)
def test_arguments_are_checked_like_those_of_a_form(changes: dict[str, Any], problem: str) -> None:
    (line,) = problems_of(**changes)
    assert line.startswith(problem)


@pytest.mark.parametrize(
    "data",
    ["", "x", b64encode(b"Salted__").decode(), b64encode(b"Salted__" + SALT + b"x" * 15).decode(), ENCRYPTED],
    ids=["empty", "no base64", "no salt", "part of a block", "without its salt"],
)
def test_the_error_of_unreadable_data_does_not_quote_it(data: str) -> None:
    with pytest.raises(InvalidRequestError, match="data: is not the data of a page"):
        read_hosted_page_url(f"{BASE}/hostedpaymentpage?id={PAGE}&data={data}", encryption_key=KEY)


def test_other_key() -> None:
    """The message names neither key nor data."""
    with pytest.raises(InvalidRequestError) as caught:
        read_hosted_page_url(page_url(salt=SALT), encryption_key="f" * 32)
    assert caught.value.problems == ("data: is not the data of a page, or was encrypted with another key",)
    with pytest.raises(InvalidRequestError, match="encryption_key: must be printable"):
        read_hosted_page_url(page_url(), encryption_key="")


@pytest.mark.parametrize("url", ["", None, f"{BASE}/v2/payform?id=x&data=y"])
def test_only_urls_of_a_hosted_page_are_read(url: Any) -> None:
    with pytest.raises(InvalidRequestError, match="url: must be the URL of a hosted page"):
        read_hosted_page_url(url, encryption_key=KEY)


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.padding", None)
    with pytest.raises(ImportError, match=r"pip install 'gateway-async\[hosted-pages\]'"):
        page_url()
