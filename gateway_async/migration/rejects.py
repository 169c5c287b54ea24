"""The rows that were rejected, in the input's own shape, each with its problems: to be mended and migrated again.

Card and bank numbers are masked unless they are asked for; then nobody else may read the file.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from gateway_async.migration._masking import cell, guarded
from gateway_async.migration._whole_file import WholeFile, keep_former
from gateway_async.migration.journal import End
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.shapes import Shape, Writer, writer_of

__all__ = ["Rejects"]


class Rejects:
    """Rejected rows as they stand in the input, each with its problems; to be mended and migrated again.

    Args:
        path: its place; a file of rejects that is there already is kept beside it, with a `~`.
        shape: tells how the input is written; asked when the first row is rejected.
        with_card_numbers: write the rows as they are, into a file that nobody else may read.

    Attributes:
        count: rows so far.
    """

    def __init__(self, path: Path, shape: Callable[[], Shape], *, with_card_numbers: bool = False) -> None:
        self.count = 0
        self._path = path
        self._shape = shape
        self._with_card_numbers = with_card_numbers
        self._rows: Writer | None = None
        self._file: WholeFile | None = None
        self._error: OSError | None = None

    def add(self, row: VaultRow, end: End) -> None:
        """Write a row; if the disk takes none, `close` says so."""
        self.count += 1
        if self._error is None:
            try:
                self._opened().add(self._masked(row), _problems(row, end))
            except OSError as error:
                self._error = error

    def close(self) -> bool:
        """Move the file to its place; whether there is one.

        Raises:
            OSError: it could not be written.
        """
        if self._rows is None or self._file is None:
            self._complain()
            WholeFile.clear(self._path)
            return False
        try:
            self._complain()
            self._rows.finish()
            self._file.finish()
            keep_former(self._path)
            self._file.move()
        except OSError:
            self._file.drop()
            raise
        return True

    def set_former_aside(self) -> Path | None:
        """After a run that rejected nothing: no earlier file is to be taken for its rejects. Where that is kept now.

        Raises:
            OSError: it cannot be moved.
        """
        return keep_former(self._path)

    def _complain(self) -> None:
        """Say what went wrong earlier."""
        if self._error is not None:
            raise self._error

    def _opened(self) -> Writer:
        if self._rows is None:
            shape = self._shape()
            self._fit = lru_cache(256)(shape.fit.fit_some)
            self._file = WholeFile(self._path, shape.encoding, private=self._with_card_numbers)
            self._rows = writer_of(self._file.open(), shape)
        return self._rows

    def _masked(self, row: VaultRow) -> dict[str, Any]:
        source = dict(row.source or {})
        if self._with_card_numbers:
            return source
        if any(problem.startswith("row: ") for problem in row.problems):
            return {name: guarded(value) for name, value in source.items()}
        fields = self._fit(tuple(source)).fields
        return {name: cell(field, value) for field, (name, value) in zip(fields, source.items(), strict=True)}


def _problems(row: VaultRow, end: End) -> list[str]:
    if row.line is None or not end.reasons:
        return list(end.reasons)
    return [f"line {row.line}: {end.reasons[0]}", *end.reasons[1:]]
