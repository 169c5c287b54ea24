"""Router transactions and router account vaults.

A card is read at a physical terminal. The request stays open until the terminal has finished. A caller that disconnects
does not stop the terminal. The caller can find the transaction later by its integrator id.
"""

from starlette.responses import Response

from gateway_async.sandbox.handlers.card_decisions import decide_card_payment
from gateway_async.sandbox.handlers.lodging import check_lodging
from gateway_async.sandbox.handlers.merchant_accounts import check_product
from gateway_async.sandbox.handlers.payments import check_action, check_amount, record_payment
from gateway_async.sandbox.handlers.stored_accounts import store_account
from gateway_async.sandbox.http.errors import Problems, RefusedFieldsError
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import read_new, show_record
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import (
    ACCOUNT_VAULT,
    ROUTER_ACCOUNT_VAULT,
    ROUTER_TRANSACTION,
    TERMINAL,
    TRANSACTION,
)
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row, Table
from gateway_async.sandbox.simulators import issuer_decisions as issuer
from gateway_async.sandbox.simulators.cards import Account, read_card
from gateway_async.sandbox.simulators.issuer_decisions import IssuerDecision
from gateway_async.sandbox.simulators.terminal_scripts import Script
from gateway_async.sandbox.simulators.terminals import Receipt, Sender

__all__ = ["create_account_vault", "create_transaction", "read_sender"]


_EXP_DATE = "1230"
_CARD_HOLDER = "SAMPLE TEST"
_CHIP_MODES = frozenset("CP")
"""The entry modes in which a terminal reads the chip, inserted or contactless."""

_EMV_RECEIPT = (
    '{"AID":"a0000000042203","APPLAB":"US Maestro","APPN":"US Maestro",'
    '"CVM":"Pin Verified","TSI":"e800","TVR":"0800008000"}'
)


async def create_transaction(context: RequestContext) -> Response:
    """Handle POST /v2/routertransactions."""
    gateway, user = context.gateway, context.user
    values, problems = await _read(context, ROUTER_TRANSACTION)
    check_action(values, "cc", problems)
    check_product(gateway, "product_transaction_id", values, "cc", problems)
    check_amount(values, problems)
    check_lodging(gateway, context.user, values, problems)
    problems.raise_if_any()
    values.pop("batch", None)  # it is for `settle`; a payment gets the batch of its merchant account
    amount = values["transaction_amount"]
    with gateway.reserve(TRANSACTION, user, values):
        sender = read_sender(context, values.get("transaction_api_id"))
        script = await gateway.terminals.process(values["terminal_id"], values["action"], amount, sender)
        account = _read_account(script)
        outcome = _decide(context, values, account, script)
        values |= _terminal_values(gateway, values["terminal_id"], script)
        row = record_payment(gateway, user, values, account, outcome)
    gateway.terminals.print_receipt(values["terminal_id"], _payment_receipt(values["action"], row, outcome))
    stored = {"exp_date": row["exp_date"]} if values.get("save_account") and row["account_vault_id"] else {}
    return json_response({"routertransaction": show_record(context, TRANSACTION, row) | stored}, 201)


async def create_account_vault(context: RequestContext) -> Response:
    """Handle POST /v2/routeraccountvaults; the response has `active` as the string "1"."""
    gateway, user = context.gateway, context.user
    values, problems = await _read(context, ROUTER_ACCOUNT_VAULT)
    if values.get("action") not in {None, "store"}:
        problems.add("action", "Action must be store.")
    problems.raise_if_any()
    sender = read_sender(context, values.get("account_vault_api_id"))
    script = await gateway.terminals.process(values["terminal_id"], "store", None, sender)
    account = _read_account(script)
    if account is None or script.text:
        raise RefusedFieldsError({"terminal_id": [script.text or "The terminal read no card."]})
    row = store_account(gateway, user, account, values)
    receipt = Receipt("Stored", True, "store", None, row["created_ts"], account.account_type, account.last_four)
    gateway.terminals.print_receipt(values["terminal_id"], receipt)
    return json_response({"accountvault": show_record(context, ACCOUNT_VAULT, row) | {"active": "1"}}, 201)


async def _read(context: RequestContext, table: Table) -> tuple[Row, Problems]:
    values, problems = await read_new(context, table)
    if values.get("payment_method") not in {None, "cc"}:
        problems.add("payment_method", "Payment Method must be cc.")
    return values, problems


def _decide(context: RequestContext, values: Row, account: Account | None, script: Script) -> IssuerDecision:
    if account is None or script.text:
        return issuer.decline(script.text or "", script.reason_code)
    return decide_card_payment(context.gateway, context.user, values, account, at_terminal=True)


def _terminal_values(gateway: Gateway, terminal_id: str, script: Script) -> Row:
    terminal = gateway.store.find(TERMINAL, id=terminal_id)
    return {
        "terminal_serial_number": terminal and terminal["serial_number"],
        "emv_receipt_data": _EMV_RECEIPT if _is_verified(script) else None,
    }


def _is_verified(script: Script) -> bool:
    """Return whether the chip has verified the cardholder."""
    rejected = script.reason_code == ReasonCode.BAD_PIN
    return script.card is not None and script.entry_mode in _CHIP_MODES and not rejected


def read_sender(context: RequestContext, api_id: str | None) -> Sender:
    """Return who sends a request to a terminal."""
    user = f"{context.user['first_name']} {context.user['last_name']}"
    return Sender(user, context.request.headers.get("user-agent", ""), api_id)


def _payment_receipt(action: str, row: Row, outcome: IssuerDecision) -> Receipt:
    title = TRANSACTION.codes["status_id"][row["status_id"]]
    if not outcome.approved:
        title = f"{title}: {row['verbiage']}"
    amount = row["auth_amount"] if outcome.approved else row["transaction_amount"]
    card = (row["account_type"], row["last_four"])
    return Receipt(title, outcome.approved, action, amount, row["created_ts"], *card)


def _read_account(script: Script) -> Account | None:
    return read_card(script.card, _EXP_DATE, _CARD_HOLDER, script.entry_mode) if script.card else None
