"""Lookup of skipped or deferred charges, by comparing a recurring before and after the write.

The recurring is read before the write with its transactions, and again if the response is lost. Each charge that ran in
the meantime has moved the next charge by one interval. A payment of a declined charge moves nothing. A skip or a
deferral moves the next charge further:

- if it has moved by the charges that ran and by those to skip, the write was executed;
- if it has moved by fewer than those to skip, or the end has not moved with it, the write was not executed so far;
- in every other case, the outcome stays unknown.

Gateways may count months differently at the end of a month, so dates may differ by three days.
"""

from calendar import monthrange
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any, Final

import attrs

from gateway_async._wire.call import Call, HttpRequest, Lookup, LookupResult, LookupStatus, OutcomeQuery, Recovery
from gateway_async._wire.convert import FieldError
from gateway_async._wire.evidence import EXISTS
from gateway_async._wire.query import expansion, segment
from gateway_async._wire.resource import ResourceSpec
from gateway_async._wire.response_matching import check_belongs
from gateway_async._wire.rows import structure
from gateway_async.errors import MismatchedReplyError
from gateway_async.models.codes import IntervalType
from gateway_async.models.recurrings import Recurring

Spec = ResourceSpec[Recurring]

SCHEDULE_CHANGE: Final = "schedule_change"
"""The kind of such an outcome query. Ledgers on disk contain this value, so its meaning must never change."""

_DAYS: Final[Mapping[str, int]] = {IntervalType.DAY: 1, IntervalType.WEEK: 7}
_DAYS_OF_MONTH: Final = 30.44
_TOLERANCE: Final = 3
"""Days by which the same day of another month may be counted differently."""


@attrs.frozen(kw_only=True)
class _Schedule:
    """The facts of a recurring that a skip or a deferral changes, as plain values that a ledger can store."""

    next_run_date: str | None
    end_date: str | None
    interval: int | None
    interval_type: str | None
    transaction_ids: list[str] | None


def with_schedule_lookup(
    call: Call[Recurring],
    spec: Spec,
    id: str,  # noqa: A002
    expected_shift: Mapping[str, int],
) -> Call[Recurring]:
    """Add this lookup to a skip or a deferral. Its prerequisite reads the recurring.

    Args:
        call: the write.
        spec: the resource of the recurring.
        id: the recurring's id.
        expected_shift: `next_run_date` and `end_date` → the number of intervals by which the write moves them.

    Raises:
        InvalidRequestError: the id cannot be sent.
    """

    def add_lookup(content: Any) -> Call[Recurring]:
        schedule = _schedule(_read(spec, id, content))
        outcome_query = OutcomeQuery(
            kind=SCHEDULE_CHANGE,
            resource=spec.resource,
            id=id,
            evidence=EXISTS.name,
            sent={"before": attrs.asdict(schedule), "expected_shift": dict(expected_shift)},
        )

        def read(content: Any) -> Recurring:
            record = call.read(content)
            _check_moved(schedule, _schedule(record), expected_shift)
            return record

        entry = call.ledger_entry and attrs.evolve(call.ledger_entry, outcome_query=outcome_query)
        recovery = Recovery(lookup=partial(schedule_change, spec, outcome_query))
        return attrs.evolve(call, read=read, recovery=recovery, ledger_entry=entry, prerequisite=None)

    before = Call(request=_request(spec, id), read=add_lookup, fresh_connection=True)
    return attrs.evolve(call, prerequisite=before)


def schedule_change(spec: Spec, outcome_query: OutcomeQuery) -> Lookup[Recurring]:
    """Build the lookup for an outcome query of `with_schedule_lookup`."""
    before = _Schedule(**outcome_query.sent["before"])
    expected_shift = outcome_query.sent["expected_shift"]

    def read(content: Any) -> LookupResult[Recurring]:
        record = _read(spec, outcome_query.id, content)
        if _was_executed(before, _schedule(record), expected_shift):
            return LookupResult(LookupStatus.EXECUTED, record)
        return LookupResult(LookupStatus.NOT_EXECUTED)

    return Lookup(request=_request(spec, outcome_query.id), read=read)


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


def _request(spec: Spec, id: str) -> HttpRequest:  # noqa: A002
    return HttpRequest(path=f"{spec.path}/{segment(id)}", params=expansion(("transactions",)))


def _read(spec: Spec, id: str, content: Any) -> Recurring:  # noqa: A002
    data = spec.unwrap(content)
    check_belongs({"id": id}, data)
    return structure(spec.record, data)


def _schedule(record: Recurring) -> _Schedule:
    return _Schedule(
        next_run_date=_format_date(record.next_run_date),
        end_date=_format_date(record.end_date),
        interval=record.interval,
        interval_type=None if record.interval_type is None else str(record.interval_type),
        transaction_ids=_ids(record.extra.get("transactions")),
    )


def _format_date(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _ids(records: Any) -> list[str] | None:
    if not isinstance(records, list) or not all(isinstance(each, dict) and each.get("id") for each in records):
        return None
    return [str(each["id"]) for each in records]


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
