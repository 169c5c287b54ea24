"""The control actions of a gateway.

They control faults and terminals, pay invoices and paylinks, read the ledger, and reset the gateway. An invalid
argument raises a ValueError whose message begins with the name of the argument.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import get_args

import msgspec

from gateway_async.sandbox.admin import end_of_day, seed
from gateway_async.sandbox.admin.fault_effects import close_port
from gateway_async.sandbox.admin.ledger import COUNTED_EFFECTS
from gateway_async.sandbox.handlers import (
    bank_returns,
    card_updates,
    invoice_payments,
    paylinks,
    payment_pages,
    transaction_batches,
)
from gateway_async.sandbox.handlers.payment_pages import AmountInput
from gateway_async.sandbox.http.errors import UnknownRecordError, unknown_name
from gateway_async.sandbox.http.responses import decode_json
from gateway_async.sandbox.request.records import make_links
from gateway_async.sandbox.routes import OPERATIONS, is_operation
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.runtime.postback_delivery import PostbackFormat, check_format
from gateway_async.sandbox.runtime.store import ALIVE
from gateway_async.sandbox.schema import ACCOUNT_VAULT, TERMINAL, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.cards import Account, EntryMode, check_expiry, read_card
from gateway_async.sandbox.simulators.faults import PlannedFault
from gateway_async.sandbox.simulators.scenarios import make_plans
from gateway_async.sandbox.simulators.terminals import TerminalSimulator

__all__ = [
    "add_fault",
    "add_scenario",
    "add_terminal",
    "add_ticket",
    "clear_faults",
    "faults",
    "isolate_payment",
    "ledger",
    "operate_terminal",
    "pay",
    "process_batch",
    "reset",
    "return_payment",
    "set_postback_format",
    "settle_batch",
    "terminal",
    "terminals",
    "update_card",
    "use_card",
    "wait_for_call",
    "wait_until_idle",
]


_EXP_DATE = "1230"
"""The expiry of cards that customers enter on payment pages."""

_LONGEST_TITLE = 64

_PAGES = {page.table.plural: page for page in (invoice_payments.INVOICE_PAGE, paylinks.PAYLINK_PAGE)}

_SUMMARY_FIELDS = (
    "id",
    "location_id",
    "transaction_api_id",
    "account_vault_api_id",
    "account_vault_id",
    "transaction_amount",
    "auth_amount",
    "status_id",
    "type_id",
    "reason_code_id",
    "trx_source_id",
    "last_four",
    "is_open",
    "processing_status_id",
    "created_ts",
)


async def add_fault(gateway: Gateway, plan: PlannedFault) -> None:
    """Add a fault plan; a `refuse` of the first request closes the port at once.

    Raises:
        ValueError: The plan is inconsistent, or its operation is unknown.
    """
    plan.check()
    if not is_operation(plan.operation):
        method, _, path = plan.operation.partition(" ")
        expected = "must be a method and a path of the gateway, as in POST /v2/transactions"
        raise unknown_name("operation", f"{method.upper()} {path}", OPERATIONS, expected)
    if plan.starts_immediately:
        await close_port(gateway, plan.seconds)
    else:
        gateway.faults.append(plan)


async def add_scenario(gateway: Gateway, scenario: str) -> list[Row]:
    """Add the fault plans of a named scenario, and describe them.

    Raises:
        ValueError: The scenario is unknown.
    """
    plans = make_plans(scenario)
    for plan in plans:
        await add_fault(gateway, plan)
    return [plan.describe() for plan in plans]


def faults(gateway: Gateway) -> list[Row]:
    """Return the active plans and how many requests each has affected."""
    return [plan.describe() for plan in gateway.faults]


async def clear_faults(gateway: Gateway) -> None:
    """Remove every plan."""
    gateway.faults.clear()
    await gateway.listener.resume()


def ledger(gateway: Gateway) -> Row:
    """Count how often each integrator id was charged, refunded or stored.

    The result includes the records.
    """
    counts = {name: effect.count_by_id(gateway) for name, effect in COUNTED_EFFECTS.items()}
    tables = (TRANSACTION, ACCOUNT_VAULT, TRANSACTION_BATCH)
    return counts | {table.plural: [_summarize(table, row) for row in gateway.store.select(table)] for table in tables}


def _summarize(table: Table, row: Row) -> Row:
    record = table.show(row)
    return {name: record[name] for name in _SUMMARY_FIELDS if name in record}


async def pay(gateway: Gateway, table: Table, bill_id: str, card: str, amount: AmountInput | None = None) -> Row:
    """Pay a quick invoice or a paylink with a card.

    The result has the `transaction`, and the bill under its name.

    Raises:
        UnknownRecordError: The bill is unknown.
        ValueError: The bill does not accept the payment, or the card is invalid.
    """
    account = _read_card(card, _EXP_DATE)
    transaction, bill = await payment_pages.pay_bill(gateway, _PAGES[table.plural], bill_id, amount, account)
    return {"transaction": _record(gateway, TRANSACTION, transaction), table.singular: _record(gateway, table, bill)}


def settle_batch(gateway: Gateway, batch_id: str) -> Row:
    """Settle a batch by hand.

    Raises:
        UnknownRecordError: The batch is unknown.
        ValueError: The batch is closed.
    """
    settled = transaction_batches.settle_batch(gateway, _find(gateway, TRANSACTION_BATCH, batch_id))
    return _record(gateway, TRANSACTION_BATCH, settled)


def process_batch(gateway: Gateway, batch_id: str, processing_status_id: int) -> Row:
    """Change the status of a batch as its processor does.

    Raises:
        UnknownRecordError: The batch is unknown.
        ValueError: The status of the batch does not allow the change.
    """
    batch = _find(gateway, TRANSACTION_BATCH, batch_id)
    processed = transaction_batches.process(gateway, batch, processing_status_id)
    return _record(gateway, TRANSACTION_BATCH, processed)


def isolate_payment(gateway: Gateway, transaction_id: str, settle: bool = False) -> Row:
    """Return the batch of a payment without other payments, settled if asked.

    Raises:
        UnknownRecordError: The transaction is unknown.
        ValueError: The payment is in no open batch.
    """
    batch = transaction_batches.isolate(gateway, _find(gateway, TRANSACTION, transaction_id))
    if settle:
        batch = transaction_batches.settle_batch(gateway, batch)
    return _record(gateway, TRANSACTION_BATCH, batch)


def return_payment(gateway: Gateway, transaction_id: str, code: str = "R01") -> Row:
    """Let the bank return a bank payment, or correct its data.

    Raises:
        UnknownRecordError: The transaction is unknown.
        ValueError: The code is unknown, or the bank does not have the payment.
    """
    returned = bank_returns.return_payment(gateway, _find(gateway, TRANSACTION, transaction_id), code)
    return _record(gateway, TRANSACTION, returned)


def update_card(gateway: Gateway, account_vault_id: str, card: str | None = None, exp_date: str | None = None) -> Row:
    """Let the card updater change a stored card.

    Raises:
        UnknownRecordError: The account vault is unknown.
        ValueError: It is a bank account or deleted, nothing is given, or a value is invalid.
    """
    vault = _find(gateway, ACCOUNT_VAULT, account_vault_id)
    return _record(gateway, ACCOUNT_VAULT, card_updates.update_card(gateway, vault, card, exp_date))


def _record(gateway: Gateway, table: Table, row: Row) -> Row:
    """Return a record as GET shows it, in plain values."""
    record: Row = decode_json(msgspec.json.encode(table.show(row)))
    return record | {"_links": make_links(gateway, table, row)}


def terminals(gateway: Gateway) -> list[Row]:
    """Return every terminal and the calls that wait at it."""
    return [_describe(gateway, row) for row in gateway.store.select(TERMINAL, ALIVE)]


def terminal(gateway: Gateway, terminal_id: str) -> Row:
    """Return one terminal and its waiting calls, the active one first.

    Raises:
        UnknownRecordError: The terminal is unknown.
    """
    return _describe(gateway, _find(gateway, TERMINAL, terminal_id))


async def wait_for_call(gateway: Gateway, terminal_id: str, seconds: float) -> Row:
    """Wait until a call is active at a terminal, and return it.

    The longest wait is in seconds of real time.

    Raises:
        UnknownRecordError: The terminal is unknown.
        TimeoutError: No call arrived in time.
    """
    row = _find(gateway, TERMINAL, terminal_id)
    try:
        async with asyncio.timeout(seconds):
            await gateway.terminals.wait_for_call(terminal_id)
    except TimeoutError:
        raise TimeoutError(f"terminal {terminal_id}: no call arrived within {_seconds(seconds)}.") from None
    call: Row = _describe(gateway, row)["waiting"][0]
    return call


def add_terminal(gateway: Gateway, title: str = "Terminal", sig_capture_enable: bool = True) -> Row:
    """Add a terminal to the first location, and describe it.

    Raises:
        ValueError: The title is empty or too long.
    """
    if not 0 < len(title) <= _LONGEST_TITLE:
        raise ValueError(f"title: must have 1 to {_LONGEST_TITLE} characters.")
    terminal_id = seed.add_terminal(gateway, gateway.first_location, title, sig_capture_enable=sig_capture_enable)
    gateway.live_updates.publish("terminals")
    return {"id": terminal_id, "title": title}


def use_card(
    gateway: Gateway,
    terminal_id: str,
    act: Callable[[TerminalSimulator, str, str, EntryMode], None],
    card: str,
    entry_mode: EntryMode,
) -> Row:
    """Act on a terminal with a card, and describe the terminal.

    Raises:
        NothingWaitsError: No call waits at the terminal.
        ValueError: The terminal, the card or the entry mode is unknown.
    """
    _read_card(card)
    if entry_mode not in get_args(EntryMode):
        raise ValueError(f"entry_mode: must be one of {', '.join(get_args(EntryMode))}.")
    return operate_terminal(gateway, terminal_id, lambda terminals, row_id: act(terminals, row_id, card, entry_mode))


def operate_terminal(gateway: Gateway, terminal_id: str, act: Callable[[TerminalSimulator, str], None]) -> Row:
    """Act on a terminal as a person does, and describe the terminal.

    Raises:
        NothingWaitsError: No call waits at the terminal.
        UnknownRecordError: The terminal is unknown.
    """
    row = _find(gateway, TERMINAL, terminal_id)
    act(gateway.terminals, terminal_id)
    return _describe(gateway, row)


def _find(gateway: Gateway, table: Table, record_id: str) -> Row:
    row = gateway.store.find(table, id=record_id)
    if row is None:
        raise UnknownRecordError(table.singular, record_id)
    return row


def _describe(gateway: Gateway, row: Row) -> Row:
    calls = [
        {
            "action": request.action,
            "amount": None if request.amount is None else show_money(request.amount),
            "user": request.sender.user,
            "program": request.sender.program,
            "api_id": request.sender.api_id,
            "since": int(request.since),
            "acts_at": request.acts_at,
            "state": request.state,
        }
        for request in gateway.terminals.waiting(row["id"])
    ]
    silent = gateway.terminals.is_silent(row["id"])
    mode = gateway.terminals.options.mode
    return {"id": row["id"], "title": row["title"], "mode": mode, "silent": silent, "waiting": calls}


async def wait_until_idle(gateway: Gateway, seconds: float, with_postbacks: bool = True) -> None:
    """Wait until no request, and if asked no postback, is in progress.

    The longest wait is in seconds of real time.

    Raises:
        TimeoutError: A request or a postback is still in progress.
    """
    try:
        async with asyncio.timeout(seconds):
            await gateway.listener.wait_until_idle()
            while with_postbacks and await gateway.postback_delivery.wait_until_idle():
                await gateway.listener.wait_until_idle()  # receivers may send requests back
    except TimeoutError:
        subject = "a request or a postback" if with_postbacks else "a request"
        raise TimeoutError(f"{subject} is still in progress after {_seconds(seconds)}.") from None


def set_postback_format(gateway: Gateway, format: PostbackFormat) -> PostbackFormat:  # noqa: A002  # so in the call
    """Set how the bodies of later postbacks are written, and return it.

    Raises:
        ValueError: The format is unknown.
    """
    gateway.postback_delivery.postback_format = check_format(format)
    return format


def _seconds(number: float) -> str:
    return f"{number:g} second{'s' * (number != 1)}"


async def reset(gateway: Gateway) -> None:
    """Cancel waiting calls, delete records and faults, and reset the clock."""
    await gateway.listener.cancel_requests()
    await clear_faults(gateway)
    gateway.terminals.reset()
    await gateway.postback_delivery.cancel_attempts()
    gateway.clock.set(time.time())
    seed.delete_records(gateway)
    end_of_day.skip_to_today(gateway)


def add_ticket(gateway: Gateway, card: str, exp_date: str) -> str:
    """Create a ticket for a card and return its id.

    Raises:
        ValueError: The card number is invalid, or the expiry is not a valid month.
    """
    return seed.add_ticket(gateway, gateway.first_location, _read_card(card, exp_date))


def _read_card(number: str, exp_date: str | None = None) -> Account:
    with _prefix_errors("card"):
        card = read_card(number, exp_date)
    if exp_date is not None:
        with _prefix_errors("exp_date"):
            check_expiry(exp_date)
    return card


@contextmanager
def _prefix_errors(subject: str) -> Iterator[None]:
    try:
        yield
    except ValueError as reason:
        raise ValueError(f"{subject}: {reason}") from None
