"""Reminders about the due date of an invoice.

The three `notification_*` fields of the invoice control them. A reminder is sent while the invoice is open, not fully
paid and not expired, and only once for each event.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date

from gateway_async.sandbox.notifications.messages import MessageOccasion
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import MESSAGE, QUICK_INVOICE
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.state_machines.quick_invoices import InvoiceState, invoice_state_of

__all__ = ["plan"]


_REMINDED_STATES = frozenset({InvoiceState.OPEN_UNPAID, InvoiceState.OPEN_IN_PART})


def plan(gateway: Gateway, after: date, until: date) -> dict[date, list[tuple[Row, MessageOccasion]]]:
    """Return the reminders due after one day and up to another: invoice and event.

    They are grouped by the day whose midnight sends them.
    """
    sent = {(row["quick_invoice_id"], row["event"]) for row in gateway.store.select(MESSAGE)}
    planned: defaultdict[date, list[tuple[Row, MessageOccasion]]] = defaultdict(list)
    for invoice in gateway.store.select(QUICK_INVOICE, ALIVE):
        if invoice_state_of(invoice) not in _REMINDED_STATES:
            continue
        last = min(until, date.fromisoformat(invoice["expire_date"] or date.max.isoformat())).toordinal()
        for event, day in _events(invoice):
            if after.toordinal() < day <= last and (invoice["id"], event) not in sent:
                planned[date.fromordinal(day)].append((invoice, event))
    return planned


def _events(invoice: Row) -> Iterator[tuple[MessageOccasion, int]]:
    """Yield each event with its day, as an ordinal.

    An ordinal can represent a day after the year 9999, and a date cannot.
    """
    due = date.fromisoformat(invoice["due_date"]).toordinal()
    if (days := invoice["notification_days_before_due_date"]) is not None:
        yield "before due", due - days
    if invoice["notification_on_due_date"]:
        yield "due", due
    if (days := invoice["notification_days_after_due_date"]) is not None:
        yield "after due", due + days
