"""What reading back has shown: how many accounts are as they should be, and what is wrong with which."""

from enum import StrEnum
from typing import Final

import attrs

__all__ = ["Finding", "Verdict", "Verification"]

_MOST_FINDINGS: Final = 1000


class Verdict(StrEnum):
    """What is wrong with an account."""

    DIFFERENT = "different"
    """It is stored, and something of it is not as it should be."""
    MISSING = "missing"
    """The journal says that it is stored, and the gateway does not know it."""
    UNREAD = "unread"
    """It could not be read."""
    NOT_STORED = "not stored"
    """The input has it, and by the journal it is not stored."""


@attrs.frozen
class Finding:
    """An account with which something is wrong.

    Attributes:
        line: of its row in the input, from 1; None if it came from no file.
        details: one line for each thing, beginning with the field's name.
    """

    key: str
    line: int | None
    vault_id: str | None
    verdict: Verdict
    details: tuple[str, ...] = ()


@attrs.define
class Verification:
    """What reading back has shown. While it runs, the numbers grow.

    Attributes:
        total: accounts that are to be read; None while nobody knows.
        matching: accounts that are as they should be.
        different: accounts that are stored otherwise.
        missing: accounts that are not there, or deleted.
        unread: accounts that could not be read.
        not_stored: rows of the input that are not stored by the journal; 0 without the input, and for a sample.
        stopped: why it stopped before all were read, in words; "" if it did not.
        findings: what is wrong with which, the first thousand.
    """

    total: int | None = None
    matching: int = 0
    different: int = 0
    missing: int = 0
    unread: int = 0
    not_stored: int = 0
    stopped: str = ""
    findings: list[Finding] = attrs.field(factory=list, repr=False)

    @property
    def checked(self) -> int:
        """Accounts that were looked for."""
        return self.matching + self.different + self.missing + self.unread

    @property
    def good(self) -> bool:
        """Whether all was read, and nothing is wrong."""
        return not (self.stopped or self.different or self.missing or self.unread or self.not_stored)

    def add(self, finding: Finding) -> None:
        """Count it."""
        name = finding.verdict.name.lower()
        setattr(self, name, getattr(self, name) + 1)
        if len(self.findings) < _MOST_FINDINGS:
            self.findings.append(finding)
