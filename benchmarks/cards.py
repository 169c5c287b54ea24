"""Cards to migrate, and a folder for journals."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway_async import CardVaultCreate

NUMBER: Final = "4111111111111111"


def cards(prefix: str, count: int) -> Iterator[CardVaultCreate]:
    """Generate `count` cards to store, each with an id."""
    for number in range(count):
        yield CardVaultCreate(account_number=NUMBER, exp_date="1230", account_vault_api_id=f"{prefix}-{number}")


@contextlib.contextmanager
def journal_folder() -> Iterator[Path]:
    """Make a folder on a real disk.

    A system temporary folder may be in memory, where a sync costs nothing.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".migration-") as folder:
        yield Path(folder)
