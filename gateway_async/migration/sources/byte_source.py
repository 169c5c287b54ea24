"""The bytes of a file or of standard input, in chunks. Threads read them, so that the event loop is not blocked."""

import codecs
import os
import select
import stat
import sys
import threading
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from gateway_async.errors import InvalidRequestError

STDIN: Final = "-"
_CHUNK: Final = 1 << 15
_SELECT_SECONDS: Final = 0.2
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAX_BOM: Final = 4
_GZIP: Final = b"\x1f\x8b"
_SINGLE_BYTES: Final = ("utf-8", "ascii", "iso8859", "cp125", "koi8", "mac", "cp437", "cp85", "cp86")

Source = str | PathLike[str] | BinaryIO


class Bytes:
    """The bytes of one file, read once.

    Args:
        file: open for reading bytes.
        encoding: the given encoding of the file; a byte order mark overrides it.
        total: size in bytes, if known.

    Attributes:
        encoding: the encoding of the bytes that `read` returns. It is the file's encoding, or UTF-8 if line ends and
            quotes take more than one byte in the file's encoding.
        start: the offset of the first byte after the byte order mark.
        recoded: whether the bytes were converted to UTF-8. Then `position` differs from the number of bytes returned.
        position: bytes read from the file.
        is_compressed: whether the file is compressed with gzip.
        total: size in bytes, or None.
    """

    def __init__(self, file: "_Chunks", encoding: str, *, total: int | None = None) -> None:
        self._file = file
        self.total = total
        head = b""
        while len(head) < _MAX_BOM and (more := file.read1(_CHUNK)):
            head += more
        mark, self.encoding = next(
            ((mark, name) for mark, name in _BOMS if head.startswith(mark)), (b"", normalize_codec(encoding))
        )
        self.start = len(mark)
        self.is_compressed = head.startswith(_GZIP)
        self.position = len(head)
        self.recoded = not is_ascii_compatible(self.encoding)
        self._decoder = codecs.getincrementaldecoder(self.encoding)("replace") if self.recoded else None
        self.encoding = "utf-8" if self.recoded else self.encoding
        self._pending = [self._recode(head[self.start :], last=False)]

    def read(self) -> bytes:
        """Return the next bytes; b"" at the end."""
        if self._pending:
            first = self._pending.pop()
            if first:
                return first
        while data := self._file.read1(_CHUNK):
            self.position += len(data)
            if recoded := self._recode(data, last=False):
                return recoded
        return self._recode(b"", last=True)

    def decode(self, content: bytes) -> str:
        """Return a record's text.

        Raises:
            ValueError: its bytes are not in the file's encoding.
        """
        try:
            text = content.decode(self.encoding)
        except UnicodeDecodeError as error:
            byte = f"byte 0x{content[error.start]:02X} at position {error.start + 1}"
            expected = "expected --encoding with the file's encoding, such as cp1252"
            raise ValueError(f"{byte} is not valid {self.encoding} ({expected})") from None
        if self.recoded and "\ufffd" in text:
            raise ValueError("contains bytes that are not in the file's encoding (expected --encoding, such as utf-16)")
        return text

    def push_back(self, data: bytes) -> None:
        """Make the next `read` return these bytes."""
        self._pending.append(data)

    def move_to(self, offset: int) -> None:
        """Continue reading at a byte of the file; only possible if the bytes are not recoded."""
        self._file.seek(offset)
        self._pending.clear()
        self.position = offset

    def close(self) -> None:
        """Close the file. A file that was given open remains open."""
        self._file.close()

    def _recode(self, data: bytes, *, last: bool) -> bytes:
        return data if self._decoder is None else self._decoder.decode(data, last).encode()


class _Chunks(Protocol):
    """The methods of a file that are needed."""

    def read1(self, size: int, /) -> bytes: ...

    def seek(self, offset: int, /) -> object: ...

    def close(self) -> None: ...


class _BorrowedFile:
    """An open file of the caller, with at least the method `read`. It remains open."""

    def __init__(self, file: BinaryIO) -> None:
        self.read1 = getattr(file, "read1", file.read)
        self._file = file

    def seek(self, offset: int, /) -> object:
        return self._file.seek(offset)

    def close(self) -> None:
        """Do nothing: the caller owns the file."""


class _InterruptiblePipe:
    """A pipe or a terminal. When another thread closes it, a read stops waiting."""

    def __init__(self, descriptor: int, file: BinaryIO | None = None) -> None:
        self._descriptor = descriptor
        self._file = file
        self._closed = False
        self._reading = threading.Lock()

    def read1(self, size: int, /) -> bytes:
        with self._reading:
            while not self._closed:
                if select.select([self._descriptor], [], [], _SELECT_SECONDS)[0]:
                    return os.read(self._descriptor, size)
            self._close_file()
        return b""

    def seek(self, _offset: int, /) -> object:
        raise OSError("a pipe cannot seek")

    def close(self) -> None:
        """Close the pipe. A thread that waits for bytes closes it when its select times out."""
        self._closed = True
        if self._reading.acquire(blocking=False):
            self._close_file()
            self._reading.release()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()


def normalize_codec(encoding: str) -> str:
    """Return the normalized name of an encoding.

    Raises:
        InvalidRequestError: Python does not know the name.
    """
    try:
        return codecs.lookup(encoding).name.removesuffix("-sig")
    except LookupError:
        raise InvalidRequestError(
            f"encoding: {encoding} is not known (expected one such as utf-8, cp1252 or utf-16)"
        ) from None


def is_ascii_compatible(encoding: str) -> bool:
    """Return whether line ends, quotes and delimiters are unambiguous single bytes."""
    return normalize_codec(encoding).startswith(_SINGLE_BYTES)


def open_file(given: Source) -> tuple[BinaryIO, int | None]:
    """Open a file for random access, and return it with its size.

    Raises:
        InvalidRequestError: it cannot be opened.
    """
    if not isinstance(given, str | PathLike):
        return given, None
    try:
        file = Path(given).open("rb")  # noqa: SIM115  the reader closes it
        status = os.fstat(file.fileno())
    except OSError as error:
        raise InvalidRequestError(f"source: {given}: {error.strerror}") from None
    return file, status.st_size if stat.S_ISREG(status.st_mode) else None


def open_bytes(given: Source, encoding: str) -> Bytes:
    """Open a file or standard input.

    Args:
        given: a path, `"-"` for standard input, or an open binary file.
        encoding: the given encoding of the file.

    Raises:
        InvalidRequestError: it cannot be opened, or the encoding is not known.
    """
    normalize_codec(encoding)
    if given == STDIN:
        return Bytes(_stdin(), encoding)
    file, total = open_file(given)
    try:
        return Bytes(_chunks(file, total, given), encoding, total=total)
    except OSError as error:
        raise InvalidRequestError(f"source: {given}: {error.strerror}") from None


def _chunks(file: BinaryIO, total: int | None, given: Source) -> "_Chunks":
    if file is not given and total is None and os.name == "posix":
        return _InterruptiblePipe(file.fileno(), file)
    buffered: Any = file
    return _BorrowedFile(file) if file is given else buffered


def _stdin() -> _Chunks:
    """Return standard input. Reads of a pipe or a terminal can be interrupted."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return _BorrowedFile(sys.stdin.buffer)
    if os.name == "posix" and not stat.S_ISREG(mode):
        return _InterruptiblePipe(descriptor)
    return _BorrowedFile(sys.stdin.buffer)
