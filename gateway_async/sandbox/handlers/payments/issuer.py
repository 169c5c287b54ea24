"""The issuer's decision on a card payment: approved, declined or approved in part.

It depends on trigger amounts, test addresses (AVS) and security codes (CVV), which are those of the vendor's test
environment, and on the settings of the merchant account. Any amount that is not a trigger is approved. Amounts are in
cents.
"""

import re

import attrs

from gateway_async.sandbox.schema.codes import ReasonCode
from gateway_async.sandbox.schema.fields import Row
from gateway_async.sandbox.schema.kinds import MONEY
from gateway_async.sandbox.simulators.cards import Account
from gateway_async.sandbox.simulators.vendor_tables import read_table

_DECLINES = {int(MONEY.read(amount)): verbiage for amount, verbiage in read_table("declines")}
"""The `verbiage` of each declining amount; the `reason_code_id` is 1000 more than the cents."""

_MANAGER_CENTS = 1663
_OVERRIDABLE = frozenset({"TEL", "POP", "C21"})
"""The SEC codes of bank payments that a manager can approve."""

_TIMEOUT_SECONDS = 10
"""Seconds that the gateway waits for an issuer."""

_UNCHECKED_CVV = frozenset("PSUX")
_SETTINGS = ("allow_partial_authorization", "auto_decline_cvv", "auto_decline_street", "auto_decline_zip")
"""The settings of a merchant account that decide about a card payment."""

_MATCHING_ADDRESS = ("5800 nw 39th ave", "32606")
_DENIED_ADDRESS = ("2831 nw 41st st ste j", "32615")
_ZIP = re.compile(r"([0-9]{5})(-?[0-9]{4})?")
_AVS = {(True, True): "GOOD", (True, False): "ZIP", (False, True): "STREET", (False, False): "BAD"}
"""The `avs` by whether street and zip match; STREET and ZIP name the part that does *not* match."""

_ENHANCED = {"GOOD": "Y", "ZIP": "A", "STREET": "Z", "BAD": "N"}
_NINE_DIGIT_CODES = {"GOOD": "X", "STREET": "W"}
_CVV_RESPONSES = {(brand, code): response for brand, code, response in read_table("cvv")}


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


def decline(text: str, reason_code: int = ReasonCode.DENIED, *, wait: int = 0) -> IssuerDecision:
    """Create a decline with its text."""
    return IssuerDecision(reason_code, text, text, wait=wait)


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


def decide_payment(product: Row, values: Row, account: Account, *, at_terminal: bool = False) -> IssuerDecision:
    """Approve or decline a payment by its amount, the billing address and the security code.

    A refund is not declined for its address. `product` is the merchant account.
    """
    if account.payment_method == "ach":
        return _decide_bank_payment(values, account)
    settings = _read_settings(product, values)
    decision = _decide_amount(values["transaction_amount"], at_terminal=at_terminal)
    if decision.auth_amount is not None and not settings["allow_partial_authorization"]:
        return decline(decision.verbiage, ReasonCode.REVERSED_FOR_PARTIAL_APPROVAL)
    if values["action"] == "refund" or not decision.approved:
        return decision
    return _verify_card(decision, settings, values, account)


def _decide_amount(cents: int, *, at_terminal: bool) -> IssuerDecision:
    """Decide by the amount. A terminal waits for its slow amounts itself, so the issuer approves them at once."""
    return IssuerDecision() if at_terminal and cents in _SLOW else TRIGGERS.get(cents, IssuerDecision())


def _decide_bank_payment(values: Row, account: Account) -> IssuerDecision:
    """Accept a bank payment, or decline it until a manager overrides."""
    sec_code = values.get("ach_sec_code") or account.ach_sec_code
    if values["transaction_amount"] == _MANAGER_CENTS and sec_code in _OVERRIDABLE:
        return decline("MANAGER NEEDED", ReasonCode.MANAGER_NEEDED)
    return IssuerDecision()


def _verify_card(decision: IssuerDecision, settings: Row, values: Row, account: Account) -> IssuerDecision:
    """Reverse an approval whose address or CVV the merchant does not accept."""
    street, zip_code = _billing_address(values, account)
    address = _check_address(street, zip_code)
    wrong_street = settings["auto_decline_street"] and address.street_matches is False
    wrong_zip = settings["auto_decline_zip"] and address.zip_matches is False
    if wrong_street or wrong_zip or _is_denied_address(street, zip_code):
        return decline("AVS DECLINED", ReasonCode.REVERSED_FOR_AVS, wait=decision.wait)
    if settings["auto_decline_cvv"] and _check_cvv(values.get("cvv"), account.account_type) in _UNCHECKED_CVV:
        return decline("CVV DECLINED", ReasonCode.REVERSED_FOR_CVV, wait=decision.wait)
    return decision


def _read_settings(product: Row, values: Row) -> Row:
    """Read the settings of the merchant account; an `_override` of the request replaces its setting once."""
    overrides = {name: values.get(f"{name}_override") for name in _SETTINGS}
    return {name: product[name] if override is None else override for name, override in overrides.items()}


def verification_values(values: Row, account: Account) -> Row:
    """The results of the address check and the CVV check.

    Only a card whose number is keyed has a CVV to compare.
    """
    address = _check_address(*_billing_address(values, account))
    cvv_response = _check_cvv(values.get("cvv"), account.account_type) if account.entry_mode == "K" else None
    return {"avs": address.avs, "avs_enhanced": address.avs_enhanced, "cvv_response": cvv_response}


def _billing_address(values: Row, account: Account) -> tuple[str | None, str | None]:
    """Street and zip from the request, or else from the account."""
    street, zip_code = values.get("billing_street"), values.get("billing_zip")
    return street or account.billing_street, zip_code or account.billing_zip


@attrs.frozen
class _AddressCheck:
    """The result of an address check.

    Attributes:
        avs: GOOD, BAD, or the part that does not match (STREET, ZIP); None without an address.
        avs_enhanced: The code of the card network.
        street_matches: Whether the street matches; None if none was given.
        zip_matches: Whether the zip matches; None if none was given.
    """

    avs: str | None
    avs_enhanced: str
    street_matches: bool | None = None
    zip_matches: bool | None = None


_NO_ADDRESS = _AddressCheck(None, "V")


def _check_address(street: str | None, zip_code: str | None) -> _AddressCheck:
    """Compare a billing address with the test address; a part that is not given is not compared."""
    if not street and not zip_code:
        return _NO_ADDRESS
    street_matches = _normalize(street) == _MATCHING_ADDRESS[0] if street else None
    digits = _ZIP.fullmatch(zip_code or "")
    zip_matches = bool(digits and digits[1] == _MATCHING_ADDRESS[1]) if zip_code else None
    avs = _AVS[_complete_results(street_matches, zip_matches)]
    codes = _ENHANCED | (_NINE_DIGIT_CODES if zip_matches and digits and digits[2] else {})
    return _AddressCheck(avs, codes[avs], street_matches, zip_matches)


def _complete_results(street_matches: bool | None, zip_matches: bool | None) -> tuple[bool, bool]:
    """Return both results; a part that was not given counts as the other part does."""
    if street_matches is None or zip_matches is None:
        matches = bool(street_matches or zip_matches)
        return matches, matches
    return street_matches, zip_matches


def _is_denied_address(street: str | None, zip_code: str | None) -> bool:
    """Whether the billing address is the test address that declines."""
    return _normalize(street) == _DENIED_ADDRESS[0] or zip_code == _DENIED_ADDRESS[1]


def _check_cvv(cvv: str | None, brand: str) -> str:
    """Return the `cvv_response`: M match, P not processed, S should be on the card, U unavailable, X no reply.

    Any other code, and a payment without one, gets N: no match.
    """
    return _CVV_RESPONSES.get(("amex" if brand == "amex" else "other", cvv or ""), "N")


def _normalize(street: str | None) -> str:
    return (street or "").lower().strip()
