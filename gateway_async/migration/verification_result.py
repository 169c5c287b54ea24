"""The result of a verification: how many accounts match, and the problems of the others."""

from enum import StrEnum
from typing import Final

import attrs

__all__ = ["Finding", "Verdict", "Verification"]

_MAX_FINDINGS: Final = 1000


class Verdict(StrEnum):
    """The problem of an account."""

    DIFFERENT = "different"
    """The account has other values."""
    MISSING = "missing"
    """The journal has it as stored, but the gateway does not have it."""
    UNREAD = "unread"
    """The account could not be read."""
    NOT_STORED = "not stored"
    """The input has it, but the journal does not have it as stored."""


@attrs.frozen
class Finding:
    """An account with a problem.

    Attributes:
        line: line of its row in the input, from 1; None if it came from no file.
        details: one line for each difference, beginning with the field's name.
    """

    key: str
    line: int | None
    vault_id: str | None
    verdict: Verdict
    details: tuple[str, ...] = ()


@attrs.define
class Verification:
    """The result of a verification. While it runs, the numbers grow.

    Attributes:
        total: number of accounts to read; None while it is not known.
        matching: accounts that are as they should be.
        different: accounts that are stored with other values.
        missing: accounts that do not exist or were deleted.
        unread: accounts that could not be read.
        not_stored: rows of the input that the journal does not have as stored; 0 without the input.
        stopped: the reason why it stopped before all were read; "" if it did not.
        findings: the accounts with a problem, the first thousand.
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
        """Number of accounts that were looked up."""
        return self.matching + self.different + self.missing + self.unread

    @property
    def good(self) -> bool:
        """Whether all accounts were read and have no problem."""
        return not (self.stopped or self.different or self.missing or self.unread or self.not_stored)

    def add(self, finding: Finding) -> None:
        """Count and store a finding."""
        name = finding.verdict.name.lower()
        setattr(self, name, getattr(self, name) + 1)
        if len(self.findings) < _MAX_FINDINGS:
            self.findings.append(finding)
