"""The test terminals of bank payments: what a payment must say, by the terminal's number.

A number is four digits, `SS1D`. SS chooses the SEC code, the address and whether credits are allowed. D chooses the
proofs of identity.
"""

import re

import attrs

from gateway_async.sandbox.simulators.vendor_tables import read_table

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


_KINDS = {kind: columns for kind, *columns in read_table("ach_terminals")}
_CHECKS = frozenset({"POP", "C21"})

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
    if parts is None or parts[1] not in _KINDS:
        raise ValueError(f"ach_terminal: must be SS1D, with SS one of {', '.join(sorted(_KINDS))} and D 0 to 7.")
    (sec_code, address, credit), proofs = _KINDS[parts[1]], int(parts[2])
    needs_identity = bool(proofs & _NEEDS_IDENTITY)
    required: tuple[str, ...] = ("account_holder_name", "routing", "account_number", "account_type")
    if address == "full":
        required += (*_ADDRESS, "billing_phone")
    elif needs_identity:
        required += _ADDRESS
    if sec_code in _CHECKS:
        required += ("track_data",)
    if proofs & _NEEDS_LICENSE:
        required += _LICENSE
    return AchTerminal(sec_code, credit == "yes", required, needs_identity)
