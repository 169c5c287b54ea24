"""Reminders about the due date of an invoice.

Its three `notification_*` fields control them. A reminder is sent while the invoice is open, not fully paid and not
expired, and only once for each occasion.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from gateway_async.sandbox.notifications.messages import tell_of_invoice
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import NOTICE, QUICK_INVOICE
from gateway_async.sandbox.state_machines.quick_invoices import State, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway_async.sandbox.notifications.messages import Occasion
    from gateway_async.sandbox.runtime.gateway import Gateway
    from gateway_async.sandbox.schema.fields import Row


_REMINDED = frozenset({State.OPEN_UNPAID, State.OPEN_IN_PART})


class Reminder(NamedTuple):
    """One planned reminder."""

    invoice: Row
    occasion: Occasion

    def tell(self, gateway: Gateway) -> None:
        """Send the reminder."""
        tell_of_invoice(gateway, self.invoice, self.occasion)


def plan(gateway: Gateway, after: date, until: date) -> dict[date, list[Reminder]]:
    """Return the reminders due after one day and up to another.

    They are grouped by the day whose midnight sends them.
    """
    sent = {(row["quick_invoice_id"], row["occasion"]) for row in gateway.store.select(NOTICE)}
    planned: defaultdict[date, list[Reminder]] = defaultdict(list)
    for invoice in gateway.store.select(QUICK_INVOICE, ALIVE):
        if state_of(invoice) not in _REMINDED:
            continue
        last = min(until.toordinal(), _last_day(invoice))
        for occasion, day in _occasions(invoice):
            if after.toordinal() < day <= last and (invoice["id"], occasion) not in sent:
                planned[date.fromordinal(day)].append(Reminder(invoice, occasion))
    return planned


def _occasions(invoice: Row) -> Iterator[tuple[Occasion, int]]:
    """Yield each occasion with its day, as an ordinal.

    An ordinal can also be a day after the year 9999, which a date cannot.
    """
    due = date.fromisoformat(invoice["due_date"]).toordinal()
    if (days := invoice["notification_days_before_due_date"]) is not None:
        yield "before due", due - days
    if invoice["notification_on_due_date"]:
        yield "due", due
    if (days := invoice["notification_days_after_due_date"]) is not None:
        yield "after due", due + days


def _last_day(invoice: Row) -> int:
    return date.fromisoformat(invoice["expire_date"] or date.max.isoformat()).toordinal()
