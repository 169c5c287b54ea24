"""Lists: pages, order and filters, and the invalid queries that they refuse."""

from typing import Any

import pytest

from gateway_async.sandbox import Sandbox

from .conftest import Errors, Record, Shop


@pytest.fixture
def seven(shop: Shop) -> list[Record]:
    """Create seven payments of 1.00 to 7.00, with the api ids t1 to t7."""
    return [shop.paid(f"{n}.00", transaction_api_id=f"t{n}") for n in range(1, 8)]


def payments(shop: Shop, **query: Any) -> list[str]:
    """Return the api ids of the payments that a query finds, in their order."""
    response = shop.get("/v2/transactions", **query)
    assert response.status_code == 200, response.text
    return [one["transaction_api_id"] for one in response.json()["transactions"]]


@pytest.mark.usefixtures("seven")
def test_meta(shop: Shop) -> None:
    """The requested page is 1-based, currentPage 0-based, and links name the pages."""
    meta = shop.get("/v2/transactions", page_size=3, sort="transaction_amount").json()["meta"]
    url = f"{shop.info.base_url}/v2/transactions?page_size=3&sort=transaction_amount&page="
    assert meta == {
        "pagination": {
            "links": {name: {"href": f"{url}{n}"} for name, n in (("self", 1), ("next", 2), ("last", 3))},
            "totalCount": 7,
            "pageCount": 3,
            "currentPage": 0,
            "perPage": 3,
        },
        "sort": {"attributes": {"transaction_amount": "asc"}},
    }


def test_pages(shop: Shop) -> None:
    """The default order is by id, descending, and a page has 20 records, at most 5000; beyond the end it is empty."""
    empty = shop.get("/v2/transactions").json()["meta"]["pagination"]
    assert (empty["totalCount"], empty["pageCount"], empty["perPage"]) == (0, 0, 20)
    assert shop.get("/v2/contacts", page_size=9999).json()["meta"]["pagination"]["perPage"] == 5000
    for number in range(7):
        shop.pay(transaction_api_id=f"t{number}")
    assert [payments(shop, page_size=3, page=n) for n in (1, 2, 3)] == [["t6", "t5", "t4"], ["t3", "t2", "t1"], ["t0"]]
    last = shop.get("/v2/transactions", page_size=3, page=3).json()
    assert list(last["meta"]["pagination"]["links"]) == ["self"]
    for page in (4, 10**14):
        body = shop.get("/v2/transactions", page_size=3, page=page).json()
        assert (body["transactions"], body["meta"]["pagination"]["totalCount"]) == ([], 7)
        assert body["meta"]["pagination"]["pageCount"] == 3


FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({"transaction_api_id": "t3"}, ["t3"]),
    ({"transaction_api_id": "T"}, ["t7", "t6", "t5", "t4", "t3", "t2", "t1"]),
    ({"transaction_api_id": "t3,t5"}, []),
    ({"status_id": "101"}, ["t7", "t6", "t4", "t3", "t2", "t1"]),
    ({"status_id": "301,101", "sort": "id"}, ["t1", "t2", "t3", "t4", "t5", "t6", "t7"]),
    ({"transaction_amount": "2.00|4.00"}, ["t4", "t3", "t2"]),
    ({"transaction_amount": "2"}, ["t2"]),
    ({"transaction_amount": "2.00,3.00"}, ["t3", "t2"]),
    ({"verbiage": "den"}, ["t5"]),
    ({"verbiage": "appr", "transaction_amount": "1.00"}, ["t1"]),
    ({"is_recurring": "true"}, []),
    ({"is_recurring": "0", "status_id": "301"}, ["t5"]),
    ({"created_ts": "today", "status_id": "301"}, ["t5"]),
    ({"created_ts": "yesterday"}, []),
    ({"description": "%"}, []),
    ({"location_id": "elsewhere"}, []),
]


@pytest.mark.usefixtures("seven")
def test_filters(shop: Shop) -> None:
    """Codes and numbers match exactly, commas any of several, pipes ranges; texts and api ids match substrings."""
    for query, found in FILTERS:
        assert payments(shop, **query) == found


def test_custom_range(shop: Shop) -> None:
    """created_ts=custom has _from and _to, either of which may be missing."""
    now = shop.paid(transaction_api_id="t1")["created_ts"]
    inside = {"created_ts": "custom", "created_ts_from": now, "created_ts_to": now}
    assert payments(shop, **inside) == ["t1"]
    assert payments(shop, created_ts="custom", created_ts_from=now + 1) == []
    assert payments(shop, created_ts="custom", created_ts_to=now) == ["t1"]


UNCLEAR_QUERIES: list[tuple[dict[str, Any], str]] = [
    *(({"page": page}, "page") for page in ("0", "-1", "x", "9" * 5000, "٣")),
    *(({"page_size": size}, "page_size") for size in ("0", "1e3")),
    *(({"sort": sort}, "sort") for sort in ("", "nothing", "id; DROP TABLE transactions", "account_number")),
    *(({"status_id": status}, "status_id") for status in ("x", "9" * 30, ["101", "301"])),
    *(({"transaction_amount": amount}, "transaction_amount") for amount in ("1.00|x", "1|2|3")),
    ({"expand": "everything"}, "expand"),
    ({"is_recurring": "perhaps"}, "is_recurring"),
    ({"created_ts": "custom"}, "created_ts"),
    ({"created_ts": "custom", "created_ts_from": "x"}, "created_ts"),
    ({"created_ts_from": "1"}, "created_ts_from"),
    ({"created_ts": "today", "created_ts_to": "1"}, "created_ts_to"),
    ({"_format": "xlsx"}, "_format"),
]


def test_unclear_queries(shop: Shop, errors: Errors) -> None:
    """Each is named; no value is guessed, and nothing is listed. An unknown range is refused with the known names."""
    for query, field in UNCLEAR_QUERIES:
        assert list(errors(shop.get("/v2/transactions", **query))) == [field]
    spans = "today, yesterday, this week, last week, last 30 days, last 90 days, this month, last month, custom"
    expected = {"created_ts": [f"Created Ts must be a Unix timestamp or one of {spans}."]}
    assert errors(shop.get("/v2/contacts", created_ts="nonsense")) == expected


UNKNOWN = ("nothing", "account_number", "deleted_ts", "nothing_from", "api_id")


@pytest.mark.usefixtures("seven")
def test_unknown_filter(shop: Shop, strict_shop: Shop, errors: Errors, caplog: pytest.LogCaptureFixture) -> None:
    """The log has its name and not its value; the other filters apply. A strict gateway refuses it."""
    for name in UNKNOWN:
        assert list(errors(strict_shop.get("/v2/transactions", **{name: "1"}))) == [name]
        caplog.clear()
        assert payments(shop, status_id="301", **{name: "4111111111111111"}) == ["t5"]
        logged = [record.getMessage() for record in caplog.records if record.name.endswith("ignored_fields")]
        assert logged == [f"ignored unknown parameters operation=GET /v2/transactions parameters={name}"]


def test_no_query_lists_records_of_another_location(shop: Shop, neighbor: Shop) -> None:
    neighbor.pay(transaction_api_id="theirs")
    assert payments(shop) == []
    assert payments(shop, location_id=neighbor.info.location_id) == []


def test_thousands_of_values_fit_in_one_filter(shop: Shop) -> None:
    sale = shop.paid(transaction_api_id="t1")
    assert payments(shop, id=",".join([sale["id"], *map(str, range(5000))])) == ["t1"]


def test_streamed_list(shop: Shop, sandbox: Sandbox) -> None:
    """Many vaults arrive page by page, each exactly once."""
    sandbox.add_vaults(12_000)
    pages = [shop.get("/v2/accountvaults", page_size=5000, page=n, sort="created_ts").json() for n in (1, 2, 3)]
    ids = [vault["id"] for page in pages for vault in page["accountvaults"]]
    assert [len(page["accountvaults"]) for page in pages] == [5000, 5000, 2000]
    assert len(set(ids)) == 12_000


def test_a_post_with_an_unknown_relation_creates_no_payment(shop: Shop, sandbox: Sandbox, errors: Errors) -> None:
    sale = {"action": "sale", "account_number": "4111111111111111", "exp_date": "1230", "transaction_amount": "1.00"}
    sale["location_id"] = shop.info.location_id
    refused = shop.post("transaction", "/v2/transactions", sale, expand="nothing")
    assert list(errors(refused)) == ["expand"]
    assert sandbox.ledger()["transactions"] == []
