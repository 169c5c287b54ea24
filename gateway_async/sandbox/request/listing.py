"""Translates the query string of a list into SQL (contract, "Pagination, sorting").

Filters depend on the kind of the field:

- Text, including an integrator id: a substring. A caller that looks up an id must check equality.
- System id, code or number: equality; several values are separated by commas.
- Amount: an inclusive range, with a pipe between the bounds.
- Timestamp: a number, a named range, or `custom` with `_from` and `_to`, inclusive; these may be 2025-12-31 23:59:59.

Days begin at midnight UTC and weeks on Monday. Unknown parameters have no effect here.
"""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from io import StringIO
from math import ceil
from typing import Any
from urllib.parse import urlencode

import attrs
from msgspec import Raw
from starlette.responses import Response

from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.credentials import PARAMETERS
from gateway_async.sandbox.request.records import Condition, visible
from gateway_async.sandbox.runtime.store import ALIVE, Store
from gateway_async.sandbox.schema.fields import Field, Row, Table, label
from gateway_async.sandbox.schema.kinds import Search

LARGEST_PAGE_SIZE = 5000
_LONGEST_NUMBER = 15
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_CONTENT_TYPES = {"csv": "text/csv", "tsv": "text/tab-separated-values"}


@attrs.frozen
class Listing:
    """One page of a list, as SQL that is ready to run.

    Attributes:
        page: 1-based.
        order: Column names mapped to `asc` or `desc`.
        now: The time for which derived columns are computed.
    """

    table: Table
    where: str
    values: tuple[Any, ...]
    order: Mapping[str, str]
    now: datetime
    page: int
    page_size: int
    parameters: Mapping[str, str]

    def fetch(self, store: Store) -> tuple[list[Row], int]:
        """Fetch the records of the page, and the total number of records."""
        total = store.total(self.table, "count(*)", self.where, self.values)
        skipped = (self.page - 1) * self.page_size
        if skipped >= total:
            return [], total
        fields = self.table.sortable
        columns = (f"{_sql(fields[name], self.now)} {direction}" for name, direction in self._full_order().items())
        rest = f"{self.where} ORDER BY {', '.join(columns)} LIMIT ? OFFSET ?"
        return store.select(self.table, rest, (*self.values, self.page_size, skipped)), total

    def meta(self, url: str, total: int) -> Row:
        """The `meta` object of the response to a list at `url`."""
        pages = ceil(total / self.page_size)
        links = {"self": self._link(url, self.page)}
        if self.page < pages:
            links |= {"next": self._link(url, self.page + 1), "last": self._link(url, pages)}
        pagination = {
            "links": links,
            "totalCount": total,
            "pageCount": pages,
            "currentPage": self.page - 1,
            "perPage": self.page_size,
        }
        return {"pagination": pagination, "sort": {"attributes": self.order}}

    def _full_order(self) -> Mapping[str, str]:
        direction = [*self.order.values()][-1]
        return dict(self.order) | ({} if "id" in self.order else {"id": direction})

    def _link(self, url: str, page: int) -> Row:
        return {"href": f"{url}?{urlencode(dict(self.parameters) | {'page': page})}"}


def read_listing(context: RequestContext, table: Table, *, scope: Condition | None = None) -> Listing:
    """Read the query string of a list.

    `scope` says which records are listed; None for all that the caller sees.
    """
    query, now, problems = context.query, context.gateway.clock.utc_now(), Problems()
    conditions: list[Condition] = [scope or visible(table, context.user), (ALIVE, ())]
    conditions += _read_filters(table, query, now, problems)
    listing = Listing(
        table=table,
        where=" AND ".join(sql for sql, _ in conditions),
        values=tuple(value for _, values in conditions for value in values),
        order=_read_order(table, query.get("sort", table.sort), problems),
        now=now,
        page=_read_count("page", query.get("page", "1"), problems),
        page_size=min(
            _read_count("page_size", query.get("page_size", str(table.page_size)), problems),
            LARGEST_PAGE_SIZE,
        ),
        parameters={name: value for name, value in query.items() if name not in PARAMETERS | {"page"}},
    )
    problems.raise_if_any()
    return listing


def _read_count(name: str, text: str, problems: Problems) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and int(text) > 0:
        return int(text)
    problems.add(name, f"{label(name)} must be an integer of 1 or more.")
    return 1


def _read_order(table: Table, text: str, problems: Problems) -> dict[str, str]:
    order: dict[str, str] = {}
    for part in text.split(","):
        column = part.removeprefix("-")
        if column not in table.sortable:
            problems.add("sort", f"Sort names an unknown column: {column[:64]!r}.")
            break
        order.setdefault(column, "desc" if part.startswith("-") else "asc")
    return order


def _sql(field: Field, now: datetime) -> str:
    """The SQL of a column."""
    return field.column.format(year=now.year, month=now.month) or field.name


def _read_filters(table: Table, query: Mapping[str, str], now: datetime, problems: Problems) -> list[Condition]:
    conditions: list[Condition] = []
    for name, text in query.items():
        if (field := table.filterable.get(name)) is None:
            _check_bound(table, name, query, problems)
            continue
        try:
            conditions.append(_MATCHERS[field.kind.search](field, text, query, now))
        except ValueError as problem:
            problems.add(name, f"{field.label} {problem}")
    return conditions


def _check_bound(table: Table, name: str, query: Mapping[str, str], problems: Problems) -> None:
    """Check that a bound belongs to a custom time range."""
    column = name.removesuffix("_from").removesuffix("_to")
    field = table.filterable.get(column)
    if field and field.kind.search is Search.TIMESTAMP and query.get(column) != "custom":
        problems.add(name, f"{label(name)} needs {field.label} custom.")


def _match_substring(field: Field, text: str, _query: Mapping[str, str], now: datetime) -> Condition:
    return f"instr(lower({_sql(field, now)}), lower(?)) > 0", (text,)


def _match_any_of(field: Field, text: str, _query: Mapping[str, str], now: datetime) -> Condition:
    wanted = [field.kind.read(part) for part in text.split(",")]
    if len(wanted) == 1:
        return f"{_sql(field, now)} = ?", tuple(wanted)
    return f"{_sql(field, now)} IN (SELECT value FROM json_each(?))", (json.dumps(wanted),)  # noqa: S608  # our own column


def _match_amount(field: Field, text: str, query: Mapping[str, str], now: datetime) -> Condition:
    if "|" not in text:
        return _match_any_of(field, text, query, now)
    low, _, high = text.partition("|")
    return f"{field.name} BETWEEN ? AND ?", (field.kind.read(low), field.kind.read(high))


def _match_time(field: Field, text: str, query: Mapping[str, str], now: datetime) -> Condition:
    name = text.lower().replace("_", " ")
    if name == "custom":
        return _match_custom_range(field, query)
    if name in _NAMED_RANGES:
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        start, end = _NAMED_RANGES[name](today, now)
        return f"{field.name} >= ? AND {field.name} < ?", (int(start.timestamp()), int(end.timestamp()))
    try:
        return _match_any_of(field, text, query, now)
    except ValueError:
        raise ValueError(f"must be a Unix timestamp or one of {', '.join(_NAMED_RANGES)}, custom.") from None


def _match_custom_range(field: Field, query: Mapping[str, str]) -> Condition:
    first, last = (query.get(f"{field.name}_{end}") for end in ("from", "to"))
    if first is None and last is None:
        raise ValueError(f"needs {field.name}_from or {field.name}_to.")
    low = _read_bound(field, first) if first is not None else 0
    high = _read_bound(field, last) if last is not None else 10**_LONGEST_NUMBER
    return f"{field.name} BETWEEN ? AND ?", (low, high)


def _read_bound(field: Field, text: str) -> Any:
    try:
        return read_time(text)
    except ValueError:
        return field.kind.read(text)


def read_time(text: str) -> int:
    """Read the Unix seconds of `2025-12-31 23:59:59` in UTC.

    Raises:
        ValueError: The text has another form.
    """
    return int(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())


def _monday(day: datetime) -> datetime:
    return day - timedelta(days=day.weekday())


def _first_of_month(day: datetime) -> datetime:
    return day.replace(day=1)


_NAMED_RANGES: dict[str, Callable[[datetime, datetime], tuple[datetime, datetime]]] = {
    "today": lambda today, _: (today, today + _DAY),
    "yesterday": lambda today, _: (today - _DAY, today),
    "this week": lambda today, _: (_monday(today), _monday(today) + _WEEK),
    "last week": lambda today, _: (_monday(today) - _WEEK, _monday(today)),
    "last 30 days": lambda _, now: (now - 30 * _DAY, now + timedelta(seconds=1)),
    "last 90 days": lambda _, now: (now - 90 * _DAY, now + timedelta(seconds=1)),
    "this month": lambda today, _: (_first_of_month(today), _first_of_month(_first_of_month(today) + 31 * _DAY)),
    "last month": lambda today, _: (_first_of_month(_first_of_month(today) - _DAY), _first_of_month(today)),
}

_MATCHERS: dict[Search, Callable[[Field, str, Mapping[str, str], datetime], Condition]] = {
    Search.SUBSTRING: _match_substring,
    Search.ANY_OF: _match_any_of,
    Search.AMOUNT: _match_amount,
    Search.TIMESTAMP: _match_time,
}


def make_file(columns: Iterable[str], rows: Iterable[Iterable[Any]], name: str) -> Response:
    """Write rows as a `csv` or `tsv` file."""
    if name not in _DELIMITERS:
        raise RefusedFieldsError({"_format": [f"Format must be one of {', '.join(_DELIMITERS)}."]})
    text = StringIO()
    writer = csv.writer(text, delimiter=_DELIMITERS[name], lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_cell, row) for row in rows)
    return Response(text.getvalue(), media_type=f"{_CONTENT_TYPES[name]}; charset=utf-8")


def _cell(value: Any) -> Any:
    return bytes(value).decode() if isinstance(value, Raw) else value
