"""Ids, filters, time ranges, sort and expand → path segments and parameters."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_async._secrets import Secret, seal
from gateway_async._wire.query import (
    expansion,
    filters,
    list_params,
    plain_params,
    secrets_in_params,
    segment_and_params,
)
from gateway_async.errors import InvalidRequestError
from gateway_async.models.codes import AccountType, TransactionStatus
from gateway_async.models.record import ApiId
from gateway_async.models.time_range import TimeRange

NOON = datetime(2025, 11, 18, 12, tzinfo=UTC)
SURROGATE = "has an invalid character (a lone surrogate)"


def problems(function: Any, *arguments: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidRequestError) as refused:
        function(*arguments)
    return refused.value.problems


# --- ids


def test_an_id_is_a_path_segment() -> None:
    assert segment_and_params("54c285f1-8052-06b4", "loc") == ("54c285f1-8052-06b4", ())


def test_api_id() -> None:
    """An integrator's id needs the location within which it is unique: its own or the client's."""
    assert segment_and_params(ApiId("order-7"), "client") == ("order-7", (("api_id", "1"), ("location_id", "client")))
    assert segment_and_params(ApiId("order-7", "own"), "client") == (
        "order-7",
        (("api_id", "1"), ("location_id", "own")),
    )


@pytest.mark.parametrize(
    ("value", "segment"),
    [
        ("a/b", "a%2Fb"),
        ("../secret", "..%2Fsecret"),
        ("a?b#c&d=e", "a%3Fb%23c%26d%3De"),
        ("100%", "100%25"),
        ("grün", "gr%C3%BCn"),
        ("...", "..."),
    ],
)
def test_an_id_is_percent_encoded(value: str, segment: str) -> None:
    assert segment_and_params(value, None) == (segment, ())
    assert segment_and_params(ApiId(value), "loc")[0] == segment


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=3))
def test_encoding(value: str) -> None:
    """Encoding is lossless, and leaves nothing that a server would take apart."""
    segment, _ = segment_and_params(value, None)
    assert unquote(segment) == value
    assert not set(segment) & set("/?#&= ")


@pytest.mark.parametrize(
    ("ref", "problem"),
    [
        *((ref, "id: must not be empty and must contain no spaces") for ref in ("", "a b", " ", "a\n", ApiId(""))),
        (".", "id: '.' cannot be part of a path"),
        *((ref, "id: '..' cannot be part of a path") for ref in ("..", ApiId(".."))),
        ("\ud800", f"id: {SURROGATE}"),
        (5, "id: must be text or an ApiId, not int"),
        (None, "id: must be text or an ApiId, not NoneType"),
        (b"id", "id: must be text or an ApiId, not bytes"),
        (ApiId(5), "id: must be text or an ApiId, not int"),  # type: ignore[arg-type]
    ],
)
def test_invalid_ids(ref: Any, problem: str) -> None:
    """An id that would address something else is refused before anything is sent."""
    assert problems(segment_and_params, ref, "loc") == (problem,)


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        *((missing, "location_id: an ApiId needs one, of its own or the client's") for missing in (None, "")),
        *((wrong, "location_id: must be text") for wrong in (5, "\ud800")),
    ],
)
def test_an_api_id_needs_a_location(location: Any, problem: str) -> None:
    assert problems(segment_and_params, ApiId("order-7", location), None) == (problem,)
    assert problems(segment_and_params, ApiId("order-7"), location) == (problem,)


# --- expand


@pytest.mark.parametrize(
    ("expand", "params"),
    [((), ()), ([], ()), (("contact",), (("expand", "contact"),)), (["user", "tags"], (("expand", "user,tags"),))],
)
def test_expand(expand: Any, params: Any) -> None:
    """Related records are asked for by name, separated by commas."""
    assert expansion(expand) == params


@pytest.mark.parametrize(
    "expand", ["contact", b"contact", ("contact", ""), (1,), ("\ud800",), None, 5, iter(["contact"])]
)
def test_invalid_expansions(expand: Any) -> None:
    """One string is a likely slip for one name; anything but a sequence of names is refused."""
    assert problems(expansion, expand) == ('expand: must be a sequence of names, such as ("contact",)',)


# --- filters


class Place(StrEnum):
    """A text enum of a caller."""

    HERE = "here"


FILTERS: list[tuple[str, list[Any]]] = [
    *[(text, [text]) for text in ("text", "a b&c", "")],
    ("5", [5]),
    ("1", [True]),
    ("0", [False]),
    ("12.50", [Decimal("12.50")]),
    ("100", [Decimal("1E+2")]),
    ("101", [TransactionStatus.APPROVED, (TransactionStatus.APPROVED,)]),
    ("999", [TransactionStatus(999)]),
    ("visa", [AccountType.VISA]),
    ("here", [Place.HERE]),
    ("2025-11-18", [date(2025, 11, 18)]),
    ("1763467200", [NOON, NOON.astimezone(timezone(timedelta(hours=9)))]),
    ("101,102", [[101, "102"], range(101, 103)]),
    ("last 30 days", [TimeRange.LAST_30_DAYS]),
]


@pytest.mark.parametrize(("written", "value"), [(written, value) for written, given in FILTERS for value in given])
def test_filters(written: str, value: Any) -> None:
    """Each kind of value is written as the gateway reads it; several are any-of."""
    assert filters({"f": value}) == (("f", written),)


def test_filter_order() -> None:
    """Parameters come in the order of the mapping; a time range of the caller's has three; values are read once."""
    hour = TimeRange.custom(NOON, NOON + timedelta(hours=1))
    assert filters({"b": iter([1, 2]), "f": hour, "a": 2}) == (
        *(("b", "1,2"), ("f", "custom"), ("f_from", "1763467200"), ("f_to", "1763470800"), ("a", "2")),
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        *(
            (value, f"cannot filter by a {type(value).__name__}")
            for value in (None, 1.5, b"x", {"a": 1}, Decimal("NaN"))
        ),
        ("\ud800", SURROGATE),
        ([1, "\ud800"], SURROGATE),
        ([[1]], "cannot filter by a list"),
        ([], "an empty list matches nothing; leave the filter out instead"),
        (datetime(2025, 11, 18), "must be an aware datetime (tzinfo is missing)"),  # noqa: DTZ001  the mistake under test
    ],
)
def test_filter_values(value: Any, problem: str) -> None:
    """A value that would mean something else to the gateway is refused by its field's name."""
    assert problems(filters, {"f": value}) == (f"f: {problem}",)


def test_secrets_stay_sealed() -> None:
    """A list of them is one secret; each of its parts is masked too, wherever the gateway repeats it."""
    sealed = seal({"pin": ["1234", 5678], "dob": date(1983, 5, 6), "cvv": 1.5})
    assert problems(filters, sealed) == ("cvv: cannot filter by a float",)
    params = filters({name: sealed[name] for name in ("pin", "dob")})
    assert params == (("pin", Secret("1234,5678")), ("dob", Secret("1983-05-06")))
    assert plain_params(params) == [("pin", "1234,5678"), ("dob", "1983-05-06")]
    assert [secret.reveal() for secret in secrets_in_params(params)] == ["1234,5678", "1234", "5678", "1983-05-06"]


@pytest.mark.parametrize("name", ["page", "page_size", "sort", "expand", "api_id", "", "a b", "a&b", 5, None])
def test_filter_names(name: Any) -> None:
    """Names that are no fields, and those that have an argument of their own, are refused."""
    assert problems(filters, {name: "x"}) == (f"{name}: cannot be used as a filter",)


@pytest.mark.parametrize("criteria", ["title=x", ["title"], 5, {"a"}])
def test_filters_have_to_be_a_mapping(criteria: Any) -> None:
    assert problems(filters, criteria) == ("filters: must be a mapping of field names to values",)


# --- lists


def test_a_list_asks_for_filters_sort_and_expansion() -> None:
    params = list_params({"title": "x"}, "-created_ts", 5000, ("contact",))
    assert params == (("title", "x"), ("sort", "-created_ts"), ("expand", "contact"))
    assert list_params(None, None, None, ()) == ()


@pytest.mark.parametrize(
    ("sort", "size", "params"),
    [
        *((sort, None, (("sort", sort),)) for sort in ("title", "-created_ts")),
        *((None, size, ()) for size in (1, 5000, None)),
    ],
)
def test_sort_and_size(sort: str | None, size: int | None, params: Any) -> None:
    """A field name sorts up, with a minus down; a page has one to five thousand records, or the default."""
    assert list_params(None, sort, size, ()) == params


NO_SORT = "sort: must be a field name, with a minus before it for descending order"
NO_SIZE = "page_size: must be a whole number from 1 to 5000"


@pytest.mark.parametrize(
    ("sort", "size", "problem"),
    [
        *((sort, None, NO_SORT) for sort in ("", "-", "--title", "title,id", "a b", 5)),
        *((None, size, NO_SIZE) for size in (0, -1, 5001, True, 10.0, "10")),
    ],
)
def test_invalid_sorts(sort: Any, size: Any, problem: str) -> None:
    """Only one field name sorts; of a larger page the gateway would quietly send fewer."""
    assert problems(list_params, None, sort, size, ()) == (problem,)


def test_every_problem_of_a_list_is_told_at_once() -> None:
    assert problems(list_params, {"page": 1, "f": None}, "a b", 0, "contact") == (
        NO_SIZE,
        "page: cannot be used as a filter",
        "f: cannot filter by a NoneType",
        NO_SORT,
        'expand: must be a sequence of names, such as ("contact",)',
    )
