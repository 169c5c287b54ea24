"""The end-of-day jobs of a gateway.

They run at midnight UTC, once for each day that its clock passes. No day is skipped and no day runs twice. This holds
when the clock runs, jumps, is set back, or stops between two runs on one file. The cost of a jump depends on the work
to do, not on its length: after a day without changes, the loop skips to the next day that has work.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from gateway_async.sandbox.handlers.settlement import originate_overnight
from gateway_async.sandbox.handlers.transaction_batches import close_overnight
from gateway_async.sandbox.notifications import reminders
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.state_machines.transactions import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway_async.sandbox.runtime.gateway import Gateway
    from gateway_async.sandbox.simulators.clock import Timer

JOBS: tuple[Callable[[Gateway, date], None], ...] = (close_overnight, originate_overnight)
"""The jobs of every day, which run at the midnight that begins the day; the clock shows that time meanwhile."""

_DAY = timedelta(days=1)
_LAST = "last_night"


class Nights:
    """Schedules the end-of-day jobs of one gateway by its clock.

    Args:
        gateway: The gateway that runs the jobs.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._midnight: Timer | None = None

    def begin(self) -> None:
        """Run the jobs missed since the last run, and schedule later ones."""
        self._gateway.clock.on_move = self._catch_up
        if _LAST not in self._gateway.store.settings():
            forget(self._gateway)
        self._catch_up()

    def _catch_up(self) -> None:
        gateway = self._gateway
        if self._midnight:
            self._midnight.cancel()
        last, today = date.fromisoformat(gateway.store.settings()[_LAST]), gateway.clock.date().date()
        if last < today:
            with gateway.store.transaction():
                _pass(gateway, last, today)
                _note(gateway, today)
        self._midnight = gateway.clock.call_at(_midnight(today + _DAY), self._catch_up)


def forget(gateway: Gateway) -> None:
    """Mark all days up to today as done, without running their jobs."""
    _note(gateway, gateway.clock.date().date())


def _pass(gateway: Gateway, last: date, today: date) -> None:
    planned, day = reminders.plan(gateway, last, today), last + _DAY
    awaited = deque([*sorted({*planned, *_effective_days(gateway, last, today)}), today + _DAY])
    while day <= today:
        before = gateway.store.changes
        with gateway.clock.showing(_midnight(day)):
            for job in JOBS:
                job(gateway, day)
            for reminder in planned.get(day, ()):
                reminder.tell(gateway)
        while awaited[0] <= day:
            awaited.popleft()
        day = day + _DAY if gateway.store.changes > before else awaited[0]


def _effective_days(gateway: Gateway, last: date, today: date) -> set[date]:
    """Return the days on which bank payments may start to be processed."""
    where = "status_id = ? AND effective_date > ? AND effective_date <= ?"
    values = (State.PENDING_ORIGINATION, last.isoformat(), today.isoformat())
    return {date.fromisoformat(row["effective_date"]) for row in gateway.store.select(TRANSACTION, where, values)}


def _note(gateway: Gateway, night: date) -> None:
    gateway.store.set(_LAST, night.isoformat())


def _midnight(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()
