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
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import find_record, make_get, make_list, read_new, show_record
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.issuer_decisions import IssuerDecision, decide_bank_payment

__all__ = ["bin_info", "create", "get", "get_list"]


async def create(context: RequestContext) -> Response:
    """Handle POST /v2/transactions."""
    gateway, user = context.gateway, context.user
    values, account = await _accept(context)
    outcome = _decide(context, values, account)
    with gateway.reserve(TRANSACTION, user, values):
        use_up_ticket(gateway, values)
        if outcome.wait:
            await gateway.clock.sleep(outcome.wait)
        row = record_payment(gateway, user, values, account, outcome)
    return json_response({"transaction": show_record(context, TRANSACTION, row)}, 201)


async def bin_info(context: RequestContext) -> Response:
    """Handle GET /v2/transactions/{id}/bininfo: issuer data for the card's first six digits."""
    return show_bin_info(find_record(context, TRANSACTION))


async def _accept(context: RequestContext) -> tuple[Row, Account]:
    values, problems = await read_new(context, TRANSACTION)
    check_exp_date(values, problems)
    found = find_account(context.gateway, context.user, PAYMENT_SOURCES, values, problems)
    check_kind(values, found, problems)
    values["payment_method"] = found.payment_method if found else values.get("payment_method")
    check_action(values, values["payment_method"], problems)
    check_product(context.gateway, "product_transaction_id", values, values["payment_method"], problems)
    check_bank_payment(context.gateway, context.user, values, found, problems)
    check_lodging(context.gateway, context.user, values, problems)
    if values.get("action") == "force" and not values.get("auth_code") and "auth_code" not in problems:
        problems.add("auth_code", "Auth Code cannot be blank.")
    _check_amount(context, values, found, problems)
    check_surcharge(context.gateway, context.user, values, found, problems)
    account = problems.require(found)
    remove_debit_surcharge(values, account)
    return values, account


def _check_amount(context: RequestContext, values: Row, account: Account | None, problems: Problems) -> None:
    if "transaction_amount" in problems:
        return
    if values.get("transaction_amount") is None:
        values.pop("transaction_amount", None)
    if account and account.transaction_id and values.get("action") == "refund":
        check_not_zero(values, problems)
        check_refund(context.gateway, values, account.transaction_id, problems)
        return
    if values.get("action") == "avsonly":
        values.setdefault("transaction_amount", 0)
    check_amount(values, problems)


def _decide(context: RequestContext, values: Row, account: Account) -> IssuerDecision:
    if account.payment_method == "ach":
        sec_code = values.get("ach_sec_code") or account.ach_sec_code
        return decide_bank_payment(values["transaction_amount"], sec_code)
    if account.transaction_id:
        return IssuerDecision()
    return decide_card_payment(context.gateway, context.user, values, account)


get = make_get(TRANSACTION)
get_list = make_list(TRANSACTION)
