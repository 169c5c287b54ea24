"""The life of a transaction.

The law of this file: what is not in a table here is not allowed.

    sale, force ──────────→ 101 approved ───── void ────→ 201 voided
                              ↑      └─ tipadjust, partialreversal ─→ 101
                         authcomplete
                              │
    authonly ─────────────→ 102 authorised ─── void ────→ 201
                              └─ authincrement, partialreversal ────→ 102
    refund ───────────────→ 111 refunded ───── void ────→ 201
    avsonly ──────────────→ 121 address checked
    debit, credit, ach ───→ 131 to originate ─ void ────→ 201
    anything the issuer refuses → 301 declined
"""

from __future__ import annotations

from typing import NamedTuple

APPROVED, AUTHORISED, REFUNDED, ADDRESS_CHECKED, TO_ORIGINATE = 101, 102, 111, 121, 131
SETTLED, VOIDED, DECLINED = 134, 201, 301


class Start(NamedTuple):
    """What an action makes of a new transaction when it is approved."""

    type_id: int
    status_id: int


STARTS = {
    ("cc", "sale"): Start(20, APPROVED),
    ("cc", "force"): Start(20, APPROVED),
    ("cc", "authonly"): Start(20, AUTHORISED),
    ("cc", "avsonly"): Start(21, ADDRESS_CHECKED),
    ("cc", "refund"): Start(30, REFUNDED),
    ("ach", "sale"): Start(50, TO_ORIGINATE),
    ("ach", "debit"): Start(50, TO_ORIGINATE),
    ("ach", "credit"): Start(40, TO_ORIGINATE),
    ("ach", "refund"): Start(40, TO_ORIGINATE),
}
"""Payment method and action of a POST, and where the transaction begins."""

MOVES = {
    ("void", APPROVED): VOIDED,
    ("void", AUTHORISED): VOIDED,
    ("void", REFUNDED): VOIDED,
    ("void", TO_ORIGINATE): VOIDED,
    ("authcomplete", AUTHORISED): APPROVED,
    ("authincrement", AUTHORISED): AUTHORISED,
    ("partialreversal", AUTHORISED): AUTHORISED,
    ("partialreversal", APPROVED): APPROVED,
    ("tipadjust", APPROVED): APPROVED,
}
"""Action of a PUT and status of the transaction, and the status that follows."""

REFUNDABLE = frozenset({APPROVED, TO_ORIGINATE, SETTLED, 132, 133})
"""Statuses of a transaction that another one may refund."""


def allows(action: str, status_id: int) -> bool:
    """Whether a transaction of this status can be the object of an action."""
    return status_id in REFUNDABLE if action == "refund" else (action, status_id) in MOVES
