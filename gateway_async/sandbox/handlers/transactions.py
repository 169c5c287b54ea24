"""Transactions: payments that are created, refunded, and changed until they settle.

A declined payment is stored like any other and returned with 201. An integrator id is reserved as soon as its request
is accepted, so that two simultaneous requests cannot both charge.
"""

from starlette.responses import Response

from gateway_async.sandbox.handlers.account_sources import (
    PAYMENT_SOURCES,
    check_exp_date,
    check_kind,
    find_account,
    use_up_ticket,
)
from gateway_async.sandbox.handlers.account_vaults import show_bin_info
from gateway_async.sandbox.handlers.bank_requirements import check_bank_payment
from gateway_async.sandbox.handlers.card_decisions import decide_card_payment
from gateway_async.sandbox.handlers.lodging import check_lodging
from gateway_async.sandbox.handlers.merchant_accounts import check_product
from gateway_async.sandbox.handlers.payments import (
    check_action,
    check_amount,
    check_not_zero,
    check_refund,
    record_payment,
)
from gateway_async.sandbox.handlers.surcharges import check_surcharge, remove_debit_surcharge
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.http.responses import json_response
from gateway_async.sandbox.request.call import Call
from gateway_async.sandbox.request.records import find_record, make_get, make_list, read_new, show
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.issuer_decisions import Outcome, decide_bank_payment

__all__ = ["bin_info", "create", "get", "get_list"]


async def create(call: Call) -> Response:
    """Handle POST /v2/transactions."""
    gateway, user = call.gateway, call.user
    values, account = await _accept(call)
    outcome = _decide(call, values, account)
    with gateway.reserve(TRANSACTION, user, values):
        use_up_ticket(gateway, values)
        if outcome.wait:
            await gateway.clock.sleep(outcome.wait)
        row = record_payment(gateway, user, values, account, outcome)
    return json_response({"transaction": show(call, TRANSACTION, row)}, 201)


async def bin_info(call: Call) -> Response:
    """Handle GET /v2/transactions/{id}/bininfo: issuer data for the card's first six digits."""
    return show_bin_info(find_record(call, TRANSACTION))


async def _accept(call: Call) -> tuple[Row, Account]:
    values, problems = await read_new(call, TRANSACTION)
    check_exp_date(values, problems)
    found = find_account(call.gateway, call.user, PAYMENT_SOURCES, values, problems)
    check_kind(values, found, problems)
    values["payment_method"] = found.payment_method if found else values.get("payment_method")
    check_action(values, values["payment_method"], problems)
    check_product(call.gateway, "product_transaction_id", values, values["payment_method"], problems)
    check_bank_payment(call.gateway, call.user, values, found, problems)
    check_lodging(call.gateway, call.user, values, problems)
    if values.get("action") == "force" and not values.get("auth_code") and "auth_code" not in problems:
        problems.add("auth_code", "Auth Code cannot be blank.")
    _check_amount(call, values, found, problems)
    check_surcharge(call.gateway, call.user, values, found, problems)
    account = problems.require(found)
    remove_debit_surcharge(values, account)
    return values, account


def _check_amount(call: Call, values: Row, account: Account | None, problems: Problems) -> None:
    if "transaction_amount" in problems:
        return
    if values.get("transaction_amount") is None:
        values.pop("transaction_amount", None)
    if account and account.transaction_id and values.get("action") == "refund":
        check_not_zero(values, problems)
        check_refund(call.gateway, values, account.transaction_id, problems)
        return
    if values.get("action") == "avsonly":
        values.setdefault("transaction_amount", 0)
    check_amount(values, problems)


def _decide(call: Call, values: Row, account: Account) -> Outcome:
    if account.payment_method == "ach":
        sec_code = values.get("ach_sec_code") or account.ach_sec_code
        return decide_bank_payment(values["transaction_amount"], sec_code)
    if account.transaction_id:
        return Outcome()
    return decide_card_payment(call.gateway, call.user, values, account)


get = make_get(TRANSACTION)
get_list = make_list(TRANSACTION)
