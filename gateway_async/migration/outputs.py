"""What a migration leaves in files: which old key became which account, and its report."""

import csv
import json
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TextIO

from gateway_async.migration._whole_file import WholeFile
from gateway_async.migration.journal import Entry

__all__ = ["SUFFIXES", "write_out", "write_report"]

_FIELDS: Final = ("key", "account_vault_id", "account_vault_api_id", "last_four", "brand")
_SEPARATED: Final[Mapping[str, str]] = {".csv": ",", ".tsv": "\t"}
_LINES: Final = (".jsonl", ".ndjson")
SUFFIXES: Final = (*_SEPARATED, *_LINES)
"""Of a file of vault ids: they say how it is written."""


async def write_out(path: Path, entries: AsyncIterable[Entry]) -> int:
    """Write which key became which account: CSV, or JSON Lines where the suffix says so.

    Args:
        path: its place; a file there is replaced when the new one is whole.
        entries: what is stored, by the journal.

    Returns:
        How many there are.

    Raises:
        OSError: it cannot be written.
    """
    with WholeFile(path, "utf-8", private=False) as file:
        write, number = _writer(path, file), 0
        async for entry in entries:
            write((entry.key, entry.vault_id, entry.api_id, entry.last_four, entry.brand))
            number += 1
        return number


def write_report(path: Path, text: str) -> None:
    """Write a report; a file there is replaced when the new one is whole.

    Raises:
        OSError: it cannot be written.
    """
    with WholeFile(path, "utf-8", private=False) as file:
        file.write(text)


def _writer(path: Path, file: TextIO) -> Callable[[Sequence[str | None]], object]:
    if path.suffix.lower() in _LINES:
        return lambda values: file.write(json.dumps(dict(zip(_FIELDS, values, strict=True)), ensure_ascii=False) + "\n")
    rows = csv.writer(file, delimiter=_SEPARATED[path.suffix.lower()], lineterminator="\n")
    rows.writerow(_FIELDS)
    return rows.writerow
