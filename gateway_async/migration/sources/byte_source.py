"""The bytes of a file or of standard input, in chunks. Threads read them, so that the event loop is not blocked."""

import codecs
import os
import select
import stat
import sys
import threading
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Final

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
"""Encodings in which line ends, quotes and delimiters are unambiguous single bytes."""

Source = str | PathLike[str] | BinaryIO


class Bytes:
    """The bytes of one file, read once. A byte order mark overrides the given encoding.

    Attributes:
        encoding: the encoding of the bytes that `read` returns. It is the file's encoding, or UTF-8 if line ends and
            quotes take more than one byte in the file's encoding.
        start: the offset of the first byte that `read` returns.
        recoded: whether the bytes were converted to UTF-8. Then `position` differs from the number of bytes returned.
        position: bytes read from the file.
        total: size in bytes, or None.
    """

    def __init__(
        self,
        file: BinaryIO,
        encoding: str,
        *,
        read: Callable[[int], bytes],
        close: Callable[[], object],
        total: int | None,
    ) -> None:
        self.total = total
        self.close = close
        self._file = file
        self._read = read
        head = b""
        while len(head) < _MAX_BOM and (more := read(_CHUNK)):
            head += more
        mark, codec = next(
            ((mark, name) for mark, name in _BOMS if head.startswith(mark)), (b"", normalize_codec(encoding))
        )
        self.start = len(mark)
        self.is_compressed = head.startswith(_GZIP)
        self.position = len(head)
        self.recoded = not codec.startswith(_SINGLE_BYTES)
        self.encoding = "utf-8" if self.recoded else codec
        self._decoder = codecs.getincrementaldecoder(codec)("replace") if self.recoded else None
        self._first = self._recode(head[self.start :])

    def read(self) -> bytes:
        """Read the next bytes; b"" at the end."""
        first, self._first = self._first, b""
        if first:
            return first
        while data := self._read(_CHUNK):
            self.position += len(data)
            if recoded := self._recode(data):
                return recoded
        return self._recode(b"", last=True)

    def decode(self, content: bytes) -> str:
        """Decode a record, or raise ValueError if its bytes are not in the file's encoding."""
        try:
            text = content.decode(self.encoding)
        except UnicodeDecodeError as error:
            byte = f"byte 0x{content[error.start]:02X} at position {error.start + 1}"
            expected = "expected --encoding with the file's encoding, such as cp1252"
            raise ValueError(f"{byte} is not valid {self.encoding} ({expected})") from None
        if self.recoded and "\ufffd" in text:
            raise ValueError("contains bytes that are not in the file's encoding (expected --encoding, such as utf-16)")
        return text

    def move_to(self, offset: int) -> None:
        """Continue reading at a byte of the file; only possible if the bytes are not recoded."""
        self._file.seek(offset)
        self._first = b""
        self.start = self.position = offset

    def _recode(self, data: bytes, *, last: bool = False) -> bytes:
        return data if self._decoder is None else self._decoder.decode(data, last).encode()


class _InterruptiblePipe:
    """A pipe or a terminal. When another thread closes it, a read stops waiting."""

    def __init__(self, descriptor: int, close_file: Callable[[], object]) -> None:
        self._descriptor = descriptor
        self._close_file = close_file
        self._closed = False
        self._reading = threading.Lock()

    def read(self, size: int) -> bytes:
        with self._reading:
            while not self._closed:
                if select.select([self._descriptor], [], [], _SELECT_SECONDS)[0]:
                    return os.read(self._descriptor, size)
            self._close_file()
        return b""

    def close(self) -> None:
        """Close the pipe. A thread that waits for bytes closes it when its select times out."""
        self._closed = True
        if self._reading.acquire(blocking=False):
            self._close_file()
            self._reading.release()


def normalize_codec(encoding: str) -> str:
    """Normalize the name of an encoding, or raise `InvalidRequestError` if Python does not know it."""
    try:
        b"\xff".decode(encoding, "replace")  # some codecs decode no text, or replace nothing
        return codecs.lookup(encoding).name.removesuffix("-sig")
    except (LookupError, ValueError):
        raise InvalidRequestError(
            f"encoding: {encoding} is not known (expected one such as utf-8, cp1252 or utf-16)"
        ) from None


def open_file(given: Source) -> tuple[BinaryIO, int | None]:
    """Open a path for random access. Return the file with its size, if it has one; an open file is returned as it is.

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


def open_bytes(given: Source, encoding: str, opened: set[Callable[[], object]]) -> Bytes:
    """Open a file or standard input. A file that was given open, and standard input, stay open.

    `opened` gets the function that closes it, before the first byte is read: to close a pipe ends the wait for it.

    Raises:
        InvalidRequestError: it cannot be opened, or the encoding is not known, or needs a byte order mark.
    """
    normalize_codec(encoding)
    is_path = isinstance(given, str | PathLike)
    file, total = (sys.stdin.buffer, None) if given == STDIN else open_file(given)
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    close: Callable[[], object] = file.close if is_path and given != STDIN else _keep_open
    if is_path and (descriptor := _pipe_descriptor(file)) is not None:
        pipe = _InterruptiblePipe(descriptor, close)
        read, close = pipe.read, pipe.close
    opened.add(close)
    try:
        return Bytes(file, encoding, read=read, close=close, total=total)
    except OSError as error:
        raise InvalidRequestError(f"source: {given}: {error.strerror}") from None
    except UnicodeError:
        close()
        raise InvalidRequestError(
            f"encoding: the file has no byte order mark (expected {encoding}-le, {encoding}-be or another encoding)"
        ) from None


def _keep_open() -> None:
    """Do nothing: the caller owns the file."""


def _pipe_descriptor(file: BinaryIO) -> int | None:
    """Return the descriptor of a pipe or a terminal, whose reads can be interrupted; None for any other file."""
    try:
        descriptor = file.fileno()
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (OSError, ValueError, AttributeError):
        return None
    return descriptor if os.name == "posix" and not is_regular else None
