"""Readers for pages of a list and for single rows in it (contract, *Pagination, sorting*).

A page's number is the requested one: `currentPage` is 0-based or 1-based in different responses. `links` are never
followed.

The rows of a large page take long to read, so that a `RawPage` is read in slices, between which other tasks can run.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar
from urllib.parse import parse_qsl

import attrs
import msgspec

from gateway_async._secrets import quote_text
from gateway_async._text import pluralize
from gateway_async._wire.convert import FieldError, read_each
from gateway_async._wire.json_text import decode
from gateway_async._wire.query import Params, plain_params
from gateway_async._wire.response_matching import same_value
from gateway_async._wire.rows import RowReader
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.page import Page
from gateway_async.models.record import Record

T = TypeVar("T")
R = TypeVar("R", bound=Record)

_SLICE_BYTES: Final = 100_000
"""Bytes of JSON that are read without a pause: a millisecond or two, or five for rows that are read by the rules."""

LISTED_ROWS: Final = 100
"""Rows to request of a list that may prove that a record does not exist."""

_DEFAULT_SIZES: Final = (15, 20)
"""The gateway's own page sizes. A list with as many rows may be a page of a gateway that ignores `page_size`."""

_FILTER_SYNTAX: Final = ",|\\"
"""Characters with a special meaning in a filter: alternatives, ranges, escapes."""

_NOT_FILTERS: Final = frozenset({"page", "page_size", "sort", "expand"})

_COMPARED_FILTERS: Final = re.compile("(.*(?<!_api)_)?id")
_PATTERN_SYNTAX: Final = re.compile(r"[|*%\\]")
"""Ranges, wildcards and escapes: such a value is not compared."""

_CLOSED: Final = frozenset({"0", "2"})
"""`status_id`s of a closed invoice; gateways use one or the other."""


@attrs.frozen
class RawPage(Generic[T]):
    """One page of a list whose rows are still JSON.

    Attributes:
        number, total_count, page_count: as in `Page`.
        page_size: the maximum number of records of a page; None if the gateway does not report it.
        sorted_by: the fields that the gateway sorts by; empty if it does not report them.
        on_error: makes the error for a row that cannot be read.
    """

    _rows: Sequence[msgspec.Raw] = attrs.field(repr=False)
    _plural: str
    _kind: type[Any]
    number: int
    total_count: int | None
    page_count: int | None
    page_size: int | None = None
    sorted_by: tuple[str, ...] = ()
    on_error: Callable[[ValueError], Exception] = attrs.field(default=lambda error: error, repr=False)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def is_last(self) -> bool:
        """Whether it is the last page. Without a page count, the first empty page is the last."""
        if self.page_count is None:
            return not self._rows
        return self.number >= self.page_count

    def slices(self) -> Iterator[Sequence[T]]:
        """Read the records, a few milliseconds' worth at a time.

        Raises:
            Exception: a record cannot be read; `on_error` makes the error.
        """
        reader = RowReader(self._kind, len(self._rows))
        records: list[T] = []
        size = 0
        for number, row in enumerate(self._rows):
            try:
                records.append(reader.read(row))
            except FieldError as error:
                raise self.on_error(error.under(f".{self._plural}[{number}]")) from None
            except ValueError as error:
                raise self.on_error(error) from None
            size += memoryview(row).nbytes
            if size >= _SLICE_BYTES:
                yield records
                records, size = [], 0
        yield records

    def page(self, records: Sequence[T]) -> Page[T]:
        return Page(
            records=tuple(records), number=self.number, total_count=self.total_count, page_count=self.page_count
        )


def decode_page(body: bytes, plural: str, singular: str = "") -> Any:
    """Decode the JSON of a list, with its rows as `msgspec.Raw`.

    The vendor's documents show some lists under the `singular` name. They are returned under the plural one.

    Raises:
        ValueError: the bytes are not JSON.
    """
    for name in (plural, singular) if singular else (plural,):
        try:
            envelope = decode(body, _envelope_decoder(name))
        except msgspec.ValidationError:  # not a list of this name
            continue
        return {plural: envelope.rows, "meta": envelope.meta}
    return decode(body)


@lru_cache
def _envelope_decoder(plural: str) -> msgspec.json.Decoder[Any]:
    fields: list[Any] = [("rows", list[msgspec.Raw]), ("meta", Any, None)]
    return msgspec.json.Decoder(msgspec.defstruct("Envelope", fields, rename={"rows": plural}), float_hook=Decimal)


def read_raw_page(content: Any, plural: str, number: int, kind: type[R], params: Params = ()) -> RawPage[R]:
    """Read the page requested as `number` from what `decode_page` has returned.

    `params` are the parameters of the request.

    Raises:
        FieldError: the response is not a list.
        MismatchedReplyError: it is the list of another request.
    """
    rows = _rows(content, plural)
    check_link(content, params)
    check_rows(rows, params)
    page_size = _count(_pagination(content), "perPage") or None
    return RawPage(rows, plural, kind, number, *_counts(content), page_size, _sorted_by(content))


def read_page(content: Any, plural: str, number: int, read_record: Callable[[Any], T]) -> Page[T]:
    """Read the page requested as `number` from the decoded response.

    Raises:
        FieldError: the response is not a list of such records.
    """
    rows = _rows(content, plural)
    total_count, page_count = _counts(content)
    records = read_each(rows, read_record, f".{plural}")
    return Page(records=records, number=number, total_count=total_count, page_count=page_count)


def _rows(content: Any, plural: str) -> list[Any]:
    if not isinstance(content, dict) or not isinstance(content.get(plural), list):
        raise FieldError(f".{plural}", "missing, or not a list")
    rows: list[Any] = content[plural]
    return rows


def _counts(content: Mapping[str, Any]) -> tuple[int | None, int | None]:
    pagination = _pagination(content)
    return _count(pagination, "totalCount"), _count(pagination, "pageCount")


def _sorted_by(content: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, _mapping(_mapping(_mapping(content.get("meta")).get("sort")).get("attributes"))))


def _pagination(content: Any) -> Mapping[str, Any]:
    return _mapping(_mapping(_mapping(content).get("meta")).get("pagination"))


def check_link(content: Any, params: Params) -> None:
    """Check the filters that a list's `links.self` shows.

    A link without filters proves nothing, and a gateway may show further parameters of its own.

    Raises:
        MismatchedReplyError: the link shows other filters.
    """
    href = _mapping(_mapping(_pagination(content).get("links")).get("self")).get("href")
    query = href.partition("?")[2].partition("#")[0] if isinstance(href, str) else ""
    shown, sent = _filters(parse_qsl(query, keep_blank_values=True)), _filters(plain_params(params))
    common = shown.keys() & sent.keys()
    if (shown and sent and not common) or any(shown[name] != sent[name] for name in common):
        raise MismatchedReplyError(("links.self shows the filters of another request",))


def _filters(params: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: value for name, value in params if name not in _NOT_FILTERS and "-" not in name}  # no credentials


def check_rows(rows: Sequence[msgspec.Raw], params: Params) -> None:
    """Check that no row contradicts a filter.

    Only filters by ids and by codes with a name such as `status_id` are compared. A gateway compares texts in its own
    way: parts of them, or with other letters for accents. A value that is missing or null proves nothing.

    Raises:
        MismatchedReplyError: a row does, so the list is the response to another request.
    """
    wanted = {
        name: value
        for name, value in plain_params(params)
        if _COMPARED_FILTERS.fullmatch(name) and not _PATTERN_SYNTAX.search(value)
    }
    if not wanted:
        return
    alternatives = {name: frozenset(_alternatives(name, value)) for name, value in wanted.items()}
    decoder = _row_decoder(tuple(wanted))
    for row in rows:
        try:
            values = decoder.decode(row)
        except msgspec.ValidationError:
            continue  # not an object, which is reported when it is read
        for name, value in wanted.items():
            got = getattr(values, name)
            if _contradicts(alternatives[name], got):
                raise MismatchedReplyError((quote_text(f"{name} is {got!r}, not {value!r}"),))


def _alternatives(name: str, value: str) -> Iterator[str]:
    for text in value.split(","):
        yield text.strip().casefold()
    if name == "status_id" and not _CLOSED.isdisjoint(value.split(",")):
        yield from _CLOSED


def _contradicts(alternatives: Iterable[str], got: Any) -> bool:
    if got in (None, "") or isinstance(got, list | Mapping):
        return False
    if isinstance(got, str):
        return not any(each in got.casefold() for each in alternatives)  # a filter matches parts of a text
    return not any(same_value(each, got) for each in alternatives)


@lru_cache
def _row_decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(msgspec.defstruct("Row", [(name, Any, None) for name in names]))


def find_row(content: Any, plural: str, wanted: Mapping[str, str], params: Params = ()) -> Mapping[str, Any] | None:
    """Find the row with the wanted values in a requested list.

    `params` are the request's. Filters match parts of a text, so every row is compared. A row without a location
    may be the wanted one. None means that the first page is the complete list and does not contain the row.

    Raises:
        FieldError: the response is not a list, several rows have the wanted values, or the absence is not proven.
        MismatchedReplyError: the response is the list of another request.
    """
    check_link(content, params)
    page = read_page(content, plural, 1, _raw_row)
    rows = [row for row in page.records if all(_has_value(row, name, value) for name, value in wanted.items())]
    if len(rows) > 1:
        raise FieldError(f".{plural}", f"{len(rows)} {pluralize(len(rows), 'row')} have the id")
    if rows:
        return rows[0]
    check_complete(content, page)
    for row in page.records:
        _check_other(row, plural, wanted)
    if any(value and name != plural and isinstance(value, list) for name, value in content.items()):
        raise FieldError("", "a list of another resource")
    if any(character in value for value in wanted.values() for character in _FILTER_SYNTAX):
        raise FieldError(f".{plural}", "the id cannot be used in a filter, so its absence proves nothing")
    return None


def check_complete(content: Any, page: Page[Any]) -> None:
    """Check that the first page is certainly the whole list.

    Raises:
        FieldError: further rows may exist.
    """
    pagination, count = _pagination(content), len(page.records)
    if page.page_count is None and page.total_count is None:
        raise FieldError(".meta.pagination", "missing, so the list may be incomplete")
    if (page.page_count or 0) > 1 or (page.total_count or 0) > count:
        raise FieldError(".meta.pagination", "the list has more rows than were read")
    if pagination.get("currentPage") is not None and _count(pagination, "currentPage") not in (0, 1):
        raise FieldError(".meta.pagination.currentPage", "not the first page")
    size = _count(pagination, "perPage")
    if count >= (size or LISTED_ROWS) or (size is None and count in _DEFAULT_SIZES):
        raise FieldError(".meta.pagination", "the page is full, so the list may have more rows")


def _check_other(row: Mapping[str, Any], plural: str, wanted: Mapping[str, str]) -> None:
    """Check that a row is certainly another record, from a filtered list.

    Raises:
        FieldError: a row without its id, or one whose id nearly equals the wanted one, proves nothing. A row that does
            not match the filter shows that the gateway ignored it.
    """
    nearly_equal = True
    for name, value in wanted.items():
        got = "" if row.get(name) is None else str(row[name])
        is_near = got.strip().casefold() == value.strip().casefold()
        nearly_equal = nearly_equal and (is_near or (name == "location_id" and not got))
        if name != "location_id" and value.strip().casefold() not in got.casefold():
            raise FieldError(f".{plural}", f"a row does not match the filter by {name}, so the list may be another one")
    if nearly_equal:
        raise FieldError(f".{plural}", "the id of a row differs in letter case or spaces only")


def _raw_row(row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise FieldError("", "not an object")
    return row


def _has_value(row: Mapping[str, Any], name: str, value: str) -> bool:
    got = row.get(name)
    return str(got) == value or (name == "location_id" and got in (None, ""))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(pagination: Mapping[str, Any], name: str) -> int | None:
    value = pagination.get(name)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
