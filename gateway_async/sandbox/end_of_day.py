"""The end-of-day jobs of a gateway.

They run at midnight UTC, once for each day that its clock passes. No day is skipped and no day runs twice. This holds
when the clock runs, jumps, is set back, or stops between two runs on one file. The cost of a jump depends on the work
to do, not on its length: after a day without changes, the loop skips to the next day that has work.
"""

from collections import deque
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from gateway_async.sandbox.handlers.recurring_charges import days_with_charges, run_charges
from gateway_async.sandbox.handlers.transaction_batches import advance_bank_payments, settle_open_batches
from gateway_async.sandbox.notifications import notify_about_invoice, plan_reminders
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.simulators.clock import Timer
from gateway_async.sandbox.state_machines.transactions import TransactionState

_JOBS: tuple[Callable[[Gateway, date], None], ...] = (
    settle_open_batches,
    advance_bank_payments,
    run_charges,
)
"""The jobs of every day, which run at the midnight that begins the day; the clock shows that time meanwhile."""

_DAY = timedelta(days=1)
_LAST_DAY_SETTING = "last_end_of_day"
"""The setting with the last day whose jobs have run."""


class EndOfDayScheduler:
    """Runs the end-of-day jobs of one gateway by its clock."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._timer: Timer | None = None

    def start(self) -> None:
        """Run the jobs missed since the last run, and schedule later ones."""
        self._gateway.clock.on_move = self._catch_up
        if _LAST_DAY_SETTING not in self._gateway.store.read_settings():
            skip_to_today(self._gateway)
        self._catch_up()

    def _catch_up(self) -> None:
        gateway = self._gateway
        if self._timer:
            self._timer.cancel()
        last = date.fromisoformat(gateway.store.read_settings()[_LAST_DAY_SETTING])
        today = gateway.clock.today()
        if last < today:
            with gateway.store.transaction():
                _run_days(gateway, last, today)
                skip_to_today(gateway)
        self._timer = gateway.clock.call_at(_midnight(today + _DAY), self._catch_up)


def skip_to_today(gateway: Gateway) -> None:
    """Record the jobs of all days up to today as done."""
    gateway.store.write_setting(_LAST_DAY_SETTING, gateway.clock.today().isoformat())


def _run_days(gateway: Gateway, last: date, today: date) -> None:
    planned = plan_reminders(gateway, last, today)
    work = {*planned, *_effective_days(gateway, last, today), *days_with_charges(gateway, last, today)}
    days_with_work = deque([*sorted(work), today + _DAY])
    day = last + _DAY
    while day <= today:
        before = gateway.store.change_count
        with gateway.clock.at_time(_midnight(day)):
            for job in _JOBS:
                job(gateway, day)
            for invoice, event in planned.get(day, ()):
                notify_about_invoice(gateway, invoice, event)
        while days_with_work[0] <= day:
            days_with_work.popleft()
        day = day + _DAY if gateway.store.change_count > before else days_with_work[0]


def _effective_days(gateway: Gateway, last: date, today: date) -> set[date]:
    """The days on which bank payments may start to be processed."""
    where = "status_id = ? AND effective_date > ? AND effective_date <= ?"
    values = (TransactionState.PENDING_ORIGINATION, last.isoformat(), today.isoformat())
    return {date.fromisoformat(row["effective_date"]) for row in gateway.store.select(TRANSACTION, where, values)}


def _midnight(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()
