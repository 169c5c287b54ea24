"""Cards to migrate, a folder for journals, and faults of the sandbox."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sandbox_process import control

from gateway_async import CardVaultCreate

NUMBER: Final = "4111111111111111"
STORE: Final = "POST /v2/accountvaults"
FAULTS: Final = (
    *("reset_before_commit", "reset_after_commit", "close_after_commit", "error_before_commit", "error_after_commit"),
    *("cut_body", "double_answer", "swap_answer", "wrong_length", "unavailable", "garbage", "html", "empty"),
)
"""The faults that lose or damage a response. The other faults are delays and would measure only those."""


def cards(prefix: str, count: int) -> Iterator[CardVaultCreate]:
    """Generate `count` cards to store, each with an id."""
    for number in range(count):
        yield CardVaultCreate(account_number=NUMBER, exp_date="1230", account_vault_api_id=f"{prefix}-{number}")


def plan_faults(facts: dict[str, Any], share: float) -> None:
    """Plan faults for a share of the stores, spread over all faults."""
    control(facts, "DELETE", "faults")
    for seed, fault in enumerate(FAULTS):
        plan = {"operation": STORE, "fault": fault, "probability": share / len(FAULTS), "seed": seed}
        control(facts, "POST", "faults", plan)


@contextlib.contextmanager
def journal_folder() -> Iterator[Path]:
    """Make a folder on a real disk.

    A system temporary folder may be in memory, where a sync costs nothing.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".migration-") as folder:
        yield Path(folder)
