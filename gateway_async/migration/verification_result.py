"""The result of a verification: how many accounts match, and the problems of the others."""

from collections import Counter
from enum import StrEnum
from typing import Final

import attrs

from gateway_async.migration.report import Totals

__all__ = ["Finding", "Verdict", "Verification"]

_MAX_FINDINGS: Final = 1000


class Verdict(StrEnum):
    """The problem of an account, the worst first."""

    MISSING = "missing"
    """The journal has it as stored, but the gateway does not have it."""
    DIFFERENT = "different"
    """The account has other values."""
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
        not_stored: rows of the input that are not stored: rejected, repeated, unknown, or not migrated yet; 0 without
            the input.
        stopped: the reason why it stopped before all were read; "" if it did not.
        totals: the rows of all runs, from the journal; None while they are not counted.
        reasons: verdict and reason → number of accounts, without the details of single ones.
    """

    total: int | None = None
    matching: int = 0
    different: int = 0
    missing: int = 0
    unread: int = 0
    not_stored: int = 0
    stopped: str = ""
    totals: Totals | None = None
    reasons: Counter[tuple[Verdict, str]] = attrs.field(factory=Counter, repr=False)
    _findings: dict[Verdict, list[Finding]] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def checked(self) -> int:
        """Number of accounts that were looked up."""
        return self.matching + self.different + self.missing + self.unread

    @property
    def good(self) -> bool:
        """Whether all accounts were read and have no problem."""
        return not (self.stopped or self.different or self.missing or self.unread or self.not_stored)

    @property
    def findings(self) -> list[Finding]:
        """The accounts with a problem, the worst verdict first: the first thousand of each."""
        return [finding for verdict in Verdict for finding in self._findings.get(verdict, ())]

    def add(self, finding: Finding) -> None:
        """Count and store a finding."""
        name = finding.verdict.name.lower()
        setattr(self, name, getattr(self, name) + 1)
        findings = self._findings.setdefault(finding.verdict, [])
        if len(findings) < _MAX_FINDINGS:
            findings.append(finding)
