"""Lookups that compare a snapshot from before the write with what is there afterwards.

They find the outcome of a write that no record shows by itself. The snapshot is read before the write and kept in the
outcome query.

**New record**, for a create without an integrator id: the snapshot has the ids in a list.

- One new row with the sent values is the record of the write.
- Without a new row in a complete list, the write was not executed so far.
- With several such rows, or new rows with other values only, the outcome stays unknown.

A row is new if its id was not in a complete list before. If that list was not complete, the row may have moved up, and
only its time of creation shows that it is new. An older row leaves the outcome unknown, because the gateway's clock may
have stepped back. Gateways match filters against parts of a text, so every row is also compared here.

**Schedule change**, for skipped or deferred charges: the snapshot has the dates and the transactions of a recurring.
Each charge that ran in the meantime has moved the next charge by one interval. A payment of a declined charge moves
nothing. A skip or a deferral moves the next charge further.

- If it has moved by the charges that ran and by those to skip, the write was executed.
- If it has moved by fewer than those to skip, or the end has not moved with it, the write was not executed so far.
- In every other case, the outcome stays unknown.
"""

from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeVar

import attrs

from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus, OutcomeQuery, Recovery
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import EXISTS
from gateway_async._wire.pagination import LISTED_ROWS, check_complete, check_link, read_page
from gateway_async._wire.query import expansion, filters, segment
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import check_belongs, find_differences
from gateway_async._wire.rows import structure
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.codes import IntervalType
from gateway_async.models.record import Record
from gateway_async.models.recurrings import Recurring

R = TypeVar("R", bound=Record)
T = TypeVar("T")
Spec = ResourceSpec[Recurring]

NEW_RECORD: Final = "new_record"
SCHEDULE_CHANGE: Final = "schedule_change"
"""The kinds of these outcome queries. Ledgers on disk contain the values, so their meaning must never change."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_DAYS: Final[Mapping[str, int]] = {IntervalType.DAY: 1, IntervalType.WEEK: 7}
_DAYS_OF_MONTH: Final = 30.44
_TOLERANCE: Final = 3
"""Slack in days: gateways may count months differently at the end of a month."""


# --- new record


def with_new_record_lookup(
    call: Call[R],
    spec: ResourceSpec[R],
    expected: Mapping[str, Any],
    *,
    values: Mapping[str, Any] = _NOTHING,
    in_response: Mapping[str, Any] | None = None,
    response_spec: ResourceSpec[R] | None = None,
) -> Call[R]:
    """Add the lookup of a new record to a create. Its prerequisite reads the existing records.

    Args:
        call: creates the record.
        spec: the resource that lists the record.
        expected: values by which the list is filtered, and which the new record has, such as its contact.
        values: other sent values of the new record. One that a record does not show proves nothing.
        in_response: values that the response to the create must not contradict; those of `expected` by default.
        response_spec: reads that response, if it is not `spec`.
    """

    def add_lookup(outcome_query: OutcomeQuery) -> Call[R]:
        def read(content: Any) -> R:
            record = (response_spec or spec).unwrap(content)
            check_belongs({**expected, **values} if in_response is None else in_response, record)
            check_new(outcome_query, record)
            return call.read(content)

        return call.with_recovery(outcome_query, Recovery(lookup=partial(new_record, spec, outcome_query)), read)

    return attrs.evolve(call, prerequisite=read_before(spec, expected, add_lookup, values))


def read_before(
    spec: ResourceSpec[R],
    expected: Mapping[str, Any],
    then: Callable[[OutcomeQuery], T],
    values: Mapping[str, Any] = _NOTHING,
) -> Call[T]:
    """Build the read of the existing records before a write.

    Args:
        spec: the resource that the write creates.
        expected: values by which the list is filtered, and which the new record will have, such as its contact.
        then: builds the result of the read from the outcome query that finds the new record.
        values: other values that the new record will have.
    """

    def read(content: Any) -> T:
        rows, is_complete = _rows(spec, content, expected)
        ids, created_ts = [str(row["id"]) for row in rows], max(map(_created_ts, rows), default=0)
        before = {"ids": ids, "created_ts": created_ts, "is_complete": is_complete}
        sent = before | ({"values": dict(values)} if values else {})
        return then(
            OutcomeQuery(
                kind=NEW_RECORD, resource=spec.resource, id="", expected=expected, evidence=EXISTS.name, sent=sent
            )
        )

    return Call(request=_list_newest(spec, expected), read=read, fresh_connection=True)


def new_record(spec: ResourceSpec[R], outcome_query: OutcomeQuery) -> Lookup[R]:
    """Build the lookup for an outcome query of `read_before`."""
    known, since = set(outcome_query.sent["ids"]), outcome_query.sent["created_ts"]
    was_complete = outcome_query.sent.get("is_complete", False)
    values = outcome_query.sent.get("values", _NOTHING)

    def read(content: Any) -> LookupResult[R]:
        rows, is_complete = _rows(spec, content, outcome_query.expected)
        unknown = [row for row in rows if str(row["id"]) not in known]
        if spec.api_id:  # a row with an integrator id is of another call
            unknown = [row for row in unknown if not row.get(spec.api_id)]
        new = [row for row in unknown if was_complete or _created_ts(row) >= since]
        if new:
            return LookupResult(LookupStatus.EXECUTED, structure(spec.record, _only_match(spec, new, values)))
        if unknown or not is_complete:
            raise FieldError(f".{spec.plural}", "the list has more rows than were read, so one may be new")
        return LookupResult(LookupStatus.NOT_EXECUTED)

    return Lookup(request=_list_newest(spec, outcome_query.expected), read=read)


def _only_match(spec: ResourceSpec[Any], new: list[Mapping[str, Any]], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only new row that has the sent values.

    Raises:
        FieldError: no row has them, so a gateway may have changed them; or several rows have them.
    """
    matching = [row for row in new if not find_differences(values, row)]
    if len(matching) == 1:
        return matching[0]
    ids = mask_text(", ".join(str(row["id"]) for row in matching or new))
    raise FieldError(f".{spec.plural}", f"several records are new: {ids}" if matching else f"not as sent: {ids}")


def check_new(outcome_query: OutcomeQuery, record: Mapping[str, Any]) -> None:
    """Check that the raw record in the write's own response is new.

    Raises:
        MismatchedReplyError: the record existed before the write, so the response answers another request.
    """
    if str(record.get("id")) in outcome_query.sent["ids"]:
        raise MismatchedReplyError(("id is that of a record that existed before",))


def _list_newest(spec: ResourceSpec[Any], expected: Mapping[str, Any]) -> HttpRequest:
    params = (*filters(expected), ("sort", "-created_ts"), ("page", "1"), ("page_size", str(LISTED_ROWS)))
    return HttpRequest(path=spec.path, params=params)


def _rows(spec: ResourceSpec[Any], content: Any, expected: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], bool]:
    """Return the rows with the expected values, and whether all are there.

    Raises:
        FieldError: `content` is not a list of such records.
        MismatchedReplyError: it is the list of another request.
    """
    check_link(content, _list_newest(spec, expected).params)
    page = read_page(content, spec.plural, 1, lambda row: row)
    if not all(isinstance(row, dict) and row.get("id") for row in page.records):
        raise FieldError(f".{spec.plural}", "not a list of records")
    if page.page_count is None and page.total_count is None:
        raise FieldError(".meta.pagination", "missing, so the list may be incomplete")
    try:
        check_complete(content, page)
        is_complete = True
    except FieldError:
        is_complete = False
    rows = [row for row in page.records if all(str(row.get(name)) == str(value) for name, value in expected.items())]
    return rows, is_complete


def _created_ts(row: Mapping[str, Any]) -> int:
    created = str(row.get("created_ts"))
    return int(created) if created.isascii() and created.isdigit() else 0


# --- schedule change


@attrs.frozen(kw_only=True)
class _Schedule:
    """The schedule of a recurring, as plain values that a ledger can store."""

    next_run_date: str | None
    end_date: str | None
    interval: int | None
    interval_type: str | None
    transaction_ids: list[str] | None

    @classmethod
    def of(cls, record: Recurring) -> "_Schedule":
        return cls(
            next_run_date=record.next_run_date.isoformat() if record.next_run_date else None,
            end_date=record.end_date.isoformat() if record.end_date else None,
            interval=record.interval,
            interval_type=None if record.interval_type is None else str(record.interval_type),
            transaction_ids=_ids(record.extra.get("transactions")),
        )


def _ids(records: Any) -> list[str] | None:
    if not isinstance(records, list) or not all(isinstance(each, dict) and each.get("id") for each in records):
        return None
    return [str(each["id"]) for each in records]


def with_schedule_lookup(
    call: Call[Recurring],
    spec: Spec,
    id: str,
    expected_shift: Mapping[str, int],
) -> Call[Recurring]:
    """Add the lookup of a schedule change to a skip or a deferral. Its prerequisite reads the recurring.

    Args:
        call: the write.
        spec: the resource of the recurring.
        id: the recurring's id.
        expected_shift: `next_run_date` and `end_date` → the number of intervals by which the write moves them.

    Raises:
        InvalidRequestError: the id cannot be sent.
    """

    def add_lookup(content: Any) -> Call[Recurring]:
        before = _Schedule.of(_read_recurring(spec, id, content))
        outcome_query = OutcomeQuery(
            kind=SCHEDULE_CHANGE,
            resource=spec.resource,
            id=id,
            evidence=EXISTS.name,
            sent={"before": attrs.asdict(before), "expected_shift": dict(expected_shift)},
        )

        def read(content: Any) -> Recurring:
            record = call.read(content)
            _check_moved(before, _Schedule.of(record), expected_shift)
            return record

        return call.with_recovery(outcome_query, Recovery(lookup=partial(schedule_change, spec, outcome_query)), read)

    request = _recurring_request(spec, id)
    return attrs.evolve(call, prerequisite=Call(request=request, read=add_lookup, fresh_connection=True))


def schedule_change(spec: Spec, outcome_query: OutcomeQuery) -> Lookup[Recurring]:
    """Build the lookup for an outcome query of `with_schedule_lookup`."""
    before = _Schedule(**outcome_query.sent["before"])
    expected_shift = outcome_query.sent["expected_shift"]

    def read(content: Any) -> LookupResult[Recurring]:
        record = _read_recurring(spec, outcome_query.id, content)
        if _was_executed(before, _Schedule.of(record), expected_shift):
            return LookupResult(LookupStatus.EXECUTED, record)
        return LookupResult(LookupStatus.NOT_EXECUTED)

    return Lookup(request=_recurring_request(spec, outcome_query.id), read=read)


def _recurring_request(spec: Spec, id: str) -> HttpRequest:
    return HttpRequest(path=f"{spec.path}/{segment(id)}", params=expansion(("transactions",)))


def _read_recurring(spec: Spec, id: str, content: Any) -> Recurring:
    data = spec.unwrap(content)
    check_belongs({"id": id}, data)
    return structure(spec.record, data)


def _check_moved(before: _Schedule, after: _Schedule, expected_shift: Mapping[str, int]) -> None:
    """Check that the response to the write shows the moved schedule. It does not show the charges that ran meanwhile.

    Raises:
        MismatchedReplyError: the next charge has not moved, so the schedule is that from before the write.
        FieldError: it has moved otherwise, or the response does not show it.
    """
    if before.next_run_date is not None and before.next_run_date == after.next_run_date:
        raise MismatchedReplyError((f"next_run_date is still {after.next_run_date}",))
    if before.next_run_date is None or not before.interval:
        return
    runs_unknown = attrs.evolve(before, transaction_ids=[]), attrs.evolve(after, transaction_ids=[])
    if not _was_executed(*runs_unknown, expected_shift):
        raise FieldError(".recurring.next_run_date", "it has not moved as the call moves it")


def _was_executed(before: _Schedule, after: _Schedule, expected_shift: Mapping[str, int]) -> bool:
    """Return whether the schedule has moved as the write moves it.

    Raises:
        FieldError: the schedules do not tell.
    """
    if before.transaction_ids is None or after.transaction_ids is None:
        raise FieldError(".recurring.transactions", "missing, so a charge may have run")
    runs = len(set(after.transaction_ids) - set(before.transaction_ids))
    next_moved = _intervals(before, before.next_run_date, after.next_run_date)
    end_moved = 0 if before.end_date == after.end_date else _intervals(before, before.end_date, after.end_date)
    if (next_moved, end_moved) == (runs + expected_shift["next_run_date"], expected_shift["end_date"]):
        return True
    if 0 <= next_moved <= runs and end_moved == 0:
        if next_moved < expected_shift["next_run_date"] or expected_shift["end_date"]:
            return False
        raise FieldError(".recurring.next_run_date", "it has moved by a charge or by this call")
    raise FieldError(".recurring.next_run_date", "it has moved by another number of intervals")


def _intervals(schedule: _Schedule, start: str | None, end: str | None) -> int:
    """Return the number of intervals between two dates.

    Raises:
        FieldError: it is not a whole number, or a date or the interval is missing.
    """
    if start is None or end is None or not schedule.interval:
        raise FieldError(".recurring", "it shows no next charge, no end or no interval")
    first, last = date.fromisoformat(start), date.fromisoformat(end)
    days = (last - first).days
    if schedule.interval_type == IntervalType.MONTH:
        number = round(days / (_DAYS_OF_MONTH * schedule.interval))
        fits = abs((_add_months(first, number * schedule.interval) - last).days) <= _TOLERANCE
    else:
        number, rest = divmod(days, schedule.interval * _DAYS.get(schedule.interval_type or "", 1))
        fits = not rest and schedule.interval_type in _DAYS
    if not fits:
        raise FieldError(".recurring", "its dates are not a number of intervals apart")
    return number


def _add_months(day: date, months: int) -> date:
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
