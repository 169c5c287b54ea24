"""The test terminals of bank payments: what a payment must say, by the terminal's number.

A number is four digits, `SS1D`. SS chooses the SEC code, the address and whether credits are allowed. D chooses the
proofs of identity.
"""

import re

import attrs

__all__ = ["AchTerminal", "read_terminal"]


@attrs.frozen
class AchTerminal:
    """The requirements of one terminal.

    Attributes:
        sec_code: The SEC code of its payments.
        allows_credit: Whether money can be sent to the bank account.
        required: The fields that a payment must have.
        needs_identity: Whether a payment needs either `ssn4` or `dob_year`.
    """

    sec_code: str
    allows_credit: bool
    required: tuple[str, ...]
    needs_identity: bool


_SEC_CODES = {
    **dict.fromkeys(("10", "20", "18", "28"), "PPD"),
    **dict.fromkeys(("17", "27", "19", "29"), "CCD"),
    **dict.fromkeys(("12", "22"), "TEL"),
    "23": "WEB",
    "11": "POP",
    "16": "C21",
}
_WITH_CREDIT = frozenset({"18", "19", "28", "29"})
_OF_CHECKS = frozenset({"11", "16"})
_WITH_FULL_ADDRESS = frozenset({"10", "17", "12", "18", "19"})

_NUMBER = re.compile(r"([0-9]{2})1([0-7])")
_ADDRESS = ("billing_street", "billing_city", "billing_state", "billing_zip")
_LICENSE = ("dl_number", "dl_state")
_NEEDS_LICENSE, _NEEDS_IDENTITY = 1, 2


def read_terminal(number: str) -> AchTerminal:
    """Return the requirements of a test terminal.

    Raises:
        ValueError: No test terminal has this number.
    """
    parts = _NUMBER.fullmatch(number)
    if parts is None or parts[1] not in _SEC_CODES:
        raise ValueError(f"ach_terminal: must be SS1D, with SS one of {', '.join(sorted(_SEC_CODES))} and D 0 to 7.")
    kind, proofs = parts[1], int(parts[2])
    needs_identity = bool(proofs & _NEEDS_IDENTITY)
    required: tuple[str, ...] = ("account_holder_name", "routing", "account_number", "account_type")
    if kind in _WITH_FULL_ADDRESS:
        required += (*_ADDRESS, "billing_phone")
    elif needs_identity:
        required += _ADDRESS
    if kind in _OF_CHECKS:
        required += ("track_data",)
    if proofs & _NEEDS_LICENSE:
        required += _LICENSE
    return AchTerminal(_SEC_CODES[kind], kind in _WITH_CREDIT, required, needs_identity)
