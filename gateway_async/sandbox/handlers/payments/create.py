"""New payments: read and check the request, ask the issuer, and store the transaction.

A declined payment is stored like any other and returned with 201. An integrator id is reserved as soon as its request
is accepted, so two simultaneous requests cannot both charge.
"""

import secrets

from starlette.responses import Response

from gateway_async.sandbox.handlers.merchant_accounts import check_product, default_product, find_product
from gateway_async.sandbox.handlers.payments.account import (
    PAYMENT_SOURCES,
    check_exp_date,
    check_kind,
    find_account,
    store_account,
    use_up_ticket,
)
from gateway_async.sandbox.handlers.payments.issuer import IssuerDecision, decide_payment, verification_values
from gateway_async.sandbox.handlers.payments.rules import (
    check_action,
    check_amount,
    check_bank_payment,
    check_lodging,
    check_not_zero,
    check_refund,
    check_surcharge,
    remove_debit_surcharge,
)
from gateway_async.sandbox.handlers.transaction_batches import batch_for
from gateway_async.sandbox.http.responses import Problems
from gateway_async.sandbox.request.context import RequestContext
from gateway_async.sandbox.request.records import read_new, respond
from gateway_async.sandbox.request.transaction_relations import find_tags
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.state_machines import transactions as states

BANK_AUTH_CODE = "AUTH NUM 272-172"
"""The approval code of every accepted bank payment."""
_KEPT = ("contact_id", "billing_zip", "billing_city", "billing_state", "ach_sec_code")
"""The fields of a payment that `save_account` copies to the vault."""
_WITHOUT_AUTH_CODE = frozenset({"refund", "avsonly"})


async def create_payment(context: RequestContext) -> Response:
    """Handle POST /v2/transactions."""
    gateway, user = context.gateway, context.user
    values, account, product = await _read_payment(context)
    outcome = _decide(product, values, account)
    with gateway.reserve(TRANSACTION, user, values):
        use_up_ticket(gateway, values)
        if outcome.wait:
            await gateway.clock.sleep(outcome.wait)
        row = record_payment(gateway, user, values, account, outcome)
    return respond(context, TRANSACTION, row, 201)


async def _read_payment(context: RequestContext) -> tuple[Row, Account, Row]:
    """Read the checked fields of a request, the account to charge and the merchant account."""
    values, problems = await read_new(context, TRANSACTION)
    check_exp_date(values, problems)
    found = find_account(context.gateway, context.user, PAYMENT_SOURCES, values, problems)
    check_kind(values, found, problems)
    method = values["payment_method"] = found.payment_method if found else values.get("payment_method")
    product = find_product(context.gateway, context.user, values)
    check_action(values, method, problems)
    check_product(context.gateway, "product_transaction_id", values, method, problems)
    check_bank_payment(product, values, found, problems)
    check_lodging(product, values, problems)
    if values.get("action") == "force" and not values.get("auth_code"):
        problems.add_blank("auth_code")
    _check_amount(context, values, found, problems)
    check_surcharge(product, values, found, problems)
    account = problems.require(found)
    remove_debit_surcharge(values, account)
    return values, account, product


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


def _decide(product: Row, values: Row, account: Account) -> IssuerDecision:
    """Ask the issuer, but not about the card of an earlier payment."""
    if account.payment_method == "cc" and account.transaction_id:
        return IssuerDecision()
    return decide_payment(product, values, account)


def record_payment(gateway: Gateway, user: Row, values: Row, account: Account | None, outcome: IssuerDecision) -> Row:
    """Store a payment, and its account too if `save_account` is set.

    `values` are the checked fields of the request, with `payment_method` and `action`. The account is None if a
    terminal ended without a card.
    """
    given = {name: value for name, value in values.items() if value is not None}
    known: Row = {
        "order_num": f"{secrets.randbelow(10**12):012}",
        "product_transaction_id": default_product(gateway, user, values["payment_method"]),
    }
    fixed = _outcome_values(values, outcome)
    if account:
        names = ("account_holder_name", "exp_date", "routing", "ach_sec_code")
        known |= {name: getattr(account, name) for name in names}
        fixed |= _account_values(account)
        if account.payment_method == "cc":
            fixed |= verification_values(values, account)
        else:
            known["effective_date"] = gateway.clock.today().isoformat()
    row = gateway.new_row(TRANSACTION, user, known | given | fixed)
    with gateway.store.transaction():
        if account and outcome.approved and values.get("save_account") and account.vault_id is None:
            kept = {name: values.get(name) for name in _KEPT} | {"title": values.get("save_account_title") or None}
            row["account_vault_id"] = store_account(gateway, user, account, kept)["id"]
        row |= batch_for(gateway, user, row) | find_tags(gateway, user, values)
        gateway.store.insert(TRANSACTION, row)
    return row


def verify_account(gateway: Gateway, user: Row, account: Account, vault: Row) -> bool:
    """Run an avsonly for a card before it is stored; return whether it was approved.

    `vault` are the values of the request to store it.
    """
    values: Row = {"payment_method": "cc", "action": "avsonly", "transaction_amount": 0}
    values |= {name: vault.get(name) for name in ("contact_id", "account_holder_name", "billing_zip")}
    values["billing_street"] = vault.get("billing_address")
    outcome = decide_payment(find_product(gateway, user, values), values, account)
    record_payment(gateway, user, values, account, outcome)
    return outcome.approved


def _account_values(account: Account) -> Row:
    return {
        "payment_method": account.payment_method,
        "account_type": account.account_type,
        "first_six": account.first_six,
        "last_four": account.last_four,
        "account_vault_id": account.vault_id,
        "previous_transaction_id": account.transaction_id,
        "is_accountvault": int(account.vault_id is not None),
        "entry_mode_id": account.entry_mode,
    }


def _outcome_values(values: Row, outcome: IssuerDecision) -> Row:
    start = states.INITIAL_STATES[values["payment_method"], values["action"]]
    amount = values["transaction_amount"]
    authorized = amount if outcome.auth_amount is None else outcome.auth_amount
    return {
        "status_id": start.status_id if outcome.approved else states.TransactionState.DECLINED,
        "type_id": start.type_id,
        "reason_code_id": outcome.reason_code,
        "verbiage": "APPROVAL" if outcome.approved and values["action"] == "avsonly" else outcome.verbiage,
        "response_message": outcome.message or _approval_message(values, outcome),
        "auth_amount": authorized if outcome.approved else 0,
        "auth_code": _auth_code(values, outcome),
    }


def _approval_message(values: Row, outcome: IssuerDecision) -> str | None:
    """The processor's code of an approved charge to a card."""
    is_charge = values["payment_method"] == "cc" and values["action"] in {"sale", "authonly"}
    return "00" if is_charge and outcome.reason_code == ReasonCode.APPROVED else None


def _auth_code(values: Row, outcome: IssuerDecision) -> str:
    """The approval code: the given one of a forced sale; none if no issuer was asked for money."""
    if values["action"] == "force":
        return str(values.get("auth_code") or "")
    if outcome.approved and values["payment_method"] == "ach" and values["action"] != "avsonly":
        return BANK_AUTH_CODE
    return "" if not outcome.approved or values["action"] in _WITHOUT_AUTH_CODE else secrets.token_hex(3)
