"""The bytes of a file, of standard input or of an open file, a chunk at a time; in threads, so that nobody waits."""

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

__all__ = ["STDIN", "Bytes", "Given", "codec_of", "is_transparent", "open_bytes", "open_file"]

STDIN: Final = "-"
_CHUNK: Final = 1 << 15
_LOOK_UP_SECONDS: Final = 0.2
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LONGEST_BOM: Final = 4
_SINGLE_BYTES: Final = ("utf-8", "ascii", "iso8859", "cp125", "koi8", "mac", "cp437", "cp85", "cp86")

Given = str | PathLike[str] | BinaryIO


class Bytes:
    """The bytes of one file, read once.

    Args:
        file: open for reading bytes.
        encoding: what the file is said to be in; a byte order mark knows better.
        total: bytes of it, if known.

    Attributes:
        encoding: what the bytes that `read` returns are to be decoded with: the file's own, or UTF-8, where the file's
            has line ends and quotes of more than a byte.
        start: where the first byte stands, behind the byte order mark.
        recoded: whether it was made UTF-8; `position` then counts more or less than what `read` has returned.
        position: bytes read of the file.
        total: bytes of it, or None.
    """

    def __init__(self, file: "_Chunks", encoding: str, *, total: int | None = None) -> None:
        self._file = file
        self.total = total
        head = b""
        while len(head) < _LONGEST_BOM and (more := file.read1(_CHUNK)):
            head += more
        mark, self.encoding = next(
            ((mark, name) for mark, name in _BOMS if head.startswith(mark)), (b"", codec_of(encoding))
        )
        self.start = len(mark)
        self.position = len(head)
        self.recoded = not is_transparent(self.encoding)
        self._decoder = codecs.getincrementaldecoder(self.encoding)("replace") if self.recoded else None
        self.encoding = "utf-8" if self.recoded else self.encoding
        self._pending = [self._recode(head[self.start :], last=False)]

    def read(self) -> bytes:
        """What comes next; b"" at the end."""
        if self._pending:
            first = self._pending.pop()
            if first:
                return first
        while data := self._file.read1(_CHUNK):
            self.position += len(data)
            if recoded := self._recode(data, last=False):
                return recoded
        return self._recode(b"", last=True)

    def give_back(self, data: bytes) -> None:
        """Let the next `read` return this."""
        self._pending.append(data)

    def move_to(self, place: int) -> None:
        """Go on reading at a byte of the file; only where nothing is recoded."""
        self._file.seek(place)
        self._pending.clear()
        self.position = place

    def close(self) -> None:
        """Let go of the file; one that was given open stays so."""
        self._file.close()

    def _recode(self, data: bytes, *, last: bool) -> bytes:
        return data if self._decoder is None else self._decoder.decode(data, last).encode()


class _Chunks(Protocol):
    """What is asked of a file."""

    def read1(self, size: int, /) -> bytes:
        """Some bytes, as soon as there are any."""
        ...

    def seek(self, place: int, /) -> object:
        """Go to a byte."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class _Whole:
    """An open file, of which no more is asked than `read`. It stays open."""

    def __init__(self, file: BinaryIO) -> None:
        self.read1 = getattr(file, "read1", file.read)
        self._file = file

    def seek(self, place: int, /) -> object:
        """Go to a byte."""
        return self._file.seek(place)

    def close(self) -> None:
        """It is others'."""


class _Pipe:
    """A pipe or a terminal. Closed by another thread, it stops waiting."""

    def __init__(self, descriptor: int, file: BinaryIO | None = None) -> None:
        self._descriptor = descriptor
        self._file = file
        self._closed = False
        self._reading = threading.Lock()

    def read1(self, size: int, /) -> bytes:
        """Some bytes, as soon as there are any."""
        with self._reading:
            while not self._closed:
                if select.select([self._descriptor], [], [], _LOOK_UP_SECONDS)[0]:
                    return os.read(self._descriptor, size)
            self._let_go()
        return b""

    def seek(self, place: int, /) -> object:
        """Not possible."""
        raise OSError(f"a pipe has no byte {place} to go to")

    def close(self) -> None:
        """Let go of it; a thread that waits for it does so at its next look."""
        self._closed = True
        if self._reading.acquire(blocking=False):
            self._let_go()
            self._reading.release()

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()


def codec_of(encoding: str) -> str:
    """An encoding's one name.

    Raises:
        InvalidRequestError: Python knows none of this name.
    """
    try:
        return codecs.lookup(encoding).name.removesuffix("-sig")
    except LookupError:
        raise InvalidRequestError(f"encoding: {encoding} is not known; others are utf-8, cp1252, utf-16") from None


def is_transparent(encoding: str) -> bool:
    """Whether a line end, a quote and a delimiter are one byte each, and no part of another character."""
    return codec_of(encoding).startswith(_SINGLE_BYTES)


def open_file(given: Given) -> tuple[BinaryIO, int | None]:
    """A file that can be read at any place, and its size.

    Raises:
        InvalidRequestError: it cannot be opened.
    """
    if not isinstance(given, str | PathLike):
        return given, None
    try:
        file = Path(given).open("rb")  # noqa: SIM115  whoever reads it closes it
        status = os.fstat(file.fileno())
    except OSError as error:
        raise InvalidRequestError(f"source: {given}: {error.strerror}") from None
    return file, status.st_size if stat.S_ISREG(status.st_mode) else None


def open_bytes(given: Given, encoding: str) -> Bytes:
    """What is to be read, opened.

    Args:
        given: a path, `"-"` for standard input, or an open binary file.
        encoding: what it is said to be in.

    Raises:
        InvalidRequestError: it cannot be opened, or the encoding is not known.
    """
    codec_of(encoding)
    if given == STDIN:
        return Bytes(_stdin(), encoding)
    file, total = open_file(given)
    try:
        return Bytes(_chunks(file, total, given), encoding, total=total)
    except OSError as error:
        raise InvalidRequestError(f"source: {given}: {error.strerror}") from None


def _chunks(file: BinaryIO, total: int | None, given: Given) -> "_Chunks":
    if file is not given and total is None and os.name == "posix":
        return _Pipe(file.fileno(), file)
    buffered: Any = file
    return _Whole(file) if file is given else buffered


def _stdin() -> _Chunks:
    """Standard input; a pipe or a terminal in a way that can be left."""
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return _Whole(sys.stdin.buffer)
    if os.name == "posix" and not stat.S_ISREG(mode):
        return _Pipe(descriptor)
    return _Whole(sys.stdin.buffer)
