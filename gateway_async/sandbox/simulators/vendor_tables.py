"""The tables of the vendor's test environment, from the files in `tables/`.

A line of a file is a row, with two spaces or more between its columns; a line with # says what they are.
"""

import re
from pathlib import Path

import attrs

from gateway_async.sandbox.schema.kinds import MONEY

_FOLDER = Path(__file__).parent / "tables"
_GAP = re.compile(" {2,}")
_CHECKS = frozenset({"POP", "C21"})
_NUMBER = re.compile(r"([0-9]{2})1([0-7])")
_ADDRESS = ("billing_street", "billing_city", "billing_state", "billing_zip")
_LICENSE = ("dl_number", "dl_state")
_NEEDS_LICENSE, _NEEDS_IDENTITY = 1, 2


def read_table(name: str) -> list[list[str]]:
    """Read the rows of a table.

    Raises:
        ValueError: A row has more or fewer columns than the first; the message names the file and the line.
    """
    path = _FOLDER / f"{name}.txt"
    rows: list[list[str]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#"):
            continue
        row = _GAP.split(line.strip())
        if rows and len(row) != len(rows[0]):
            raise ValueError(f"{path.name}, line {number}: {len(row)} columns (expected {len(rows[0])})")
        rows.append(row)
    return rows


REJECTED_BATCH_CENTS = 630
"""An amount that is approved, but makes the first settlement of its batch fail."""

BATCH_ERRORS = {int(MONEY.read(amount)): message for amount, message in read_table("batch_errors")}
"""The messages of the processor, by the amount in cents that makes the settlement of a batch fail once."""


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


def read_terminal(number: str) -> AchTerminal:
    """Read the requirements of a test terminal.

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
