"""Stores payments: the account, the amount and the issuer's decision."""

import secrets

from gateway_async.sandbox.handlers.card_decisions import decide_card_payment, verification_values
from gateway_async.sandbox.handlers.merchant_accounts import default_product
from gateway_async.sandbox.handlers.stored_accounts import store_account
from gateway_async.sandbox.handlers.transaction_batches import batch_for
from gateway_async.sandbox.http.errors import Problems
from gateway_async.sandbox.request.refunds import refunded_amount
from gateway_async.sandbox.request.transaction_tags import find_tags
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema import TRANSACTION
from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import show_money
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.issuer_decisions import IssuerDecision
from gateway_async.sandbox.state_machines import transactions as states

__all__ = [
    "BANK_AUTH_CODE",
    "amount_charged",
    "check_action",
    "check_amount",
    "check_not_zero",
    "check_refund",
    "record_payment",
    "verify_account",
]


_NEVER_ZERO = ("sale", "authonly", "authcomplete", "authincrement", "debit", "credit", "refund", "tipadjust")
"""The actions that need an amount above 0.00."""
BANK_AUTH_CODE = "AUTH NUM 272-172"
"""The approval code of every accepted bank payment."""
_KEPT = ("contact_id", "billing_zip", "billing_city", "billing_state", "ach_sec_code")
"""The fields of a payment that a vault made by `save_account` has too."""
_WITHOUT_AUTH_CODE = frozenset({"refund", "avsonly"})


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
            known["effective_date"] = gateway.clock.date().date().isoformat()
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
    outcome = decide_card_payment(gateway, user, values, account)
    record_payment(gateway, user, values, account, outcome)
    return outcome.approved


def check_action(values: Row, method: str | None, problems: Problems) -> None:
    """Check that a payment can start with the action."""
    actions = [action for known, action in states.INITIAL_STATES if known == method]
    if actions and values.get("action") not in actions and "action" not in problems:
        problems.add("action", f"Action must be one of {', '.join(actions)} when payment_method is {method}.")


def check_amount(values: Row, problems: Problems) -> None:
    """Check that a payment has an amount, above zero for most actions."""
    if values.get("transaction_amount") is None and "transaction_amount" not in problems:
        problems.add("transaction_amount", "Transaction Amount cannot be blank.")
    check_not_zero(values, problems)


def check_not_zero(values: Row, problems: Problems) -> None:
    """Check that the amount is not zero where the action needs money."""
    if values.get("transaction_amount") == 0 and values.get("action") in _NEVER_ZERO:
        problems.add("transaction_amount", f"Transaction Amount cannot be 0 for {', '.join(_NEVER_ZERO)}.")


def amount_charged(row: Row) -> int:
    """Return the cents charged: of a partial approval, the approved part."""
    amount: int = row["transaction_amount"]
    partial = row["reason_code_id"] == ReasonCode.PARTIALLY_APPROVED
    return min(amount, row["auth_amount"]) if partial else amount


def check_refund(gateway: Gateway, values: Row, previous_id: str, problems: Problems) -> None:
    """Check that a refund is at most the remaining charged amount."""
    previous = gateway.store.find(TRANSACTION, id=previous_id)
    if previous is None or states.next_state(states.TransactionTrigger.REFUND, previous) is None:
        problems.add("previous_transaction_id", "The previous transaction cannot be refunded.")
        return
    left = amount_charged(previous) - refunded_amount(gateway, previous_id)
    if not 0 < values.setdefault("transaction_amount", left) <= left and "transaction_amount" not in problems:
        problems.add("transaction_amount", f"Transaction Amount must be above 0.00 and at most {show_money(left)}.")


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
    """Return the processor's code of an approved charge to a card."""
    is_charge = values["payment_method"] == "cc" and values["action"] in {"sale", "authonly"}
    return "00" if is_charge and outcome.reason_code == ReasonCode.APPROVED else None


def _auth_code(values: Row, outcome: IssuerDecision) -> str:
    """Return the approval code: the given one of a forced sale; none if no issuer was asked for money."""
    if values["action"] == "force":
        return str(values.get("auth_code") or "")
    if outcome.approved and values["payment_method"] == "ach" and values["action"] != "avsonly":
        return BANK_AUTH_CODE
    return "" if not outcome.approved or values["action"] in _WITHOUT_AUTH_CODE else secrets.token_hex(3)
