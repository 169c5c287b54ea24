"""Test values that fill in a payment form with one click.

There are cards, a bank account, and an address and an amount that the issuer declines.
"""

from collections.abc import Mapping

import attrs

from gateway_async.sandbox.pages.payment.bills import Bill
from gateway_async.sandbox.schema.kinds import MONEY
from gateway_async.sandbox.simulators.cards import TEST_CARDS

__all__ = ["SAMPLES", "SampleEntry"]


@attrs.frozen
class SampleEntry:
    """Values for a payment form.

    Attributes:
        name: The name of the link that fills them in.
        method: `cc` or `ach`.
        fields: The values by field.
        needs_billing: Whether the billing address decides about the payment.
    """

    name: str
    method: str
    fields: Mapping[str, str]
    needs_billing: bool = False

    def is_usable(self, bill: Bill) -> bool:
        """Return whether a bill takes the method, the fields and the amount."""
        if self.method not in bill.methods or (self.needs_billing and not bill.shows_billing):
            return False
        smallest, largest = bill.limits
        return "amount" not in self.fields or smallest <= int(MONEY.read(self.fields["amount"])) <= largest


_MATCHING_ADDRESS = {"billing_street": "5800 NW 39th AVE", "billing_zip": "32606"}
_DENIED_ADDRESS = {"billing_street": "2831 NW 41st St STE J", "billing_zip": "32615"}


def _make_card(brand: str, **fields: str) -> dict[str, str]:
    known = {
        "account_number": TEST_CARDS[brand],
        "exp_date": "12/30",
        "cvv": "1234" if brand == "amex" else "999",
        "account_holder_name": "Test Customer",
    }
    return known | _MATCHING_ADDRESS | fields


SAMPLES = {
    "visa": SampleEntry("Visa ending in 1111", "cc", _make_card("visa")),
    "mc": SampleEntry("Mastercard ending in 5454", "cc", _make_card("mc")),
    "amex": SampleEntry("Amex ending in 8431", "cc", _make_card("amex")),
    "disc": SampleEntry("Discover ending in 0000", "cc", _make_card("disc")),
    "denied": SampleEntry("Declined for its address", "cc", _make_card("visa", **_DENIED_ADDRESS), needs_billing=True),
    "funds": SampleEntry("$6.16: insufficient funds", "cc", _make_card("visa", amount="6.16")),
    "partial": SampleEntry("$2.01: approved in part", "cc", _make_card("visa", amount="2.01")),
    "checking": SampleEntry(
        "Checking account",
        "ach",
        {
            "account_holder_name": "Test Customer",
            "routing": "072000326",
            "account_number": "1234567890",
            "account_type": "checking",
        }
        | _MATCHING_ADDRESS,
    ),
}
"""The values by the name in the query of a form."""
