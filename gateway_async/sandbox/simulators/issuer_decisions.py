"""The issuer: approves or declines a payment by trigger amounts, test addresses and security codes.

Any amount that is not a trigger is approved. The tables are those of the vendor's test environment. Amounts are in
cents.
"""

import attrs

from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.kinds import MONEY
from gateway_async.sandbox.simulators.vendor_tables import read_table
from gateway_async.sandbox.simulators.verification import AddressCheck

__all__ = [
    "REJECTED_BATCH_CENTS",
    "TRIGGERS",
    "IssuerDecision",
    "Rules",
    "decide_bank_payment",
    "decide_payment",
    "decline",
    "verify_card",
]


@attrs.frozen
class IssuerDecision:
    """The issuer's decision on a payment.

    Attributes:
        auth_amount: The approved cents of a partial approval.
        wait: Seconds until the issuer responds.
    """

    reason_code: int = ReasonCode.APPROVED
    verbiage: str = "APPROVED"
    message: str | None = None
    auth_amount: int | None = None
    wait: int = 0

    @property
    def approved(self) -> bool:
        """Whether any money is approved."""
        return self.reason_code in {ReasonCode.APPROVED, ReasonCode.PARTIALLY_APPROVED}


@attrs.frozen
class Rules:
    """The settings of a merchant account that decide about a payment.

    Attributes:
        allow_partial_authorization: Whether an approval of less than the amount counts.
        auto_decline_cvv: Whether a payment is reversed if its security code could not be checked.
        auto_decline_street: Whether a payment is reversed if its street does not match.
        auto_decline_zip: Whether a payment is reversed if its zip does not match.
    """

    allow_partial_authorization: bool = True
    auto_decline_cvv: bool = False
    auto_decline_street: bool = False
    auto_decline_zip: bool = False


def decline(text: str, reason_code: int = ReasonCode.DENIED, *, wait: int = 0) -> IssuerDecision:
    """Create a decline with its text."""
    return IssuerDecision(reason_code, text, text, wait=wait)


_DECLINES = {int(MONEY.read(amount)): verbiage for amount, verbiage in read_table("declines")}
"""The `verbiage` of each declining amount; the `reason_code_id` is 1000 more than the cents."""

REJECTED_BATCH_CENTS = 630
"""An amount that is approved, but makes the first settlement of its batch fail."""

_MANAGER_CENTS = 1663
_OVERRIDABLE = frozenset({"TEL", "POP", "C21"})
"""The SEC codes of bank payments that a manager can approve."""

_TIMEOUT_SECONDS = 10
"""Seconds that the gateway waits for an issuer."""

_SLOW = {
    800 + seconds: IssuerDecision(wait=seconds)
    if seconds < _TIMEOUT_SECONDS
    else decline("TIMEOUT", wait=_TIMEOUT_SECONDS)
    for seconds in range(100)
}
TRIGGERS = {
    201: IssuerDecision(ReasonCode.PARTIALLY_APPROVED, "PARTIAL_AUTH", auth_amount=100),
    **{cents: decline(text, 1000 + cents) for cents, text in _DECLINES.items()},
    **_SLOW,
}
"""Amounts in cents and their effects on cards entered by hand or stored in a vault; 6.30 affects the batch instead."""

_UNCHECKED_CVV = frozenset("PSUX")


def decide_payment(cents: int, rules: Rules = Rules(), *, at_terminal: bool = False) -> IssuerDecision:
    """Approve or decline a card payment by its amount.

    The mock terminal itself waits for its slow amounts, so the issuer approves them at once.
    """
    if at_terminal and cents in _SLOW:
        return IssuerDecision()
    decision = TRIGGERS.get(cents, IssuerDecision())
    if decision.auth_amount is not None and not rules.allow_partial_authorization:
        return decline(decision.verbiage, ReasonCode.REVERSED_FOR_PARTIAL_APPROVAL)
    return decision


def decide_bank_payment(cents: int, sec_code: str | None) -> IssuerDecision:
    """Accept a bank payment, or decline it until a manager overrides."""
    if cents == _MANAGER_CENTS and sec_code in _OVERRIDABLE:
        return decline("MANAGER NEEDED", ReasonCode.MANAGER_NEEDED)
    return IssuerDecision()


def verify_card(
    decision: IssuerDecision, address: AddressCheck, cvv_response: str, rules: Rules, *, denied: bool
) -> IssuerDecision:
    """Reverse an approval whose address or CVV the merchant does not accept.

    `denied` says that the address is the one that is always declined.
    """
    if not decision.approved:
        return decision
    wrong_street = rules.auto_decline_street and address.street_matches is False
    wrong_zip = rules.auto_decline_zip and address.zip_matches is False
    if denied or wrong_street or wrong_zip:
        return decline("AVS DECLINED", ReasonCode.REVERSED_FOR_AVS, wait=decision.wait)
    if rules.auto_decline_cvv and cvv_response in _UNCHECKED_CVV:
        return decline("CVV DECLINED", ReasonCode.REVERSED_FOR_CVV, wait=decision.wait)
    return decision
