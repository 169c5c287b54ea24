"""What a migration leaves in files: which old key became which account, and the rows that were rejected, to be mended.

Both are written beside their place and moved there when they are whole. Card and bank numbers are masked unless the
rejects are asked for with them; then nobody else may read the file.
"""

import csv
import json
import os
import re
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

import attrs

from gateway_async._secrets import AccountNumber, luhn_valid, mask_text
from gateway_async.errors import InvalidRequestError
from gateway_async.migration.columns import PROBLEMS, Columns
from gateway_async.migration.journal import End, Entry
from gateway_async.migration.rows import VaultRow

__all__ = ["Rejects", "Shape", "check_out", "check_rejects", "check_report", "write_out", "write_report"]

_FIELDS: Final = ("key", "account_vault_id", "account_vault_api_id", "last_four", "brand")
_SECRET: Final = frozenset({"account_number", "routing", "track_data", "ticket", "cvv"})
_UNSURE: Final = re.compile(r"(?:\d\D*){9}", re.DOTALL)
"""As many digits as a bank account may have, in a cell of which nobody knows what it is."""

_PARTED: Final = re.compile(r"(?<!\d)(?:\d[\s._/\\:-]{0,2}){12,18}\d(?!\d)")
"""A card's number as people part it, in ways that are none of the usual ones, too."""

_REPORT_MARKS: Final = (b'<p class="over">Migration', b'"rows_per_second"')
_HIDDEN: Final = "************"
_SURPLUS: Final = ""
"""Where a row has the cells for which there is no column."""

_SEPARATED: Final[Mapping[str, str]] = {".csv": ",", ".tsv": "\t"}
_LINES: Final = (".jsonl", ".ndjson")
_PEEK: Final = 65_536
_PRIVATE: Final = 0o600
_ORDINARY: Final = 0o666


@attrs.frozen(kw_only=True)
class Shape:
    """How an input is written, so that its rejects can be written like it.

    Attributes:
        format: `"csv"`, `"jsonl"` or `"parquet"`.
        fit: which of its columns is which field.
        columns: the names in its header, in order; of no use for JSON Lines.
        delimiter: of CSV.
        encoding: of the text.
    """

    format: str
    fit: Columns = attrs.field(factory=Columns)
    columns: Sequence[str] = ()
    delimiter: str = ","
    encoding: str = "utf-8"


def check_out(path: Path, *, force: bool = False) -> None:
    """Refuse a place at which `write_out` could not write, or would do harm, before anything is sent.

    Raises:
        InvalidRequestError: its folder is not there, its suffix says nothing, or another file is there.
    """
    _check_folder("out", path)
    if path.suffix.lower() not in (*_SEPARATED, *_LINES):
        raise InvalidRequestError(f"out: must end in .csv, .tsv, .jsonl or .ndjson, not {path.name!r}")
    if not force and _content(path) and b"account_vault_api_id" not in _content(path):
        raise InvalidRequestError(f"out: {path} is no file of vault ids; --force replaces it")


def check_rejects(path: Path, source: Path | None, *, force: bool = False) -> None:
    """Refuse a place at which rejects could not be written, or would do harm, before anything is sent.

    Args:
        path: the place.
        source: the input, which they must not replace; None for standard input.
        force: whether another file may be replaced.

    Raises:
        InvalidRequestError: its folder is not there, it is the input, or another file is there.
    """
    _check_folder("rejects", path)
    if source is not None and path.exists() and path.samefile(source):
        raise InvalidRequestError(f"rejects: {path} is the input")
    former = _former(path)
    if source is not None and former.exists() and former.samefile(source):
        raise InvalidRequestError(f"rejects: {former}, the input, is where the former {path.name} is kept")
    content = _content(path)
    marks = (PROBLEMS.encode(code) for code in ("utf-8", "utf-16-le", "utf-32-le"))
    if not force and content and not any(mark in content for mark in marks):
        raise InvalidRequestError(f"rejects: {path} is no file of rejects; --force replaces it")


def check_report(name: str, path: Path, *, force: bool = False) -> None:
    """Refuse a place at which a report could not be written, or would do harm, before anything is sent.

    Raises:
        InvalidRequestError: its folder is not there, or another file is there.
    """
    _check_folder(name, path)
    content = _content(path)
    if not force and content and not any(mark in content for mark in _REPORT_MARKS):
        raise InvalidRequestError(f"{name}: {path} is no report of a migration; --force replaces it")


def _check_folder(name: str, path: Path) -> None:
    if path.is_dir():
        raise InvalidRequestError(f"{name}: {path} is a folder")
    if path.exists() and not path.is_file():
        raise InvalidRequestError(f"{name}: {path} is no ordinary file")
    if not path.absolute().parent.is_dir():
        raise InvalidRequestError(f"{name}: there is no folder {path.absolute().parent}")


def _content(path: Path) -> bytes:
    """The beginning and the end of a file: a header stands there, of a Parquet file at the end."""
    try:
        with path.open("rb") as file:
            head = file.read(_PEEK)
            file.seek(max(_PEEK, path.stat().st_size - _PEEK))
            return head + file.read(_PEEK)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InvalidRequestError(f"{path}: cannot be read: {error.strerror}") from None


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
    with _Whole(path, "utf-8", private=False) as file:
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
    with _Whole(path, "utf-8", private=False) as file:
        file.write(text)


def _writer(path: Path, file: TextIO) -> Callable[[Sequence[str | None]], object]:
    if path.suffix.lower() in _LINES:
        return lambda values: file.write(json.dumps(dict(zip(_FIELDS, values, strict=True)), ensure_ascii=False) + "\n")
    rows = csv.writer(file, delimiter=_SEPARATED[path.suffix.lower()], lineterminator="\n")
    rows.writerow(_FIELDS)
    return rows.writerow


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
        self._rows: _Rows | None = None
        self._file: _Whole | None = None
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
            return False
        try:
            self._complain()
            self._rows.finish()
            self._file.finish()
            _keep_former(self._path)
            self._file.move()
        except OSError:
            self._file.drop()
            raise
        return True

    def _complain(self) -> None:
        """Say what went wrong earlier."""
        if self._error is not None:
            raise self._error

    def _opened(self) -> "_Rows":
        if self._rows is None:
            shape = self._shape()
            self._fit = lru_cache(256)(shape.fit.fit_some)
            self._file = _Whole(self._path, shape.encoding, private=self._with_card_numbers)
            self._rows = _KINDS[shape.format](self._file.open(), shape)
        return self._rows

    def _masked(self, row: VaultRow) -> dict[str, Any]:
        source = dict(row.source or {})
        if self._with_card_numbers:
            return source
        if any(problem.startswith("row: ") for problem in row.problems):
            return {name: _guarded(value) for name, value in source.items()}
        fields = self._fit(tuple(source)).fields
        return {name: _shown(field, value) for field, (name, value) in zip(fields, source.items(), strict=True)}


def _problems(row: VaultRow, end: End) -> list[str]:
    if row.line is None or not end.reasons:
        return list(end.reasons)
    return [f"line {row.line}: {end.reasons[0]}", *end.reasons[1:]]


def _shown(field: str | None, value: Any) -> Any:
    """A cell of which it is known what it is."""
    if field in _SECRET and value not in (None, ""):
        return str(AccountNumber(str(value)))
    return _masked(value)


def _guarded(value: Any) -> Any:
    """A cell of a row that could not be told into its columns: any of them may be anything."""
    if isinstance(value, list):
        return [_guarded(inner) for inner in value]
    return _HIDDEN if _UNSURE.search(str(value)) else _masked(value)


def _masked(value: Any) -> Any:
    """A value without anything in it that could be a card number."""
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner) for inner in value]
    text = _PARTED.sub(_without_card, mask_text(str(value)))
    return value if text == str(value) else text


def _without_card(parted: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", parted[0])
    return f"{_HIDDEN}{digits[-4:]}" if luhn_valid(digits) else parted[0]


def _former(path: Path) -> Path:
    return path.with_name(path.name + "~")


def _keep_former(path: Path) -> None:
    """Somebody may have begun to mend it."""
    if path.exists():
        path.replace(_former(path))


class _Whole:
    """A file that is written beside its place, and moved there when it is whole."""

    def __init__(self, path: Path, encoding: str, *, private: bool) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._encoding = encoding
        self._mode = _PRIVATE if private else _ORDINARY

    def open(self) -> TextIO:
        """Begin it anew."""
        self._part.unlink(missing_ok=True)
        number = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode)
        self._own = os.fstat(number)
        self._file = open(number, "w", encoding=self._encoding, errors="backslashreplace", newline="")  # noqa: SIM115, PTH123
        return self._file

    def finish(self) -> None:
        """Have it whole on the disk.

        Raises:
            OSError: there is no room, or another process has begun the same file anew.
        """
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not self._is_own():
            raise OSError(f"another process writes {self._path}, too")

    def move(self) -> None:
        """Move it to its place."""
        self._part.replace(self._path)

    def drop(self) -> None:
        """Leave no part of it; the disk may be full, and what is not written yet is lost."""
        with suppress(OSError):
            self._file.close()
        if self._is_own():
            self._part.unlink()

    def _is_own(self) -> bool:
        """Whether no other process has begun the part anew."""
        return self._part.exists() and os.path.samestat(self._own, self._part.stat())

    def __enter__(self) -> TextIO:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is not None:
            self.drop()
            return
        try:
            self.finish()
            self.move()
        except OSError:
            self.drop()
            raise


class _Rows(Protocol):
    """Rows of one format."""

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        """Write one."""
        ...

    def finish(self) -> None:
        """Write what is left."""
        ...


class _Separated:
    """CSV, of the input's dialect."""

    def __init__(self, file: TextIO, shape: Shape) -> None:
        self._names = _columns(shape)[:-1]
        self._rows = csv.writer(file, delimiter=shape.delimiter, lineterminator="\n")
        self._rows.writerow(_columns(shape))

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        cells = [source.get(name, "") for name in self._names]
        self._rows.writerow([*cells, *source.get(_SURPLUS, ()), "; ".join(problems)])

    def finish(self) -> None:
        """All is written."""


class _JsonLines:
    """One object for each line."""

    def __init__(self, file: TextIO, _shape: Shape) -> None:
        self._file = file

    def add(self, source: Mapping[str, Any], problems: Sequence[str]) -> None:
        self._file.write(json.dumps({**source, PROBLEMS: list(problems)}, ensure_ascii=False, default=str) + "\n")

    def finish(self) -> None:
        """All is written."""


def _parquet(file: TextIO, shape: Shape) -> _Rows:
    from gateway_async.migration._parquet_rejects import ParquetRows

    return ParquetRows(file, _columns(shape))


def _columns(shape: Shape) -> list[str]:
    return [*(column for column in shape.columns if column != PROBLEMS), PROBLEMS]


_KINDS: Final[Mapping[str, Callable[[TextIO, Shape], _Rows]]] = {
    "csv": _Separated,
    "jsonl": _JsonLines,
    "parquet": _parquet,
}
