"""The file of rejected rows, and the masking of card and bank numbers in it."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import attrs

from gateway_async._secrets import is_confidential, luhn_valid, mask_digits, mask_text, seal
from gateway_async.migration.journal.protocol import RowResult
from gateway_async.migration.output.files import AtomicFile, backup_path, part_path
from gateway_async.migration.output.tables import WRITERS, InputFormat
from gateway_async.migration.rows.builder import CARD_LENGTHS
from gateway_async.migration.rows.columns import ColumnMapping
from gateway_async.migration.rows.row import VaultRow

_POSSIBLE_SECRET: Final = re.compile(r"(?:\d\D*){3}", re.DOTALL)
"""At least as many digits as a CVV has, in a text of unknown meaning."""

_HIDDEN: Final = "************"


def mask_row(row: Mapping[str, Any], mapping: ColumnMapping) -> dict[str, Any]:
    """Mask a row's cells. Columns that are neither a field nor the key are left out, as they may hold anything."""
    cells = zip(mapping.fields, row.items(), strict=True)
    return {
        name: _mask_cell(field, value)
        for index, (field, (name, value)) in enumerate(cells)
        if field or index == mapping.key
    }


def mask_unreadable(row: Mapping[str, Any], mapping: ColumnMapping) -> dict[str, Any]:
    """Hide values that may contain a secret: a cell may be missing, so that the others are in wrong columns.

    The key is shown if a card number is where it should be.
    """
    cells = [*row.values()]
    key = mapping.key if _has_card_in_place(cells, mapping) else None
    return {
        name: mask_text(str(value)) if index == key else _hide(value) for index, (name, value) in enumerate(row.items())
    }


def _has_card_in_place(cells: Sequence[Any], mapping: ColumnMapping) -> bool:
    if "account_number" not in mapping.fields:
        return False
    number = re.sub(r"[\s-]", "", str(cells[mapping.fields.index("account_number")]))
    return len(number) in CARD_LENGTHS and number.isascii() and number.isdigit() and luhn_valid(number)


def _hide(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_hide(inner) for inner in value]
    return _HIDDEN if _POSSIBLE_SECRET.search(str(value)) else value


def _mask_cell(field: str | None, value: Any) -> Any:
    if value in (None, ""):
        return value
    if isinstance(value, dict):
        return {name: _mask_cell(field, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mask_cell(field, inner) for inner in value]
    if field is not None and is_confidential(field):
        return str(seal({field: str(value)})[field])  # of a number, the last four digits remain
    is_identifier = field is None or field.endswith("_id")  # a changed id would store the account twice
    text = (mask_text if is_identifier else mask_digits)(str(value))
    return value if text == str(value) else text


class Rejects:
    """Writes rejected rows as they are in the input, each with its problems, to be corrected and migrated again.

    Args:
        path: the path of the file.
        input_format: returns the format of the input; called when the first row is rejected.
        with_card_numbers: write the rows unmasked.

    Attributes:
        count: number of rows.
        fuller: where an earlier file is, of which this one lacks rows; None without one.
    """

    def __init__(self, path: Path, input_format: Callable[[], InputFormat], *, with_card_numbers: bool = False) -> None:
        self.count = 0
        self.fuller: Path | None = None
        self._path = path
        self._input_format = input_format
        self._with_card_numbers = with_card_numbers
        self._file: AtomicFile | None = None
        self._writer: Any = None
        self._error: OSError | None = None

    def add(self, row: VaultRow, result: RowResult) -> None:
        """Write a row. `close` raises the error if the disk fails."""
        self.count += 1
        if self._error is None:
            try:
                self._writer = self._writer or self._open_writer()
                self._writer.add(self._mask_source(row), _problems(row, result))
            except OSError as error:
                self._error = error

    def close(self, *, is_partial: bool = False) -> bool:
        """Move the file to its path, or raise the `OSError` of a failed write. Return whether there is a file.

        An existing file of rejects is kept beside it, in place of the one before that. If the run was `is_partial`, it
        has not reached all rows: then no kept file is replaced, and only one that has more rows is kept.
        """
        with self._file or nullcontext():
            if self._error is not None:
                raise self._error
            if self._file is None:
                part_path(self._path).unlink(missing_ok=True)  # of a killed process; it may contain card numbers
                return False
            self._writer.finish()
            if is_partial and self._lacks_earlier(self._file):
                self.fuller = backup_path(self._path, unused=True)
            self._file.backup = self.fuller if is_partial else backup_path(self._path)
        return True

    def _lacks_earlier(self, file: AtomicFile) -> bool:
        """Return whether the existing file has lines that the new one lacks. Only hashes of them are in memory."""
        if not self._path.exists():
            return False
        file.text.flush()
        with part_path(self._path).open("rb") as new, self._path.open("rb") as earlier:
            known = set(map(hash, new))
            return not all(hash(line) in known for line in earlier)

    def _open_writer(self) -> Any:
        input_format = self._input_format()
        if not self._with_card_numbers:
            masked = self._mask_row(dict.fromkeys(input_format.columns))
            input_format = attrs.evolve(input_format, columns=tuple(masked))
        self._file = AtomicFile(self._path, input_format.encoding)
        return WRITERS[input_format.format](self._file.text, input_format)

    def _mask_source(self, row: VaultRow) -> dict[str, Any]:
        source = dict(row.source or {})
        if self._with_card_numbers:
            return source
        if any(problem.startswith("row: ") for problem in row.problems):
            return mask_unreadable(source, self._map_names(tuple(source)))
        return self._mask_row(source)

    def _mask_row(self, source: dict[str, Any]) -> dict[str, Any]:
        return mask_row(source, self._map_names(tuple(source)))

    @cached_property
    def _map_names(self) -> Callable[[tuple[str, ...]], ColumnMapping]:
        return lru_cache(256)(self._input_format().mapping.map_names)


def _problems(row: VaultRow, result: RowResult) -> list[str]:
    if row.line is None or not result.reasons:
        return list(result.reasons)
    return [f"line {row.line}: {result.reasons[0]}", *result.reasons[1:]]
