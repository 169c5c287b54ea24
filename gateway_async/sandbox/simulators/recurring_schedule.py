"""The dates on which a recurring is charged.

A monthly charge keeps the day of `start_date`. In a shorter month it is on the last day. No date is after the year
9999.
"""

from calendar import monthrange
from collections.abc import Iterator
from datetime import MAXYEAR, date, timedelta

from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import NO_DATE

__all__ = ["INTERVAL_TYPES", "advance", "dates_until", "end_of_plan", "first_date_from", "move_end"]


_DAYS = {"d": 1, "w": 7}
_DAY = timedelta(days=1)

INTERVAL_TYPES = ("d", "w", "m")
"""Days, weeks and months."""


def advance(recurring: Row, day: str, count: int) -> str:
    """Return the date `count` intervals after a date."""
    return _advance(recurring, date.fromisoformat(day), count).isoformat()


def end_of_plan(recurring: Row) -> str:
    """Return the end date of an installment plan: the day before the charge after the last one."""
    after_last = _advance(recurring, _start(recurring), recurring["installment_total_count"])
    return (after_last - _DAY).isoformat()


def move_end(recurring: Row, count: int) -> str:
    """Return the end date, `count` intervals later."""
    after_end = min(date.fromisoformat(recurring["end_date"]), date.max - _DAY) + _DAY
    return (_advance(recurring, after_end, count) - _DAY).isoformat()


def first_date_from(recurring: Row, day: str, today: str) -> str:
    """Return the first date of a schedule that is not before today.

    `day` is a date of the schedule.
    """
    first, earliest = date.fromisoformat(day), date.fromisoformat(today)
    if first >= earliest:
        return day
    longest = recurring["interval"] * (_DAYS.get(recurring["interval_type"]) or 31)
    count = (earliest - first).days // longest
    while (found := _advance(recurring, first, count)) < earliest:
        count += 1
    return found.isoformat()


def dates_until(recurring: Row, last: date) -> Iterator[date]:
    """Yield the dates of the next charges up to a day."""
    if recurring["next_run_date"] == NO_DATE:
        return
    end = last if recurring["end_date"] == NO_DATE else min(last, date.fromisoformat(recurring["end_date"]))
    day = date.fromisoformat(recurring["next_run_date"])
    while day <= end:
        yield day
        if day == date.max:
            return
        day = _advance(recurring, day, 1)


def _start(recurring: Row) -> date:
    return date.fromisoformat(recurring["start_date"])


def _advance(recurring: Row, day: date, count: int) -> date:
    number = recurring["interval"] * count
    if recurring["interval_type"] != "m":
        days = number * _DAYS[recurring["interval_type"]]
        return day + timedelta(days=min(days, (date.max - day).days))
    years, month = divmod(day.month - 1 + number, 12)
    if day.year + years > MAXYEAR:
        return date.max
    wanted = _day_of_month(_start(recurring), day)
    return date(day.year + years, month + 1, min(wanted, monthrange(day.year + years, month + 1)[1]))


def _day_of_month(start: date, day: date) -> int:
    """Return the schedule's day of the month.

    A short month may have cut it off.
    """
    is_cut = day.day == monthrange(day.year, day.month)[1] < start.day
    return start.day if is_cut else day.day
