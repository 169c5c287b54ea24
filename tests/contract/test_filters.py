"""Every column of a record filters and sorts its list, derived ones too, through raw HTTP and through the SDK."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway_async import Page
from gateway_async.sandbox import Sandbox
from gateway_async.sandbox.routes import ROUTES

from . import calls
from .raw_client import RawClient
from .sides import SdkSide
from .strategies import CREATED

SALE_TAGS = {"tags": ["vip", "tea"]}
OWN: dict[str, Callable[[RawClient], object]] = {
    "/v2/transactions": lambda raw_client: raw_client.sale(**SALE_TAGS),
    "/v2/users": calls.user,
    "/v2/locationinfos": lambda _: None,
}
"""How a record with more fields than the usual one is created."""

RELATIONS = {
    "/v2/locationinfos": {"branding_domain", "product_transactions", "product_file", "product_accountvault"}
    | {"product_recurring", "terminals", "tags"},
    "/v2/deviceterms": {"signature"},
    "/v2/users": {"user_api_key", "user_hash_key"},
}
"""Relations in the records of a list, and keys, which are always null."""

DOCUMENTED = {
    "/v2/signatures": {"created_ts", "modified_ts", "resource", "resource_id"},
    "/v2/deviceterms": {"id", "location_id", "terminal_id", "device_terms_api_id", "reason_code_id"}
    | {"created_ts", "created_user_id"},
}
"""The lists whose filters are documented one by one."""

LISTS = [path for path, handlers in ROUTES.items() if path.startswith("/v2/") and "{" not in path and "GET" in handlers]
LISTS.remove("/v2/users/me")


@pytest.fixture(scope="module")
def columns(raw_client: RawClient) -> Callable[[str], dict[str, Any]]:
    """Return the columns of a list with their values in a new record, without relations."""

    def read(path: str) -> dict[str, Any]:
        OWN.get(path, CREATED.get(path, OWN["/v2/locationinfos"]))(raw_client)
        (records,) = (found for name, found in raw_client.http.get(path).json().items() if name != "meta")
        return {name: value for name, value in records[0].items() if name not in {"_links", *RELATIONS.get(path, ())}}

    return read


@pytest.mark.parametrize("path", LISTS)
def test_every_column_sorts_in_both_directions(
    raw_client: RawClient, columns: Callable[[str], dict[str, Any]], path: str
) -> None:
    for name in columns(path):
        for sort in (name, f"-{name}"):
            response = raw_client.http.get(path, params={"sort": sort})
            assert response.status_code == 200, (sort, response.text)
            assert response.json()["meta"]["sort"]["attributes"] == {name: "desc" if sort.startswith("-") else "asc"}


@pytest.mark.parametrize("path", LISTS)
def test_filters(raw_client: RawClient, columns: Callable[[str], dict[str, Any]], path: str) -> None:
    """The record is found by the value of every column; a list with documented filters has no others."""
    record = columns(path)
    for name, value in record.items():
        if name in DOCUMENTED.get(path, record) and value is not None:
            response = raw_client.http.get(path, params={name: _as_filter(value), "page_size": 5000})
            assert response.status_code == 200, (name, response.text)
            (found,) = (found for key, found in response.json().items() if key != "meta")
            assert record["id"] in [each["id"] for each in found], name
            assert all(each[name] == value for each in found if not isinstance(value, str | list | dict)), name
        elif name not in DOCUMENTED.get(path, record):
            assert raw_client.http.get(path, params={name: "1"}).status_code == 422, name


def _as_filter(value: Any) -> str:
    match value:
        case bool():
            return str(int(value))
        case [{"title": title}, *_]:
            return str(title)
        case list() | dict():
            return ""
        case _:
            return str(value)


TYPED = {
    "contacts": ("header_message_type", "header_message_type_id"),
    "account_vaults": ("expiring_in_months", "exp_date"),
    "quick_invoices": ("is_active", "active", "tags"),
    "transactions": ("tags", "verbiage"),
    "locations": ("zip_code",),
    "paylinks": ("active",),
}
"""Resource → columns that its model knows."""


def test_sdk_columns(sides: dict[str, Any]) -> None:
    """The SDK lets each column through as a filter and as an order; the strict gateway accepts both."""
    sdk: SdkSide = sides["SDK"]

    async def read() -> None:
        for resource, names in TYPED.items():
            for name in names:
                assert isinstance(await getattr(sdk.gateway, resource).list({name: "1"}, sort=f"-{name}"), Page)

    sdk.portal.call(read)


EXPIRY = {"0130": 6, "0729": 0, "0129": 0, "0830": 13}
"""Expiry → months from July 2029."""


@pytest.fixture
def july(sandbox: Sandbox, raw_client: RawClient) -> Iterator[None]:
    """Set the clock to July 2029 without any records, and back."""
    raw_client.reset()
    sandbox.set_clock(1_878_120_000)
    yield
    raw_client.reset()


@pytest.mark.usefixtures("july")
def test_expiring_months(raw_client: RawClient, sandbox: Sandbox) -> None:
    """The months until an expiry count from the current one, also after the clock moved; a bank account has none."""
    months = {raw_client.vault(exp_date=expiry)["id"]: left for expiry, left in EXPIRY.items()}
    bank = {"payment_method": "ach", "account_number": "100020003000", "routing": "072000326", "is_company": 0}
    raw_client.vault(**bank, account_type="checking", account_holder_name="Ada", exp_date=...)
    for wanted in {*months.values(), 99}:
        found = raw_client.http.get("/v2/accountvaults", params={"expiring_in_months": wanted}).json()["accountvaults"]
        assert {vault["id"] for vault in found} == {each for each, left in months.items() if left == wanted}
    listed = raw_client.http.get("/v2/accountvaults", params={"sort": "-expiring_in_months"}).json()["accountvaults"]
    assert [vault["expiring_in_months"] for vault in listed] == [13, 6, 0, 0, None]
    some = raw_client.http.get("/v2/accountvaults", params={"expiring_in_months": "6,13"}).json()["accountvaults"]
    assert len(some) == 2
    sandbox.advance(31 * 24 * 60 * 60)
    moved = raw_client.http.get("/v2/accountvaults", params={"sort": "-expiring_in_months"}).json()["accountvaults"]
    assert [vault["expiring_in_months"] for vault in moved] == [12, 5, 0, 0, None]
