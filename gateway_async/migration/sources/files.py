"""`read_rows`: a file as an async iterable of rows, which is read in a thread."""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, BinaryIO, Final, Literal, Protocol, cast

import anyio.to_thread

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.columns import Columns
from gateway_async.migration.rows import VaultRow
from gateway_async.migration.sources.csv_rows import CsvRows
from gateway_async.migration.sources.json_lines import JsonRows
from gateway_async.migration.sources.opening import STDIN, Bytes, Given, open_bytes
from gateway_async.migration.sources.parquet import ParquetRows
from gateway_async.migration.sources.shard import Shard

__all__ = ["NO_PARTS", "Format", "Rows", "read_rows"]

Format = Literal["csv", "jsonl", "parquet"]

NO_PARTS: Final = "encoding: a file in it cannot be read in parts; make it UTF-8"
_FORMATS: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


class _Parser(Protocol):
    columns: tuple[str, ...]

    def batches(self) -> Iterator[Sequence[VaultRow]]: ...


def read_rows(
    source: Given,
    *,
    format: Format | None = None,  # noqa: A002  what everyone calls it
    columns: Columns | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quotechar: str | None = '"',
    shard: Shard | None = None,
) -> "Rows":
    """The rows of a CSV, JSON Lines or Parquet file, for `plan_migration` and `migrate_vaults`.

    Memory is bounded, whatever the file holds. A row that cannot be read is a row with its reasons; the rest goes on.

    Args:
        source: a path; `"-"` for standard input; or a file that is open for reading bytes.
        format: `"csv"`, `"jsonl"` or `"parquet"`; by default what the path's suffix says.
        columns: how its columns become fields.
        encoding: of a text file; a byte order mark knows better.
        delimiter: of CSV; by default a tab for `.tsv`, else the one that the header has most of.
        quotechar: of CSV; None where quotes are text.
        shard: a part of it, as `shards` cuts it.

    Returns:
        An async iterable. What has a path can be read again and again; a pipe once.

    Raises:
        InvalidRequestError: the format is missing, or an argument cannot be right. What is wrong with the file itself
            is raised by `await rows.header()`, or by the first row.
    """
    told = format or _told(source)
    if delimiter is None and isinstance(source, str | PathLike) and fspath(source).lower().endswith(".tsv"):
        delimiter = "\t"
    _check_one_byte(delimiter=delimiter, quotechar=quotechar)
    dialect = {"delimiter": delimiter, "quotechar": quotechar} if told == "csv" else {}
    return Rows(source, told, columns or Columns(), encoding, dialect, shard)


class Rows:
    """The rows of one file.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        columns: the file's own, in their order, once they are read; () for JSON Lines.
        fields: column → the contract's field that it fills.
        delimiter, quotechar: of CSV, once its header is read.
        encoding: what a text file is said to be in.
        total: how much there is: bytes, of Parquet rows; None where nobody knows.
        position: how much of it was read, in the same unit.
        unit: `"bytes"` or `"rows"`.
    """

    def __init__(
        self,
        source: Given,
        told: Format,
        columns: Columns,
        encoding: str,
        dialect: dict[str, Any],
        shard: Shard | None,
    ) -> None:
        self.format = told
        self.columns: tuple[str, ...] = ()
        self.fields: Mapping[str, str] = {}
        self.quotechar = dialect.get("quotechar")
        self.delimiter: str | None = dialect.get("delimiter")
        self.encoding = encoding
        self.total: int | None = None
        self.position = 0
        self.unit = "rows" if told == "parquet" else "bytes"
        self._source = source
        self._fit = columns
        self._dialect = dialect
        self._shard = shard
        self._ready: _Reading | None = None
        self._again: int | None = None
        self._spent = False
        self._open: set[_Reading] = set()

    async def header(self) -> tuple[str, ...]:
        """Open the file and read its columns; then `total` is known, too.

        Raises:
            InvalidRequestError: it cannot be opened, is no such file, or its columns do not fit.
        """
        if self._ready is None:
            reading = await self._begun()
            if self._has_path:
                self._close(reading)
            else:
                self._ready = reading
        return self.columns

    async def __aiter__(self) -> AsyncIterator[VaultRow]:
        """Read it, from its beginning."""
        reading, self._ready = self._ready or await self._begun(), None
        try:
            while (rows := await anyio.to_thread.run_sync(reading.next, abandon_on_cancel=True)) is not None:
                self.position = reading.position
                for row in rows:
                    yield row
        finally:
            self._close(reading)

    async def aclose(self) -> None:
        """Let go of the file, where it is not read to its end; it can be read again. One given open stays so."""
        self._ready = None
        for reading in [*self._open]:
            self._close(reading)

    def _close(self, reading: "_Reading") -> None:
        self._open.discard(reading)
        reading.close()

    async def _begun(self) -> "_Reading":
        reading = await anyio.to_thread.run_sync(self._opened, abandon_on_cancel=True)
        self._open.add(reading)
        return reading

    @property
    def _has_path(self) -> bool:
        return isinstance(self._source, str | PathLike) and self._source != STDIN

    def _opened(self) -> "_Reading":
        self._rewind()
        if self.format == "parquet":
            parser = ParquetRows(self._source, self._fit, shard=self._shard)
            self.columns, self.fields, self.total = parser.columns, parser.fields, parser.total
            return _Reading(parser, parser)
        file, text = self.open_text()
        self.columns, self.fields = text.columns, text.fields
        self.total = self._shard.end - self._shard.start if self._shard else file.total
        return _Reading(text, file, self._shard.start if self._shard else 0)

    def open_text(self) -> "tuple[Bytes, CsvRows | JsonRows]":
        """The file, opened, and what reads it; blocks. For CSV and JSON Lines."""
        file = open_bytes(self._source, self.encoding)
        try:
            return file, self._parser(file)
        except BaseException:
            file.close()
            raise

    def _parser(self, file: Bytes) -> "CsvRows | JsonRows":
        if self._shard and file.recoded:
            raise InvalidRequestError(NO_PARTS)
        if self.format == "jsonl":
            return JsonRows(file, self._fit, shard=self._shard)
        parser = CsvRows(file, self._fit, shard=self._shard, **self._dialect)
        self.delimiter = parser.delimiter
        return parser

    def _rewind(self) -> None:
        """Go back to where an open file was when it was first read; a pipe cannot."""
        if self._has_path:
            return
        file = sys.stdin.buffer if self._source == STDIN else cast("BinaryIO", self._source)
        if self._again is not None:
            file.seek(self._again)
        elif self._spent:
            raise InvalidRequestError("source: it was read already, and cannot be read again; give a file's path")
        elif self._source != STDIN and file.seekable():
            self._again = file.tell()
        self._spent = True


class _Reading:
    """One pass over a file. `next` is called in threads, one after another."""

    def __init__(self, parser: _Parser, file: "Bytes | ParquetRows", start: int = 0) -> None:
        self._batches = parser.batches()
        self._file = file
        self._start = start

    @property
    def position(self) -> int:
        """How much was read."""
        return max(self._file.position - self._start, 0)

    def next(self) -> Sequence[VaultRow] | None:
        """Some rows; None at the end."""
        return next(self._batches, None)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _told(source: Given) -> Format:
    """The format that a path's suffix says."""
    name = fspath(source) if isinstance(source, str | PathLike) else ""
    told = _FORMATS.get(PurePath(name).suffix.lower())
    if told is None:
        raise InvalidRequestError("format: cannot be told from the name; say csv, jsonl or parquet")
    return told


def _check_one_byte(**characters: str | None) -> None:
    for name, character in characters.items():
        if character is not None and not (len(character) == 1 and character.isascii() and character not in "\r\n"):
            raise InvalidRequestError(f"{name}: must be one ASCII character")
