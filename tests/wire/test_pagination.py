"""A list's response → a page, and whether another one follows."""

from collections import deque
from contextlib import nullcontext
from itertools import chain
from typing import Any

import pytest

from gateway_async._wire.convert import FieldError
from gateway_async._wire.json_text import encode
from gateway_async._wire.page_plan import PagePlan, PageWindow, RecentIds
from gateway_async._wire.pagination import RawPage, check_link, decode_page, find_row, read_raw_page
from gateway_async._wire.query import Params
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.contacts import Contact
from gateway_async.models.page import Page


def raw_page(body: bytes, number: int = 1) -> RawPage[Contact]:
    """The page of contacts in a response, before its rows are read."""
    return read_raw_page(decode_page(body, "contacts"), "contacts", number, Contact)


def page(content: Any, number: int = 1) -> Page[Contact]:
    raw = raw_page(encode(content), number)
    return raw.page([*chain(*raw.slices())])


def response(*ids: str, **pagination: Any) -> dict[str, Any]:
    return {"contacts": [{"id": each} for each in ids], "meta": {"pagination": pagination}}


@pytest.mark.parametrize("current", [0, 1, "0", None, 17])
def test_page_number(current: Any) -> None:
    """`currentPage` counts from 0 here and from 1 there, so it is not believed."""
    read = page(response("a", "b", totalCount=12, pageCount=6, perPage=2, currentPage=current), number=1)
    assert read == Page(records=(Contact(id="a"), Contact(id="b")), number=1, total_count=12, page_count=6)


@pytest.mark.parametrize(("count", "read"), [(0, 0), ("11", 11), ("0", 0), (10**12, 10**12)])
def test_counts_arrive_as_numbers_or_digits(count: Any, read: int) -> None:
    found = page(response(totalCount=count, pageCount=count))
    assert (found.total_count, found.page_count) == (read, read)


@pytest.mark.parametrize("count", [None, "", "many", "²", "-1", -1, True, 1.5, [], {}, "9" * 5000])
def test_odd_counts(count: Any) -> None:
    """A count is a courtesy: what cannot be read is as if it had not been sent."""
    found = page(response("a", totalCount=count, pageCount=count))
    assert (found.total_count, found.page_count) == (None, None)


@pytest.mark.parametrize(("reported", "page_size"), [(20, 20), ("20", 20), (0, None), (None, None)])
def test_a_page_tells_its_size_and_its_order(reported: Any, page_size: int | None) -> None:
    meta = {"pagination": {"perPage": reported}, "sort": {"attributes": {"created_ts": {"desc": "-created_ts"}}}}
    raw = raw_page(encode({"contacts": [], "meta": meta}))
    assert (raw.page_size, raw.sorted_by) == (page_size, ("created_ts",))


@pytest.mark.parametrize("meta", [{}, {"meta": None}, {"meta": []}, {"meta": {}}, {"meta": {"pagination": None}}])
def test_a_list_without_meta_is_a_page(meta: dict[str, Any]) -> None:
    assert page({"contacts": [{"id": "a"}], **meta}) == Page(
        records=(Contact(id="a"),), number=1, total_count=None, page_count=None
    )


NO_LISTS: list[Any] = [None, [], "text", {}, {"contacts": None}, {"contacts": {}}, {"contact": []}]


@pytest.mark.parametrize(
    ("content", "path", "reason"),
    [
        *((content, "", "missing, or not a list") for content in NO_LISTS),
        ({"contacts": [{"id": "a"}, None]}, "[1]", "not an object"),
        ({"contacts": [{"id": "a"}, {"id": "b"}, {}]}, "[2].id", "missing"),
        ({"contacts": [{"id": "a", "contact_balance": "much"}]}, "[0].contact_balance", "not an amount"),
    ],
)
def test_no_list(content: Any, path: str, reason: str) -> None:
    """A response without the plural's list is refused, and so is a bad row: the path leads to its field."""
    with pytest.raises(FieldError) as failed:
        page(content)
    assert (failed.value.path, failed.value.reason) == (f".contacts{path}", reason)


@pytest.mark.parametrize(
    ("records", "number", "page_count", "last"),
    [
        ((1,), 1, 1, True),
        ((1,), 1, 2, False),
        ((), 1, 2, False),
        ((1,), 2, 2, True),
        ((1,), 3, 2, True),
        ((), 1, 0, True),
        ((1,), 1, None, False),
        ((), 7, None, True),
    ],
)
def test_last_page(records: tuple[int, ...], number: int, page_count: int | None, last: bool) -> None:
    """The page count ends a list, also across an empty page; without one the first empty page does."""
    pagination = "null" if page_count is None else f'{{"pagination": {{"pageCount": {page_count}}}}}'
    body = f'{{"contacts": {list(records)}, "meta": {pagination}}}'.encode()
    assert raw_page(body, number).is_last is last


# --- slices


def test_slices() -> None:
    """Return all records in order, from at most 100 KB of rows at a time."""
    slices = [*raw_page(encode(response(*(f"{number:0100}" for number in range(3000))))).slices()]
    assert max(sum(len(record.id) for record in some) for some in slices) <= 100_000
    assert [int(record.id) for some in slices for record in some] == [*range(3000)]


def test_bad_row() -> None:
    """The path has the position in the page, not in the slice; the slices before it are there."""
    content = response(*(f"{number:0100}" for number in range(3000)))
    content["contacts"][2500] |= {"contact_balance": "much"}
    read: list[Contact] = []
    with pytest.raises(FieldError) as failed:
        deque(map(read.extend, raw_page(encode(content)).slices()))
    assert failed.value.path == ".contacts[2500].contact_balance"
    assert [int(record.id) for record in read] == [*range(len(read))]
    assert len(read) > 1000


@pytest.mark.parametrize("row", [b'{"id" 1}', b'{"id": "a"', b'{"id": nil}'])
def test_rows_that_are_not_json_are_rejected_before_they_are_read(row: bytes) -> None:
    with pytest.raises(ValueError, match=r"malformed|truncated"):
        decode_page(b'{"contacts": [{"id": "\xc3\xa9"}, ' + row + b"]}", "contacts")


def test_a_number_that_is_too_large_makes_a_page_unreadable() -> None:
    number = b"1e9999999999999999999"
    with pytest.raises(ValueError, match="too large"):
        [*raw_page(b'{"contacts": [{"id": "a", "x": %b}]}' % number).slices()]
    with pytest.raises(ValueError, match="too large"):
        decode_page(b'{"contacts": [], "meta": %b}' % number, "contacts")


# --- one row among those that a filter lets through

WANTED = {"transaction_api_id": "mine", "location_id": "loc"}


def transactions(*rows: Any, **pagination: Any) -> dict[str, Any]:
    counts = pagination or {"totalCount": len(rows), "pageCount": min(len(rows), 1)}
    return {"transactions": list(rows), "meta": {"pagination": counts}}


def a_row(api_id: str = "mine", **fields: Any) -> dict[str, Any]:
    return {"id": "t1", "transaction_api_id": api_id, "location_id": "loc", **fields}


def test_partial_match() -> None:
    """A filter matches parts of a text, so rows whose id only contains the wanted one are passed over."""
    longer = [a_row("mine-2"), a_row("not-mine"), a_row("MINE-2")]
    assert find_row(transactions(*longer, a_row(id="t2")), "transactions", WANTED) == a_row(id="t2")
    assert find_row(transactions(*longer), "transactions", WANTED) is None


def test_other_location() -> None:
    """Integrator ids are unique per location; a row that does not say its location may be the one."""
    assert find_row(transactions(a_row(location_id="other")), "transactions", WANTED) is None
    for unsaid in (a_row(location_id=None), a_row(location_id=""), {"id": "t1", "transaction_api_id": "mine"}):
        assert find_row(transactions(unsaid), "transactions", WANTED) == unsaid


def test_a_row_is_found_in_a_list_that_goes_on() -> None:
    goes_on = transactions(a_row(), totalCount=500, pageCount=5)
    assert find_row(goes_on, "transactions", WANTED) == a_row()


@pytest.mark.parametrize(
    "counts",
    [
        {"totalCount": 0},
        {"pageCount": 0},
        {"pageCount": 1},
        {"totalCount": "0"},
        {"totalCount": 0, "currentPage": 0},
        {"totalCount": 0, "currentPage": 1},
    ],
)
def test_absence(counts: dict[str, Any]) -> None:
    """An empty list proves absence with either count; the first page may be number 0."""
    assert find_row(transactions(**counts), "transactions", WANTED) is None


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"transactions": []},
        {"transactions": [], "meta": {"pagination": {}}},
        {"transactions": [], "meta": {"pagination": None}},
        {"transactions": [], "meta": {"pagination": {"totalCount": None, "pageCount": "many"}}},
        {"transactions": None, "meta": {"pagination": {"totalCount": 0, "pageCount": 0}}},
        {"transactions": [None], "meta": {"pagination": {"totalCount": 1, "pageCount": 1}}},
        {"message": "no Route matched"},
        transactions(a_row("mine-2"), totalCount=2, pageCount=2),
        transactions(a_row("mine-2"), totalCount=2, pageCount=1),
        transactions(totalCount=1),
        transactions(pageCount=2),
        transactions({"id": "t1"}),
        transactions({"id": "t1", "location_id": "loc"}),
        transactions(a_row(transaction_api_id=None)),
        transactions(a_row("MINE")),
        transactions(a_row("mine ")),
        transactions(a_row("MINE", location_id=None)),
        transactions(a_row(location_id="LOC")),
        transactions(a_row("other")),
        transactions(totalCount=0, pageCount=1, currentPage=2),
        transactions(*[a_row("mine-2")] * 100),
        transactions(*[a_row("mine-2")] * 20),
        transactions(a_row("mine-2"), totalCount=1, perPage=1),
        transactions() | {"routertransactions": [a_row()]},
    ],
)
def test_no_absence(content: Any) -> None:
    """No list, no pagination, rows that were not read, that do not show their ids or did not match the filter."""
    with pytest.raises(FieldError):
        find_row(content, "transactions", WANTED)


@pytest.mark.parametrize("api_id", ["a,b", "10.00|20.00", "a\\b"])
def test_ambiguous_id(api_id: str) -> None:
    """A comma means any of several, a pipe a range: the gateway may have looked for something else."""
    wanted = {"transaction_api_id": api_id}
    assert find_row(transactions(a_row(api_id)), "transactions", wanted) == a_row(api_id)
    with pytest.raises(FieldError, match="cannot be used in a filter"):
        find_row(transactions(), "transactions", wanted)


def test_equal_rows() -> None:
    """Without a location an id may exist in several."""
    both = transactions(a_row(), a_row(location_id="other"))
    with pytest.raises(FieldError, match="2 rows"):
        find_row(both, "transactions", {"transaction_api_id": "mine"})


SENT = (("transaction_api_id", "mine"), ("page", "1"), ("page_size", "100"))


def linked(query: str) -> dict[str, Any]:
    return transactions(totalCount=0, links={"self": {"href": f"https://gateway.test/v2/transactions{query}"}})


@pytest.mark.parametrize("query", ["?transaction_api_id=other", "?transaction_api_id=&page=1", "?contact_id=c"])
def test_foreign_links(query: str) -> None:
    """A list whose link shows other filters answers another request."""
    with pytest.raises(MismatchedReplyError, match="filters of another request"):
        find_row(linked(query), "transactions", WANTED, SENT)


@pytest.mark.parametrize("links", [None, [], {"self": None}, {"self": {"href": 1}}, {"self": {"href": "http://["}}])
def test_a_link_that_cannot_be_read_proves_nothing(links: Any) -> None:
    check_link(transactions(totalCount=0, links=links), SENT)


def test_singular() -> None:
    """Some lists have the name of one record; an object of that name is refused."""
    body = b'{"contact": [{"id": "c"}], "meta": {"pagination": {"pageCount": 1}}}'
    page = read_raw_page(decode_page(body, "contacts", "contact"), "contacts", 1, Contact)
    assert ([record.id for part in page.slices() for record in part], page.page_count) == (["c"], 1)
    for wrong in (body, b'{"contact": {"id": "c"}}'):
        with pytest.raises(FieldError):
            read_raw_page(decode_page(wrong, "contacts", "contact" * (wrong != body)), "contacts", 1, Contact)


def listed(rows: list[dict[str, Any]], filters: Params, href: str = "") -> RawPage[Contact]:
    links = {"self": {"href": href}}
    body = encode({"contacts": rows, "meta": {"pagination": {"links": links}}})
    return read_raw_page(decode_page(body, "contacts"), "contacts", 1, Contact, filters)


@pytest.mark.parametrize(
    ("name", "wanted", "got"),
    [
        ("contact_id", "c1", "c1"),
        ("contact_id", "c1", "C1"),
        ("contact_id", "c1,c2", "c2"),
        ("contact_id", "c1, c2", "c2"),
        ("contact_id", "c", "c1"),  # part of a text
        ("contact_id", "c1|c9", "c5"),  # a range
        ("contact_id", "c%", "c1"),
        ("contact_id", "c1", None),
        ("contact_id", "c1", ""),
        ("contact_id", "c1", {"id": "c1"}),
        ("status_id", "101", 101),
        ("status_id", "101", "101"),
        ("status_id", "101,102", 102),
        ("status_id", "2", 0),  # a closed invoice
        ("status_id", "1,2", "0"),
        ("status_id", "0", 2),
        ("contact_api_id", "100", "7"),  # text, which a gateway may compare in its own way
        ("last_name", "Muller", "Müller"),
        ("created_ts", "custom", 17),
        ("page_size", "20", 7),
    ],
)
def test_a_row_may_match_its_filter(name: str, wanted: str, got: Any) -> None:
    assert listed([{"id": "a", name: got}], ((name, wanted),)).row_count == 1


@pytest.mark.parametrize(
    ("name", "wanted", "got"),
    [
        ("contact_id", "c1", "c2"),
        ("contact_id", "c1,c2", "c3"),
        ("contact_id", "2", "0"),
        ("id", "b", "a"),
        ("status_id", "101", 102),
        ("status_id", "10", 101),
        ("status_id", "101,102", 301),
        ("status_id", "2", 1),
        ("status_id", "101", True),
    ],
)
def test_any_row_that_contradicts_its_filter_is_of_another_list(name: str, wanted: str, got: Any) -> None:
    rows: list[Any] = ["no object", {"id": wanted, name: wanted}, {"id": "a", name: got}]
    with pytest.raises(MismatchedReplyError, match=f"{name} is .*, not '{wanted}'"):
        listed(rows, (("last_name", "x"), (name, wanted)))


@pytest.mark.parametrize(
    ("href", "is_own"),
    [
        ("", True),
        ("https://other.example/v2/contacts?page=3", True),
        ("/v2/contacts?contact_id=c1&page=1", True),
        ("/v2/contacts?page=1&developer-id=x&contact_id=c1#top", True),
        ("/v2/contacts?contact_id=%631", True),
        ("/v2/contacts?contact%5Fid=c1&active=1", True),
        ("?user-id=u", True),
        ("/v2/contacts?contact_id=c2", False),
        ("/v2/contacts?contact_id=c1&contact_id=c2", False),
        ("/v2/contacts?contact_id=&page=1", False),
        ("/v2/contacts?city=Bern", False),
    ],
)
def test_link_filters(href: str, is_own: bool) -> None:
    """A link may show the filters of the request, none, or some more; an empty list shows nothing else."""
    with nullcontext() if is_own else pytest.raises(MismatchedReplyError, match="links"):
        listed([], (("contact_id", "c1"), ("page", "1")), href)


# --- which part of a list a page shows

FULL = ((1, 50), 50, {"perPage": 50})
"""The size that was requested, as that of a response of 9 pages."""


@pytest.mark.parametrize(
    ("pages", "shown", "size", "overlaps"),
    [
        ([FULL], (1, 50), 50, True),
        ([((1, 50), 20, {"pageCount": 1, "perPage": 1000})], (1, 50), 50, True),  # the whole list
        ([((1, 50), 50, {"pageCount": 1, "perPage": 100})], (1, 100), 100, False),
        ([((1, 50), 20, {"perPage": 20})], (1, 20), 20, True),  # the gateway's maximum
        ([((1, 50), 1, {"perPage": 1})], (1, 1), 1, True),
        ([FULL, ((2, 49), 20, {"perPage": 20})], (2, 20), 20, False),  # no maximum: a page was larger
        ([FULL, ((2, 49), 20, {})], (2, 50), 50, False),
        ([FULL, ((2, 49), 48, {"perPage": 49})], (2, 49), 50, True),  # a record was removed after the count
        ([((1, 50), 60, {})], (1, 60), 60, False),
        ([((1, 50), 30, {"perPage": 50})], (1, 50), 50, False),
        ([((1, 50), 0, {})], (1, 50), 50, False),
    ],
)
def test_page_sizes(pages: Any, shown: tuple[int, int], size: int, overlaps: bool) -> None:
    """The plan learns from the responses how the gateway divides a list."""
    plan = PagePlan(50)
    for (number, requested), rows, facts in pages:
        raw = raw_page(encode(response(*map(str, range(rows)), **{"totalCount": 400, "pageCount": 9} | facts)), number)
        window = plan.observe(PageWindow(number, requested), raw)
    assert (window, plan.size, plan.overlaps) == (PageWindow(*shown), size, overlaps)


def test_first_page() -> None:
    """It may have another size than the rest, unless the gateway ignores sizes."""
    plan = PagePlan(1)
    assert plan.after(0, 10) == PageWindow(1, 10)
    plan.overlaps = False
    assert plan.after(0, 10) == PageWindow(1, 1)


def test_forgotten_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest ids are dropped when a third generation begins, but not while pages are read again."""
    monkeypatch.setattr("gateway_async._wire.page_plan._MAX_REMEMBERED", 2)
    seen, forgotten = RecentIds(), []
    for first, may_forget in ((0, True), (2, False), (4, False), (6, True)):
        seen.remember([first, first + 1, None], others_are_gone=False, may_forget=may_forget)
        forgotten.append(seen.has_forgotten)
    assert forgotten == [False, False, False, True]
    assert seen.among([None, *range(8)]) == {4, 5, 6, 7}
    seen = RecentIds()
    for first in (0, 2, 4):
        seen.remember([first, first + 1], others_are_gone=first == 4, may_forget=True)
    assert (seen.has_forgotten, seen.among(range(6))) == (False, {2, 3, 4, 5})
