"""The issuer: approves or declines a payment by trigger amounts and test addresses.

Any amount that is not a trigger is approved. The tables are those of the vendor's test environment. Amounts are in
cents.
"""

import attrs

from gateway_async.sandbox.schema.codes import ReasonCode

__all__ = ["AVS_ENHANCED", "TRIGGERS", "Outcome", "check_address", "check_cvv", "decide", "decline", "refuses_address"]


@attrs.frozen
class Outcome:
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


def decline(text: str, reason_code: int = ReasonCode.DENIED) -> Outcome:
    """Create a decline with its text."""
    return Outcome(reason_code, text, text)


_DECLINE_TEXTS = {
    1500: "DECLINED",
    1510: "CALL",
    1520: "PICK UP CARD",
    1530: "RETRY",
    1616: "INSUFFICIENT FUNDS",
    1622: "EXPIRED CARD",
}
"""The text of each `reason_code_id`; the text of any other decline is DECLINED."""

_BATCH_ERROR_CENTS = 630
"""An amount that is approved, but makes the settlement of its batch fail (`handlers/transaction_batches.py`)."""

TRIGGERS = {
    201: Outcome(ReasonCode.PARTIALLY_APPROVED, "PARTIAL APPROVAL", auth_amount=100),
    **{
        cents: decline(_DECLINE_TEXTS.get(1000 + cents, "DECLINED"), 1000 + cents)
        for cents in (500, 510, 520, 530, *range(601, 632))
        if cents != _BATCH_ERROR_CENTS
    },
    **{800 + seconds: Outcome(wait=seconds) for seconds in range(100)},
}
"""Amounts in cents and their effects on cards entered by hand or stored in a vault; 6.30 affects the batch instead."""


_MATCHING_ADDRESS = ("5800 nw 39th ave", "32606")
_DECLINED_ADDRESS = ("2831 nw 41st st ste j", "32615")
_AVS = {(True, True): "GOOD", (True, False): "STREET", (False, True): "ZIP", (False, False): "BAD"}
AVS_ENHANCED = {"GOOD": "Y", "STREET": "A", "ZIP": "Z", "BAD": "N", None: "V"}
"""The `avs_enhanced` code for each `avs` of a card payment; V means that no address was given."""

_CVV = {"999": "M", "123": "N"}
_CVV_OF_BRAND = {"amex": {"1234": "M", "9999": "N"}}


def decide(cents: int, street: str | None = None, zip_code: str | None = None) -> Outcome:
    """Approve or decline a card payment by amount and billing address."""
    outcome = TRIGGERS.get(cents, Outcome())
    if outcome.approved and refuses_address(street, zip_code):
        return attrs.evolve(decline("AVS DECLINED"), wait=outcome.wait)
    return outcome


def refuses_address(street: str | None, zip_code: str | None) -> bool:
    """Return whether the billing address is the test address that declines."""
    return (street or "").lower().strip() == _DECLINED_ADDRESS[0] or zip_code == _DECLINED_ADDRESS[1]


def check_address(street: str | None, zip_code: str | None) -> str | None:
    """Return the `avs` of a payment: GOOD, STREET, ZIP, BAD; None without an address."""
    if not street and not zip_code:
        return None
    return _AVS[(street or "").lower().strip() == _MATCHING_ADDRESS[0], zip_code == _MATCHING_ADDRESS[1]]


def check_cvv(cvv: str | None, brand: str) -> str | None:
    """Return the `cvv_response`: M match, N no match, P not processed; None without a CVV."""
    return None if cvv is None else _CVV_OF_BRAND.get(brand, _CVV).get(cvv, "P")
