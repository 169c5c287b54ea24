"""The codes with which a bank returns a payment or corrects its data.

- R: an ACH return; `reason_code_id` 2100 plus its number.
- C: a notice of change, after which the payment stays as it is; 2200 plus its number.
- X: a return of a check image; 2300 plus its number.
"""

import attrs

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


_NUMBERS = {
    "R": (*range(1, 48), *range(50, 54), *range(61, 75), *range(80, 84)),
    "C": (*range(1, 14), *range(61, 70)),
    "X": (1, *range(4, 11), 21, 22, 23, 29, 45, 71, 72, 73),
}
_FIRST = {"R": 2100, "C": 2200, "X": 2300}

BANK_CODES = {
    f"{kind}{number:02}": BankCode(f"{kind}{number:02}", _FIRST[kind] + number, kind != "C")
    for kind, numbers in _NUMBERS.items()
    for number in numbers
}
"""The codes by name, such as R01."""
