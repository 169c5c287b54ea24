"""Writers of three output files: the vault id of each key, the findings of a verification, the text of a report."""

import json
from collections.abc import AsyncIterable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from gateway_async.migration.journal.protocol import JournalEntry
from gateway_async.migration.output.atomic_file import AtomicFile
from gateway_async.migration.output.formulas import csv_writer, escape_formula
from gateway_async.migration.verification_result import Finding

__all__ = ["SUFFIXES", "write_findings", "write_report", "write_vault_ids"]

_FIELDS: Final = ("key", "account_vault_id", "account_vault_api_id", "last_four", "brand")
_FINDING_FIELDS: Final = ("key", "line", "account_vault_id", "finding", "details")
_DELIMITERS: Final[Mapping[str, str]] = {".csv": ",", ".tsv": "\t"}
_JSON_LINES: Final = (".jsonl", ".ndjson")
SUFFIXES: Final = (*_DELIMITERS, *_JSON_LINES)
"""Suffixes of a file of vault ids; they select its format."""


async def write_vault_ids(path: Path, entries: AsyncIterable[JournalEntry]) -> int:
    """Write the vault id of each key as CSV or JSON Lines.

    In CSV, text that a spreadsheet would run as a formula has an apostrophe before it. In JSON Lines, text is
    unchanged.

    Args:
        path: the path of the file; an existing file is replaced when the new one is complete.
        entries: the stored rows, from the journal.

    Returns:
        The number of rows.

    Raises:
        OSError: it cannot be written.
    """
    with AtomicFile(path, "utf-8") as file:
        write, number = _writer(path, file, _FIELDS), 0
        async for entry in entries:
            write((entry.key, entry.vault_id, entry.api_id, entry.last_four, entry.brand))
            number += 1
        return number


@contextmanager
def write_findings(path: Path) -> Iterator[Callable[[Finding], object]]:
    """Open a file of findings, CSV or JSON Lines. Yield the function that writes one.

    Args:
        path: the path of the file; an existing file is replaced when the block ends without an error.

    Raises:
        OSError: it cannot be written.
    """
    with AtomicFile(path, "utf-8") as file:
        write = _writer(path, file, _FINDING_FIELDS)

        def write_finding(finding: Finding) -> None:
            line = None if finding.line is None else str(finding.line)
            write((finding.key, line, finding.vault_id, finding.verdict, "; ".join(finding.details)))

        yield write_finding


def write_report(path: Path, text: str) -> None:
    """Write a report; an existing file is replaced when the new one is complete.

    Raises:
        OSError: it cannot be written.
    """
    with AtomicFile(path, "utf-8") as file:
        file.write(text)


def _writer(path: Path, file: TextIO, fields: Sequence[str]) -> Callable[[Sequence[str | None]], object]:
    if path.suffix.lower() in _JSON_LINES:
        return lambda values: file.write(json.dumps(dict(zip(fields, values, strict=True)), ensure_ascii=False) + "\n")
    rows = csv_writer(file, _DELIMITERS[path.suffix.lower()])
    rows.writerow(fields)
    return lambda values: rows.writerow(value and escape_formula(value) for value in values)
