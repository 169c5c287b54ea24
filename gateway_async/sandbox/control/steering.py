"""How a gateway is steered from outside: faults, terminals, the ledger, and a new beginning.

What cannot be is a ValueError that begins with the name of what is wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, get_args

import msgspec

from gateway_async.sandbox.control import nightly, seed
from gateway_async.sandbox.control.mishaps import refuse
from gateway_async.sandbox.http.errors import UnknownRecordError
from gateway_async.sandbox.notices import outbox
from gateway_async.sandbox.nouns import invoice_payments, paylink_payments, transaction_batches
from gateway_async.sandbox.operations import is_operation
from gateway_async.sandbox.postbacks import log
from gateway_async.sandbox.requests.records import links
from gateway_async.sandbox.simulators.cards import EntryMode, check_expiry, read_card
from gateway_async.sandbox.simulators.scenarios import plans_of
from gateway_async.sandbox.states import transactions as states
from gateway_async.sandbox.tables import ACCOUNT_VAULT, PAYLINK, QUICK_INVOICE, TERMINAL, TRANSACTION, TRANSACTION_BATCH
from gateway_async.sandbox.tables.kinds import show_money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway_async.sandbox.instance.gateway import Gateway
    from gateway_async.sandbox.nouns.payment_pages import Amount
    from gateway_async.sandbox.simulators.cards import Account
    from gateway_async.sandbox.simulators.faults import Plan
    from gateway_async.sandbox.tables.fields import Row, Table

_EXP_DATE = "1230"
"""Of the cards that customers key on payment pages."""

_decode = msgspec.json.Decoder(float_hook=Decimal).decode

_LEDGER = (
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
_REFUNDS = (30, 40)
_NO_MONEY = (21,)


class UnknownTerminalError(ValueError):
    """A control call for a terminal that there is not."""

    def __init__(self, terminal_id: str) -> None:
        super().__init__(f"terminal {terminal_id}: there is no such terminal.")


async def add_fault(gateway: Gateway, plan: Plan) -> None:
    """Put a plan in force. A `refuse` of the first request begins at once: nothing listens on the port.

    Raises:
        ValueError: The plan makes no sense, or its operation is not one of the gateway's.
    """
    plan.check()
    if not is_operation(plan.operation):
        raise ValueError("operation: must be a method and a path of the gateway, as in POST /v2/transactions.")
    if plan.begins_at_once:
        await refuse(gateway, plan.seconds)
    else:
        gateway.faults.plans.append(plan)


async def add_scenario(gateway: Gateway, name: str) -> list[Row]:
    """Put the plans of a named misfortune in force, and describe them.

    Raises:
        ValueError: There is none of that name.
    """
    plans = plans_of(name)
    for plan in plans:
        await add_fault(gateway, plan)
    return [plan.describe() for plan in plans]


def faults(gateway: Gateway) -> list[Row]:
    """The plans that are in force, and how often each has struck."""
    return [plan.describe() for plan in gateway.faults.plans]


async def clear_faults(gateway: Gateway) -> None:
    """Give up every plan."""
    gateway.faults.plans.clear()
    await gateway.listener.reopen()


def ledger(gateway: Gateway) -> Row:
    """How often each integrator id was charged, refunded or stored, and the records that say so.

    A payment that was voided was charged all the same; a decline and an address check move no money.
    """
    payments = gateway.store.select(TRANSACTION)
    vaults = gateway.store.select(ACCOUNT_VAULT)
    made = [row for row in payments if row["status_id"] != states.State.DECLINED and row["type_id"] not in _NO_MONEY]
    return {
        "charged": _count(TRANSACTION, [row for row in made if row["type_id"] not in _REFUNDS]),
        "refunded": _count(TRANSACTION, [row for row in made if row["type_id"] in _REFUNDS]),
        "stored": _count(ACCOUNT_VAULT, vaults),
        "transactions": [_brief(TRANSACTION, row) for row in payments],
        "accountvaults": [_brief(ACCOUNT_VAULT, row) for row in vaults],
        "transactionbatches": [_brief(TRANSACTION_BATCH, row) for row in gateway.store.select(TRANSACTION_BATCH)],
    }


def _count(table: Table, rows: list[Row]) -> dict[str, int]:
    return dict(Counter(row[table.api_id] for row in rows if row[table.api_id] is not None))


def _brief(table: Table, row: Row) -> Row:
    record = table.show(row)
    return {name: record[name] for name in _LEDGER if name in record}


async def pay_quick_invoice(gateway: Gateway, invoice_id: str, card: str, amount: Amount | None = None) -> Row:
    """Do what a customer does on the page of an invoice; returns the `transaction` and the `quickinvoice`.

    Args:
        gateway: Whose invoice it is.
        invoice_id: Its id.
        card: The number that is keyed.
        amount: Two-decimal money; None for all that remains.

    Raises:
        UnknownRecordError: There is no such invoice.
        ValueError: It takes no such payment, or that is no card.
    """
    account = read_test_card(card, _EXP_DATE)
    transaction, invoice = await invoice_payments.pay(gateway, invoice_id, amount, account)
    paid = _record(gateway, QUICK_INVOICE, invoice)
    return {"transaction": _record(gateway, TRANSACTION, transaction), "quickinvoice": paid}


async def pay_paylink(gateway: Gateway, paylink_id: str, card: str, amount: Amount | None = None) -> Row:
    """Do what a customer does on the page of a paylink; returns the `transaction` and the `paylink`.

    Args:
        gateway: Whose paylink it is.
        paylink_id: Its id.
        card: The number that is keyed.
        amount: Two-decimal money, which must be what is due.

    Raises:
        UnknownRecordError: There is no such paylink.
        ValueError: It takes no such payment, or that is no card.
    """
    account = read_test_card(card, _EXP_DATE)
    transaction, paylink = await paylink_payments.pay(gateway, paylink_id, amount, account)
    return {"transaction": _record(gateway, TRANSACTION, transaction), "paylink": _record(gateway, PAYLINK, paylink)}


def process_batch(gateway: Gateway, batch_id: str, processing_status_id: int) -> Row:
    """Do what the processor of a batch does; returns the batch.

    Args:
        gateway: Whose batch it is.
        batch_id: Its id.
        processing_status_id: What the processor brings it to.

    Raises:
        UnknownRecordError: There is no such batch.
        ValueError: The processor does nothing of the kind with it.
    """
    batch = gateway.store.find(TRANSACTION_BATCH, id=batch_id)
    if batch is None:
        raise UnknownRecordError(TRANSACTION_BATCH.singular, batch_id)
    processed = transaction_batches.process(gateway, batch, processing_status_id)
    return _record(gateway, TRANSACTION_BATCH, processed)


def _record(gateway: Gateway, table: Table, row: Row) -> Row:
    """A record as GET answers it, in plain values."""
    record: Row = _decode(msgspec.json.encode(table.show(row)))
    return record | {"_links": links(gateway, table, row)}


def notices(gateway: Gateway, quick_invoice_id: str | None = None, paylink_id: str | None = None) -> list[Row]:
    """What customers were told, the newest last: all of it, or what is about one invoice or paylink."""
    return outbox.read(gateway, quick_invoice_id=quick_invoice_id, paylink_id=paylink_id)


def postbacks(gateway: Gateway, config_id: str | None = None, record_id: str | None = None) -> list[Row]:
    """What receivers were told, the newest last: all of it, or what is of one config or about one record."""
    return log.read(gateway, config_id=config_id, record_id=record_id)


def replay_postback(gateway: Gateway, postback_id: str) -> Row:
    """Send a postback once more, whatever became of it.

    Raises:
        UnknownRecordError: There is no such postback.
        ValueError: Its config was deleted, or is not active.
    """
    return log.replay(gateway, postback_id)


def terminals(gateway: Gateway) -> list[Row]:
    """Every terminal and what waits at it."""
    return [_describe(gateway, row) for row in gateway.store.select(TERMINAL)]


def terminal(gateway: Gateway, terminal_id: str) -> Row:
    """One terminal and what waits at it, the call whose turn it is first.

    Raises:
        UnknownTerminalError: There is no such terminal.
    """
    return _describe(gateway, _find(gateway, terminal_id))


async def wait_for_call(gateway: Gateway, terminal_id: str, seconds: float) -> Row:
    """The call whose turn it is at a terminal, as soon as there is one.

    Args:
        gateway: Whose terminal it is.
        terminal_id: Which terminal.
        seconds: How long to wait, in real time.

    Raises:
        UnknownTerminalError: There is no such terminal.
        TimeoutError: None came.
    """
    row = _find(gateway, terminal_id)
    try:
        async with asyncio.timeout(seconds):
            await gateway.terminals.wait_for_call(terminal_id)
    except TimeoutError:
        raise TimeoutError(f"terminal {terminal_id}: no call came within {seconds:g} seconds.") from None
    call: Row = _describe(gateway, row)["waiting"][0]
    return call


def present(gateway: Gateway, terminal_id: str, card: str, entry_mode: EntryMode) -> Row:
    """Bring a card to a terminal, and describe the terminal.

    Raises:
        NothingWaitsError: No call waits there.
        ValueError: There is no such terminal, card or entry mode.
    """
    read_test_card(card)
    if entry_mode not in get_args(EntryMode):
        raise ValueError(f"entry_mode: must be one of {', '.join(get_args(EntryMode))}.")
    return _act(gateway, terminal_id, lambda known: gateway.terminals.present(known, card, entry_mode))


def decline(gateway: Gateway, terminal_id: str) -> Row:
    """Let the issuer decline the card at a terminal; returns and raises as `present` does."""
    return _act(gateway, terminal_id, gateway.terminals.decline)


def cancel(gateway: Gateway, terminal_id: str) -> Row:
    """Press the red key of a terminal; returns and raises as `present` does."""
    return _act(gateway, terminal_id, gateway.terminals.cancel)


def silence(gateway: Gateway, terminal_id: str) -> Row:
    """Let a terminal do nothing more by itself; returns and raises as `present` does."""
    return _act(gateway, terminal_id, gateway.terminals.silence)


def _act(gateway: Gateway, terminal_id: str, act: Callable[[str], None]) -> Row:
    row = _find(gateway, terminal_id)
    act(terminal_id)
    return _describe(gateway, row)


def _find(gateway: Gateway, terminal_id: str) -> Row:
    row = gateway.store.find(TERMINAL, id=terminal_id)
    if row is None:
        raise UnknownTerminalError(terminal_id)
    return row


def _describe(gateway: Gateway, row: Row) -> Row:
    calls = [
        {
            "action": visit.action,
            "amount": None if visit.amount is None else show_money(visit.amount),
            "since": int(visit.since),
            "state": visit.state,
        }
        for visit in gateway.terminals.waiting(row["id"])
    ]
    silent = gateway.terminals.is_silent(row["id"])
    return {"id": row["id"], "title": row["title"], "silent": silent, "waiting": calls}


async def wait_until_idle(gateway: Gateway, seconds: float, with_postbacks: bool = True) -> None:
    """Wait until no request is under way and, if asked, no postback is due, in real time.

    Raises:
        TimeoutError: One still is.
    """
    try:
        async with asyncio.timeout(seconds):
            await gateway.listener.idle()
            while with_postbacks and await gateway.deliveries.idle():
                await gateway.listener.idle()  # receivers ask back
    except TimeoutError:
        subject = "a request or a postback" if with_postbacks else "a request"
        raise TimeoutError(f"{subject} is still under way after {seconds:g} seconds.") from None


async def reset(gateway: Gateway) -> None:
    """Begin anew: cut off whatever waits, forget records and faults, and set the clock right."""
    await gateway.listener.cut_off()
    await clear_faults(gateway)
    gateway.terminals.hear()
    await gateway.deliveries.cut_off()
    gateway.clock.set(time.time())
    seed.empty(gateway)
    nightly.forget(gateway)


def read_test_card(number: str, exp_date: str | None = None) -> Account:
    """Read a card that somebody hands over.

    Raises:
        ValueError: It is no card, or the expiry no month.
    """
    with _named("card"):
        card = read_card(number, exp_date)
    if exp_date is not None:
        with _named("exp_date"):
            check_expiry(exp_date)
    return card


@contextmanager
def _named(subject: str) -> Iterator[None]:
    try:
        yield
    except ValueError as reason:
        raise ValueError(f"{subject}: {reason}") from None
