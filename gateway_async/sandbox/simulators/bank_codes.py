"""The codes with which a bank returns a payment or corrects its data.

- R: an ACH return; `reason_code_id` 2100 plus its number.
- C: a notice of change, after which the payment stays as it is; 2200 plus its number.
- X: a return of a check image; 2300 plus its number.
"""

import attrs

from gateway_async.sandbox.simulators.vendor_tables import read_table

__all__ = ["BANK_CODES", "BankCode"]


@attrs.frozen
class BankCode:
    """One code.

    Attributes:
        reason_code: The `reason_code_id` of the payment.
        takes_back: Whether the bank returns the payment.
    """

    code: str
    reason_code: int
    takes_back: bool

    @property
    def verbiage(self) -> str:
        """The `verbiage` of the payment."""
        return f"Rejected-{self.code}"


BANK_CODES = {
    code: BankCode(code, int(reason_code), effect == "returned")
    for code, reason_code, effect in read_table("bank_codes")
}
"""The codes by name, such as R01."""
