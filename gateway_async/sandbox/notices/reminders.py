"""Reminders: the notices that the due date of an invoice brings, by its three `notification_*` fields.

An invoice is reminded of while it is open, unpaid in part or whole, and not expired; of each occasion once.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from gateway_async.sandbox.instance.store import ALIVE
from gateway_async.sandbox.notices.messages import tell_of_invoice
from gateway_async.sandbox.states.quick_invoices import State, state_of
from gateway_async.sandbox.tables import NOTICE, QUICK_INVOICE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.notices.messages import Occasion
    from gateway_async.sandbox.tables.fields import Row


_REMINDED = frozenset({State.OPEN_UNPAID, State.OPEN_IN_PART})


class Reminder(NamedTuple):
    """One notice to come."""

    invoice: Row
    occasion: Occasion

    def tell(self, gateway: Gateway) -> None:
        """Send it."""
        tell_of_invoice(gateway, self.invoice, self.occasion)


def plan(gateway: Gateway, after: date, until: date) -> dict[date, list[Reminder]]:
    """The reminders that fall due after a day and until another, by the day whose midnight brings them."""
    told = {(row["quick_invoice_id"], row["occasion"]) for row in gateway.store.select(NOTICE)}
    planned: defaultdict[date, list[Reminder]] = defaultdict(list)
    for invoice in gateway.store.select(QUICK_INVOICE, ALIVE):
        if state_of(invoice) not in _REMINDED:
            continue
        last = min(until.toordinal(), _last_day(invoice))
        for occasion, day in _occasions(invoice):
            if after.toordinal() < day <= last and (invoice["id"], occasion) not in told:
                planned[date.fromordinal(day)].append(Reminder(invoice, occasion))
    return planned


def _occasions(invoice: Row) -> Iterator[tuple[Occasion, int]]:
    """Each occasion with its day, as an ordinal: a date of the year 9999 has days after it too."""
    due = date.fromisoformat(invoice["due_date"]).toordinal()
    if (days := invoice["notification_days_before_due_date"]) is not None:
        yield "before due", due - days
    if invoice["notification_on_due_date"]:
        yield "due", due
    if (days := invoice["notification_days_after_due_date"]) is not None:
        yield "after due", due + days


def _last_day(invoice: Row) -> int:
    return date.fromisoformat(invoice["expire_date"] or date.max.isoformat()).toordinal()
