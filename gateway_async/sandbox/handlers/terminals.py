"""Terminals: the devices of a location that read cards, and the calls that they serve.

A router transaction or router account vault reads a card. Device terms are shown until the customer answers. The
request stays open until the terminal has finished. A caller that disconnects does not stop the terminal, and can find
the record later by its integrator id. Declined terms are stored too, and their integrator id can be used again. Terms
without an answer in time are not stored.
"""

import json
from typing import Any

from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import check_product, find_product
from gateway_async.sandbox.handlers.payments.account import store_account
from gateway_async.sandbox.handlers.payments.create import record_payment
from gateway_async.sandbox.handlers.payments.issuer import IssuerDecision, decide_payment, decline
from gateway_async.sandbox.handlers.payments.rules import check_action, check_amount, check_lodging
from gateway_async.sandbox.http.responses import Problems, RefusedFieldsError, json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import read_new, respond, show_record
from gateway_async.sandbox.request.standard_handlers import make_create, make_update
from gateway_async.sandbox.request.validation import check_references, read_fields
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    DEVICE_TERM,
    RECEIPT,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    SIGNATURE,
    TERMINAL,
    TRANSACTION,
)
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators.cards import Account, read_card
from gateway_async.sandbox.simulators.terminals import Prompt, Script, Sender

_TIMEOUT_RANGES = {
    "card_entry_timeout": range(20, 121),
    "device_terms_prompt_timeout": range(5, 301),
    "overall_timeout": range(30, 301),
    "pin_entry_timeout": range(20, 51),
    "signature_input_timeout": range(10, 51),
    "signature_submit_timeout": range(20, 51),
    "status_display_time": range(1, 31),
    "tip_cashback_timeout": range(20, 51),
    "transaction_timeout": range(10, 21),
}
"""The documented ranges of `terminal_timeouts`, in seconds."""

_KEPT_RECEIPTS = 3
_EXP_DATE = "1230"
_CARD_HOLDER = "SAMPLE TEST"
_CHIP_MODES = frozenset("CP")
"""The entry modes in which a terminal reads the chip, inserted or contactless."""

_EMV_RECEIPT = (
    '{"AID":"a0000000042203","APPLAB":"US Maestro","APPN":"US Maestro",'
    '"CVM":"Pin Verified","TSI":"e800","TVR":"0800008000"}'
)

_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
"""The signature of every customer: a picture of one pixel."""


def _check(_context: RequestContext, row: Row, values: Row, problems: Problems) -> None:
    serial_number = values.get("serial_number")
    if serial_number and not (serial_number.isascii() and serial_number.isalnum()):
        problems.add("serial_number", "Serial Number must contain only letters and digits.")
    if values.get("terminal_timeouts") is not None:
        values["terminal_timeouts"] = _merge_timeouts(row, values["terminal_timeouts"], problems)


def _merge_timeouts(row: Row, text: str, problems: Problems) -> str:
    """Return the timeouts of a terminal with those that a request names."""
    given = json.loads(text)
    for name, seconds in given.items():
        limits = _TIMEOUT_RANGES.get(name)
        if limits and (isinstance(seconds, bool) or seconds not in limits):
            problems.add("terminal_timeouts", f"{name} must be from {limits[0]} to {limits[-1]} seconds.")
    current = row.get("terminal_timeouts") or TERMINAL.by_name["terminal_timeouts"].default
    return json.dumps(json.loads(str(current)) | given)


create = make_create(TERMINAL, _check)
update = make_update(TERMINAL, _check)


async def create_transaction(context: RequestContext) -> Response:
    """Handle POST /v2/routertransactions."""
    gateway, user = context.gateway, context.user
    values, problems = await _read_call(context, ROUTER_TRANSACTION)
    check_action(values, "cc", problems)
    check_product(gateway, "product_transaction_id", values, "cc", problems)
    check_amount(values, problems)
    values["payment_method"] = "cc"
    check_lodging(find_product(gateway, user, values), values, problems)
    problems.raise_if_any()
    values.pop("batch", None)  # it is for `settle`; a payment gets the batch of its merchant account
    amount = values["transaction_amount"]
    with gateway.reserve(TRANSACTION, user, values):
        sender = _read_sender(context, values.get("transaction_api_id"))
        script = await gateway.terminals.process(values["terminal_id"], values["action"], amount, sender)
        account = _read_account(script)
        outcome = _decide(find_product(gateway, user, values), values, account, script)
        values |= _terminal_values(gateway, values["terminal_id"], script)
        with gateway.store.transaction():
            row = record_payment(gateway, user, values, account, outcome)
            _print_payment(context, values, row, outcome)
    stored = {"exp_date": row["exp_date"]} if values.get("save_account") and row["account_vault_id"] else {}
    return json_response({"routertransaction": show_record(context, TRANSACTION, row) | stored}, 201)


async def create_account_vault(context: RequestContext) -> Response:
    """Handle POST /v2/routeraccountvaults; the response has `active` as the string "1"."""
    gateway, user = context.gateway, context.user
    values, problems = await _read_call(context, ROUTER_ACCOUNT_VAULT)
    if values.get("action") not in {None, "store"}:
        problems.add("action", "Action must be store.")
    problems.raise_if_any()
    script = await gateway.terminals.process(values["terminal_id"], "store", None, _read_sender(context))
    account = _read_account(script)
    if account is None or script.text:
        raise RefusedFieldsError({"terminal_id": [script.text or "The terminal read no card."]})
    with gateway.store.transaction():
        row = store_account(gateway, user, account, values)
        _print_receipt(context, values, row, title="Stored", approved=1, action="store")
    return json_response({"accountvault": show_record(context, ACCOUNT_VAULT, row) | {"active": "1"}}, 201)


async def _read_call(context: RequestContext, table: Table) -> tuple[Row, Problems]:
    values, problems = await read_new(context, table)
    if values.get("payment_method") not in {None, "cc"}:
        problems.add("payment_method", "Payment Method must be cc.")
    return values, problems


def _decide(product: Row, values: Row, account: Account | None, script: Script) -> IssuerDecision:
    if account is None or script.text:
        return decline(script.text or "", script.reason_code)
    return decide_payment(product, values, account, at_terminal=True)


def _terminal_values(gateway: Gateway, terminal_id: str, script: Script) -> Row:
    terminal = gateway.store.find(TERMINAL, id=terminal_id)
    return {
        "terminal_serial_number": terminal and terminal["serial_number"],
        "emv_receipt_data": _EMV_RECEIPT if _is_verified(script) else None,
    }


def _is_verified(script: Script) -> bool:
    """Whether the chip has verified the cardholder."""
    rejected = script.reason_code == ReasonCode.BAD_PIN
    return script.card is not None and script.entry_mode in _CHIP_MODES and not rejected


def _read_sender(context: RequestContext, api_id: str | None = None) -> Sender:
    """Read who sends a request to a terminal."""
    user = f"{context.user['first_name']} {context.user['last_name']}"
    return Sender(user, context.request.headers.get("user-agent", ""), api_id)


def _print_payment(context: RequestContext, values: Row, row: Row, outcome: IssuerDecision) -> None:
    title = TRANSACTION.codes["status_id"][row["status_id"]]
    if not outcome.approved:
        title = f"{title}: {row['verbiage']}"
    amount = row["auth_amount"] if outcome.approved else row["transaction_amount"]
    shown = {"title": title, "approved": int(outcome.approved), "action": values["action"], "amount": amount}
    _print_receipt(context, values, row, **shown)


def _print_receipt(context: RequestContext, values: Row, row: Row, **shown: Any) -> None:
    """Store the receipt of a payment or a stored card, and delete the oldest ones of the terminal."""
    gateway, terminal_id = context.gateway, values["terminal_id"]
    card = {"brand": row["account_type"], "last_four": row["last_four"]}
    gateway.create(RECEIPT, context.user, {"terminal_id": terminal_id} | card | shown)
    for receipt in find_receipts(gateway, terminal_id)[_KEPT_RECEIPTS:]:
        gateway.store.delete(RECEIPT, receipt["id"])
    gateway.live_updates.publish("terminals")


def find_receipts(gateway: Gateway, terminal_id: str) -> list[Row]:
    """Find the last receipts of a terminal, newest first."""
    return gateway.store.select(RECEIPT, "terminal_id = ? ORDER BY id DESC", (terminal_id,))


def _read_account(script: Script) -> Account | None:
    return read_card(script.card, _EXP_DATE, _CARD_HOLDER, script.entry_mode) if script.card else None


async def create_terms(context: RequestContext) -> Response:
    """Handle POST /v2/deviceterms."""
    gateway, user = context.gateway, context.user
    values, declined, problems = await _read_terms(context)
    terminal = gateway.store.find(TERMINAL, id=values.get("terminal_id"))
    if terminal and values.get("require_signature") and not terminal["sig_capture_enable"]:
        problems.add("terminal_id", "Device is not signature capable")
    terminal = problems.require(terminal)
    with gateway.reserve(DEVICE_TERM, user, values):
        sender = _read_sender(context, values.get("device_terms_api_id"))
        script = await gateway.terminals.process(terminal["id"], "deviceterm", None, sender, prompt=_prompt(terminal))
        if script.text and script.reason_code != ReasonCode.DENIED:
            raise RefusedFieldsError({"terminal_id": [script.text]})
        values["reason_code_id"] = script.reason_code if script.text else ReasonCode.APPROVED
        row = _store_terms(context, declined, values)
    return respond(context, DEVICE_TERM, row, 201)


async def _read_terms(context: RequestContext) -> tuple[Row, Row | None, Problems]:
    """Read the fields, declined terms with their integrator id, and the problems."""
    body, problems = await context.read_record(DEVICE_TERM.singular), Problems()
    values = read_fields(context, DEVICE_TERM, body, problems)
    declined = _find_declined(context, values.get("device_terms_api_id"))
    check_references(context, DEVICE_TERM, values, problems, current=declined)
    return values, declined, problems


def _find_declined(context: RequestContext, api_id: str | None) -> Row | None:
    if not api_id:
        return None
    where = {"location_id": context.user["location_id"], "reason_code_id": ReasonCode.DENIED}
    return context.gateway.store.find(DEVICE_TERM, device_terms_api_id=api_id, **where)


def _prompt(terminal: Row) -> Prompt:
    seconds = json.loads(terminal["terminal_timeouts"])["device_terms_prompt_timeout"]
    return Prompt(seconds, "Timeout waiting for Customer")


def _store_terms(context: RequestContext, declined: Row | None, values: Row) -> Row:
    """Store terms in place of declined ones, with their signature."""
    store = context.gateway.store
    with store.transaction():
        if declined is None:
            row = context.gateway.create(DEVICE_TERM, context.user, values)
        else:
            row = declined | {name: value for name, value in values.items() if name in declined}
            store.update(DEVICE_TERM, row["id"], row)
        if row["require_signature"] and row["reason_code_id"] == ReasonCode.APPROVED:
            signed = {"resource": "DeviceTerm", "resource_id": row["id"], "signature": _PICTURE}
            context.gateway.create(SIGNATURE, context.user, signed)
    return row
