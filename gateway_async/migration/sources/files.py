"""`read_rows` and `shards`: the rows of a file, read by a thread, and the parts of a file."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, BinaryIO, Final, Literal, cast

import anyio.to_thread

from gateway_async.errors import InvalidRequestError
from gateway_async.migration.rows.columns import Columns
from gateway_async.migration.rows.row import VaultRow
from gateway_async.migration.sources.boundaries import Line, Shard
from gateway_async.migration.sources.byte_source import STDIN, Bytes, Source, open_bytes
from gateway_async.migration.sources.parquet import ParquetRows, parquet_shards
from gateway_async.migration.sources.text_rows import CsvRows, JsonRows

Format = Literal["csv", "jsonl", "parquet"]

_Parser = CsvRows | JsonRows | ParquetRows

_FORMATS: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_OTHER_FORMATS: Final = {
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst"), "compressed (expected the file in it)"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a workbook (expected one of its sheets, exported as CSV)"),
    ".json": "JSON (expected JSON Lines: one object on each line, with --format jsonl)",
}


def read_rows(
    source: Source,
    *,
    format: Format | None = None,  # noqa: A002  the usual name
    columns: Columns | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quotechar: str | None = '"',
    shard: Shard | str | None = None,
) -> "Rows":
    """Read the rows of a CSV, JSON Lines or Parquet file.

    Memory is bounded, whatever the file holds. A row that cannot be read becomes a row with its problems, and reading
    continues.

    Args:
        source: a path; `"-"` for standard input; or a file that is open for reading bytes.
        format: `"csv"`, `"jsonl"` or `"parquet"`; by default from the path's suffix.
        columns: the mapping of its columns to fields.
        encoding: encoding of a text file; a byte order mark overrides it.
        delimiter: delimiter of CSV; by default a tab for `.tsv`, else the most frequent one in the header.
        quotechar: quote character of CSV; None if quotes are ordinary text.
        shard: a part of the file, from `shards`; or which of how many parts, such as `"2/8"` for the second of eight.

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
    part = _parse_part(shard, source) if isinstance(shard, str) else shard
    return Rows(source, format_name, columns or Columns(), encoding, dialect, part)


class Rows:
    """The rows of one file.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        columns: the file's columns in order, once they are read; () for JSON Lines.
        fields: column → the contract's field that it fills.
        delimiter, quotechar: of CSV, once its header is read.
        encoding: the given encoding of a text file.
        total: size of the input in bytes, or in rows for Parquet; None if it is not known.
        position: how much of it the rows so far are, in the same unit.
        row_count: number of rows so far.
        unit: `"bytes"` or `"rows"`.
    """

    def __init__(
        self,
        source: Source,
        format_name: Format,
        columns: Columns,
        encoding: str,
        dialect: dict[str, Any],
        shard: Shard | tuple[int, int] | None,
    ) -> None:
        self.format: Format = format_name
        self.columns: tuple[str, ...] = ()
        self.fields: Mapping[str, str] = {}
        self.quotechar = dialect.get("quotechar")
        self.delimiter: str | None = dialect.get("delimiter")
        self.encoding = encoding
        self.total: int | None = None
        self.position = 0
        self.row_count = 0
        self.unit = "rows" if format_name == "parquet" else "bytes"
        self._source = source
        self._mapping = columns
        self._dialect = dialect
        self._shard = shard
        self._peeked: _Parser | None = None
        self._restart_at: int | None = None
        self._was_read = False
        self._open = set[Callable[[], object]]()

    async def header(self) -> tuple[str, ...]:
        """Open the file and read its columns. Then `total` is known, too.

        Raises:
            InvalidRequestError: it cannot be opened, is not a file of this format, or its columns cannot be mapped.
        """
        if self._peeked is None:
            parser = await self._open_parser()
            if self._has_path:
                self._close(parser)
            else:
                self._peeked = parser
        return self.columns

    async def __aiter__(self) -> AsyncIterator[VaultRow]:
        """Read the rows from the beginning of the file."""
        parser, self._peeked = self._peeked or await self._open_parser(), None
        batches, begin, self.row_count = parser.batches(), 0, 0
        try:
            while (rows := await anyio.to_thread.run_sync(next, batches, None, abandon_on_cancel=True)) is not None:
                end = parser.position
                for number, row in enumerate(rows, start=1):
                    self.position = begin + (end - begin) * number // len(rows)  # all rows count as equally long
                    self.row_count += 1
                    yield row
                begin = self.position = end
        finally:
            self._close(parser)

    async def aclose(self) -> None:
        """Close the file before its end; it can be read again. A file that was given open remains open.

        This also ends a thread that a cancelled call left reading.
        """
        self._peeked = None
        while self._open:
            self._open.pop()()

    async def _open_parser(self) -> _Parser:
        return await anyio.to_thread.run_sync(self._open_file, abandon_on_cancel=True)

    def _close(self, parser: _Parser) -> None:
        self._open.discard(parser.close)
        parser.close()

    @property
    def is_shard(self) -> bool:
        """Whether these are the rows of a part of the file."""
        return self._shard is not None

    @property
    def _has_path(self) -> bool:
        return isinstance(self._source, str | PathLike) and self._source != STDIN

    def _open_file(self) -> _Parser:
        self._rewind()
        if isinstance(self._shard, tuple):
            self._shard = self._find_part(*self._shard)
        if self.format == "parquet":
            parser: _Parser = ParquetRows(self._source, self._mapping, shard=self._shard)
            self._open.add(parser.close)
        else:
            parser = self._open_text(self._shard, sharded=self._shard is not None)
        try:
            if not isinstance(parser, JsonRows):
                self._mapping.check_key(parser.columns)
            elif not self._shard:
                self._mapping.check_key(parser.first_names())
        except InvalidRequestError:
            self._close(parser)
            raise
        self.columns, self.fields, self.total = parser.columns, parser.fields, parser.total
        return parser

    def _find_part(self, number: int, count: int) -> Shard:
        """Return one of several parts with about the same number of records. For that the file is read twice."""
        total = sum(shard.rows for shard in self.split(sys.maxsize))
        parts = self.split(max(1, -(-total // count)))
        return parts[number - 1] if number <= len(parts) else Shard(0, 0, 1, 0)  # there are fewer records than parts

    def split(self, rows_per_shard: int) -> list[Shard]:
        """Split the file into parts of whole records. It reads the file once and blocks meanwhile."""
        if self.format == "parquet":
            return parquet_shards(self._source, rows_per_shard)
        parser = self._open_text(None, sharded=True)
        try:
            found: list[Shard] = []
            first: Line | None = None
            count = 0
            for record in parser.records():
                if first is not None and count == rows_per_shard:
                    found.append(Shard(first.start, record.first.start, first.number, count))
                    first, count = None, 0
                first, count = first or record.first, count + 1
            return found if first is None else [*found, Shard(first.start, parser.position, first.number, count)]
        finally:
            self._close(parser)

    def _open_text(self, shard: Shard | None, *, sharded: bool) -> CsvRows | JsonRows:
        file = open_bytes(self._source, self.encoding, self._open)
        try:
            _check_bytes(file, sharded=sharded)
            if self.format == "jsonl":
                return JsonRows(file, self._mapping, shard=shard)
            parser = CsvRows(file, self._mapping, shard=shard, **self._dialect)
        except BaseException:
            file.close()
            raise
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


def _parse_part(text: str, source: Source) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 0 < int(number) <= int(count)):
        raise InvalidRequestError(f"shard: must be like 2/8, the second of eight parts, not {text!r}")
    if not isinstance(source, str | PathLike) or source == STDIN:
        raise InvalidRequestError("shard: needs the path of a file")
    return int(number), int(count)


def _format_of(source: Source) -> Format:
    name = fspath(source) if isinstance(source, str | PathLike) else ""
    suffix = PurePath(name).suffix.lower()
    if suffix in _OTHER_FORMATS:
        raise InvalidRequestError(f"source: {name} is {_OTHER_FORMATS[suffix]}")
    if suffix not in _FORMATS:
        raise InvalidRequestError("format: not given and not clear from the file name (expected csv, jsonl or parquet)")
    return _FORMATS[suffix]


def _check_bytes(file: Bytes, *, sharded: bool) -> None:
    if file.is_compressed:
        raise InvalidRequestError("source: is compressed with gzip (expected the file in it)")
    if sharded and file.recoded:
        raise InvalidRequestError("encoding: not allowed for shards (expected UTF-8 or another single-byte encoding)")


def _check_one_byte(**characters: str | None) -> None:
    for name, character in characters.items():
        if character is not None and not (len(character) == 1 and character.isascii() and character not in "\r\n"):
            raise InvalidRequestError(f"{name}: must be one ASCII character")


def shards(
    source: str | PathLike[str],
    rows_per_shard: int,
    *,
    format: Format | None = None,  # noqa: A002  the usual name
    columns: Columns | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quotechar: str | None = '"',
) -> list[Shard]:
    """Split a file into parts of whole records, for `read_rows(..., shard=…)`.

    It reads the file once and blocks meanwhile.

    Args:
        source: a path.
        rows_per_shard: records of each part; for Parquet the minimum, in whole row groups.
        format: as for `read_rows`, like the following arguments.
        columns: the mapping of its columns to fields.
        encoding: encoding of a text file.
        delimiter: delimiter of CSV.
        quotechar: quote character of CSV.

    Raises:
        InvalidRequestError: the file cannot be read, or is in an encoding that cannot be split.
    """
    if rows_per_shard < 1:
        raise InvalidRequestError("rows_per_shard: must be 1 or more")
    rows = read_rows(
        source, format=format, columns=columns, encoding=encoding, delimiter=delimiter, quotechar=quotechar
    )
    return rows.split(rows_per_shard)
