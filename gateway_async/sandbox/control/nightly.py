"""What a gateway does at midnight UTC, once for each day that its clock passes.

The law of this file: no night is left out and none comes twice, whether the clock runs, jumps, is set
back or stood still between two runs on one file. A jump costs what there is to do, not how far it goes:
a night in which nothing happened is followed by others like it, until a day that something waits for.
"""

from __future__ import annotations

from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from gateway_async.sandbox.notices import reminders
from gateway_async.sandbox.nouns.settlement import originate_overnight
from gateway_async.sandbox.nouns.transaction_batches import close_overnight
from gateway_async.sandbox.states.transactions import State
from gateway_async.sandbox.tables import TRANSACTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.simulators.clock import Timer

JOBS: tuple[Callable[[Gateway, date], None], ...] = (close_overnight, originate_overnight)
"""What every night does, at the midnight at which the day begins; the clock shows it meanwhile."""

_DAY = timedelta(days=1)
_LAST = "last_night"


class Nights:
    """The nights of one gateway, which come with its clock.

    Args:
        gateway: Whose clock it is.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._midnight: Timer | None = None

    def begin(self) -> None:
        """Pass the nights since the last run, if there was one, and from now on each as it comes."""
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
    """Begin anew: the nights up to today are over."""
    _note(gateway, gateway.clock.date().date())


def _pass(gateway: Gateway, last: date, today: date) -> None:
    planned, night = reminders.plan(gateway, last, today), last + _DAY
    awaited = deque([*sorted({*planned, *_effective_days(gateway, last, today)}), today + _DAY])
    while night <= today:
        before = gateway.store.changes
        with gateway.clock.showing(_midnight(night)):
            for job in JOBS:
                job(gateway, night)
            for reminder in planned.get(night, ()):
                reminder.tell(gateway)
        while awaited[0] <= night:
            awaited.popleft()
        night = night + _DAY if gateway.store.changes > before else awaited[0]


def _effective_days(gateway: Gateway, last: date, today: date) -> set[date]:
    """The days on which bank payments may begin to move."""
    where = "status_id = ? AND effective_date > ? AND effective_date <= ?"
    values = (State.PENDING_ORIGINATION, last.isoformat(), today.isoformat())
    return {date.fromisoformat(row["effective_date"]) for row in gateway.store.select(TRANSACTION, where, values)}


def _note(gateway: Gateway, night: date) -> None:
    gateway.store.set(_LAST, night.isoformat())


def _midnight(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()
