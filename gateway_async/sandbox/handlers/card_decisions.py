"""The issuer's decision on a card payment, by the rules of its merchant account and of the request."""

from gateway_async.sandbox.handlers.merchant_accounts import product_of
from gateway_async.sandbox.runtime.gateway import Gateway
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.simulators import issuer_decisions as issuer
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.issuer_decisions import IssuerDecision, Rules
from gateway_async.sandbox.simulators.verification import check_address, check_cvv, is_denied_address

__all__ = ["billing_address", "decide_card_payment", "verification_values"]


_RULES = ("allow_partial_authorization", "auto_decline_cvv", "auto_decline_street", "auto_decline_zip")


def decide_card_payment(
    gateway: Gateway, user: Row, values: Row, account: Account, *, at_terminal: bool = False
) -> IssuerDecision:
    """Decide on a card payment by amount, address and security code.

    A refund is not declined for its address.
    """
    rules = _read_rules(gateway, user, values)
    decision = issuer.decide_payment(values["transaction_amount"], rules, at_terminal=at_terminal)
    if values["action"] == "refund":
        return decision
    address = billing_address(values, account)
    checked = check_cvv(values.get("cvv"), account.account_type)
    return issuer.verify_card(decision, check_address(*address), checked, rules, denied=is_denied_address(*address))


def verification_values(values: Row, account: Account) -> Row:
    """Return the results of the address check and the CVV check.

    Only a card whose number is keyed has a CVV to compare.
    """
    address = check_address(*billing_address(values, account))
    cvv_response = check_cvv(values.get("cvv"), account.account_type) if account.entry_mode == "K" else None
    return {"avs": address.avs, "avs_enhanced": address.avs_enhanced, "cvv_response": cvv_response}


def billing_address(values: Row, account: Account) -> tuple[str | None, str | None]:
    """Return street and zip from the request, or else from the account."""
    street, zip_code = values.get("billing_street"), values.get("billing_zip")
    return street or account.billing_street, zip_code or account.billing_zip


def _read_rules(gateway: Gateway, user: Row, values: Row) -> Rules:
    """Return the settings of the merchant account; an `_override` of the request replaces its setting once."""
    product = product_of(gateway, user, values) or {}
    overrides = {name: values.get(f"{name}_override") for name in _RULES}
    settings = {name: product.get(name) if overrides[name] is None else overrides[name] for name in _RULES}
    return Rules(**{name: bool(value) for name, value in settings.items() if value is not None})
