"""`read_rows`: the rows of a file as an async iterable. A thread reads the file."""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, BinaryIO, Final, Literal, Protocol, cast

import anyio.to_thread

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.byte_source import STDIN, Bytes, Given, open_bytes
from gateway_async.migration.sources.csv import CsvRows
from gateway_async.migration.sources.jsonl import JsonRows
from gateway_async.migration.sources.parquet import ParquetRows
from gateway_async.migration.sources.records import Shard

__all__ = ["NO_SHARDS", "Format", "Rows", "read_rows"]

Format = Literal["csv", "jsonl", "parquet"]

NO_SHARDS: Final = "encoding: not allowed for shards (expected UTF-8 or another single-byte encoding)"
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
    format: Format | None = None,  # noqa: A002  the usual name
    columns: Columns | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quotechar: str | None = '"',
    shard: Shard | None = None,
) -> "Rows":
    """Return the rows of a CSV, JSON Lines or Parquet file.

    Memory is bounded, whatever the file holds. A row that cannot be read becomes a row with its problems, and reading
    continues.

    Args:
        source: a path; `"-"` for standard input; or a file that is open for reading bytes.
        format: `"csv"`, `"jsonl"` or `"parquet"`; by default from the path's suffix.
        columns: the mapping of its columns to fields.
        encoding: encoding of a text file; a byte order mark overrides it.
        delimiter: delimiter of CSV; by default a tab for `.tsv`, else the most frequent one in the header.
        quotechar: quote character of CSV; None if quotes are ordinary text.
        shard: a part of the file, from `shards`.

    Returns:
        An async iterable. A file with a path can be read several times, a pipe once.

    Raises:
        InvalidRequestError: the format is missing, or an argument is invalid. Problems of the file itself are
            raised by `await rows.header()`, or by the first row.
    """
    format_name = format or _format_of(source)
    if delimiter is None and isinstance(source, str | PathLike) and fspath(source).lower().endswith(".tsv"):
        delimiter = "\t"
    _check_one_byte(delimiter=delimiter, quotechar=quotechar)
    dialect = {"delimiter": delimiter, "quotechar": quotechar} if format_name == "csv" else {}
    return Rows(source, format_name, columns or Columns(), encoding, dialect, shard)


class Rows:
    """The rows of one file.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        columns: the file's columns in order, once they are read; () for JSON Lines.
        fields: column → the contract's field that it fills.
        delimiter, quotechar: of CSV, once its header is read.
        encoding: the given encoding of a text file.
        total: size of the input in bytes, or in rows for Parquet; None if it is not known.
        position: how much of it was read, in the same unit.
        unit: `"bytes"` or `"rows"`.
    """

    def __init__(
        self,
        source: Given,
        format_name: Format,
        columns: Columns,
        encoding: str,
        dialect: dict[str, Any],
        shard: Shard | None,
    ) -> None:
        self.format = format_name
        self.columns: tuple[str, ...] = ()
        self.fields: Mapping[str, str] = {}
        self.quotechar = dialect.get("quotechar")
        self.delimiter: str | None = dialect.get("delimiter")
        self.encoding = encoding
        self.total: int | None = None
        self.position = 0
        self.unit = "rows" if format_name == "parquet" else "bytes"
        self._source = source
        self._mapping = columns
        self._dialect = dialect
        self._shard = shard
        self._peeked: _Pass | None = None
        self._restart_at: int | None = None
        self._was_read = False
        self._open: set[_Pass] = set()

    async def header(self) -> tuple[str, ...]:
        """Open the file and read its columns. Then `total` is known, too.

        Raises:
            InvalidRequestError: it cannot be opened, is not a file of this format, or its columns cannot be mapped.
        """
        if self._peeked is None:
            open_pass = await self._open_pass()
            if self._has_path:
                self._close(open_pass)
            else:
                self._peeked = open_pass
        return self.columns

    async def __aiter__(self) -> AsyncIterator[VaultRow]:
        """Read the rows from the beginning of the file."""
        open_pass, self._peeked = self._peeked or await self._open_pass(), None
        try:
            while (rows := await anyio.to_thread.run_sync(open_pass.next, abandon_on_cancel=True)) is not None:
                self.position = open_pass.position
                for row in rows:
                    yield row
        finally:
            self._close(open_pass)

    async def aclose(self) -> None:
        """Close the file before its end; it can be read again. A file that was given open remains open."""
        self._peeked = None
        for open_pass in [*self._open]:
            self._close(open_pass)

    def _close(self, open_pass: "_Pass") -> None:
        self._open.discard(open_pass)
        open_pass.close()

    async def _open_pass(self) -> "_Pass":
        open_pass = await anyio.to_thread.run_sync(self._open_file, abandon_on_cancel=True)
        self._open.add(open_pass)
        return open_pass

    @property
    def _has_path(self) -> bool:
        return isinstance(self._source, str | PathLike) and self._source != STDIN

    def _open_file(self) -> "_Pass":
        self._rewind()
        if self.format == "parquet":
            parser = ParquetRows(self._source, self._mapping, shard=self._shard)
            self._check_key(parser, parser.columns)
            self.columns, self.fields, self.total = parser.columns, parser.fields, parser.total
            return _Pass(parser, parser)
        file, text = self.open_text()
        if not self._shard:
            self._check_key(file, text.first_names())
        self.columns, self.fields = text.columns, text.fields
        self.total = self._shard.end - self._shard.start if self._shard else file.total
        return _Pass(text, file, self._shard.start if self._shard else 0)

    def _check_key(self, file: "Bytes | ParquetRows", names: Sequence[str]) -> None:
        try:
            self._mapping.check_key(names)
        except InvalidRequestError:
            file.close()
            raise

    def open_text(self) -> "tuple[Bytes, CsvRows | JsonRows]":
        """Open a text file, and return it with its parser."""
        file = open_bytes(self._source, self.encoding)
        try:
            return file, self._parser(file)
        except BaseException:
            file.close()
            raise

    def _parser(self, file: Bytes) -> "CsvRows | JsonRows":
        if self._shard and file.recoded:
            raise InvalidRequestError(NO_SHARDS)
        if self.format == "jsonl":
            return JsonRows(file, self._mapping, shard=self._shard)
        parser = CsvRows(file, self._mapping, shard=self._shard, **self._dialect)
        self.delimiter = parser.delimiter
        return parser

    def _rewind(self) -> None:
        """Go back to where an open file was first read."""
        if self._has_path:
            return
        file = sys.stdin.buffer if self._source == STDIN else cast("BinaryIO", self._source)
        if self._restart_at is not None:
            file.seek(self._restart_at)
        elif self._was_read:
            raise InvalidRequestError("source: cannot be read twice (expected the path of a file)")
        elif self._source != STDIN and file.seekable():
            self._restart_at = file.tell()
        self._was_read = True


class _Pass:
    """One pass over a file. Threads call `next`, one after another."""

    def __init__(self, parser: _Parser, file: "Bytes | ParquetRows", start: int = 0) -> None:
        self._batches = parser.batches()
        self._file = file
        self._start = start

    @property
    def position(self) -> int:
        """Return how much was read."""
        return max(self._file.position - self._start, 0)

    def next(self) -> Sequence[VaultRow] | None:
        """Return some rows; None at the end."""
        return next(self._batches, None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _format_of(source: Given) -> Format:
    """Return the format from a path's suffix."""
    name = fspath(source) if isinstance(source, str | PathLike) else ""
    found = _FORMATS.get(PurePath(name).suffix.lower())
    if found is None:
        raise InvalidRequestError("format: not given and not clear from the file name (expected csv, jsonl or parquet)")
    return found


def _check_one_byte(**characters: str | None) -> None:
    for name, character in characters.items():
        if character is not None and not (len(character) == 1 and character.isascii() and character not in "\r\n"):
            raise InvalidRequestError(f"{name}: must be one ASCII character")
