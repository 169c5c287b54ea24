"""Files on their way to the gateway.

The law of this file: whatever touches a file does so in a worker thread, for the bytes of one step at a time. A slow
disk never holds up the event loop, and no file is ever in memory whole.
"""

import io
import mimetypes
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, Self, TypeVar, cast

import anyio
import anyio.to_thread
import attrs
import httpx

from gateway_async._secrets import mask_text
from gateway_async._wire.call import Call
from gateway_async._wire.form import MAX_FILE_BYTES, FilePart, Form
from gateway_async.errors import InvalidRequestError, NotSentError
from gateway_async.models.files import Attachment

__all__ = ["Upload", "measured", "opened"]

T = TypeVar("T")

_STEP: Final = 64 * 1024
"""Bytes for each visit to a worker thread."""

_LOOK_WITHIN: Final = 10.0
"""Seconds that looking at all files may take, before anything is sent; a disk over a network may never answer."""

_CLOSE_WITHIN: Final = 2.0
"""Seconds that closing the files may take."""


async def measured(call: Call[T], *, limits: bool) -> Call[T]:
    """`call`, once its files can be read; it keeps in mind where open files stand, so that it can be sent again.

    Args:
        call: with a form, or without.
        limits: also check the files' sizes.

    Raises:
        InvalidRequestError: a file cannot be read, or not twice, or is too large; `.problems` says which.
        NotSentError: a file does not answer.
    """
    if call.form is None:
        return call
    try:
        with anyio.fail_after(_LOOK_WITHIN):
            looked_at = [
                await anyio.to_thread.run_sync(_looked_at, part, limits, abandon_on_cancel=True)
                for part in call.form.files
            ]
    except TimeoutError:
        raise NotSentError(f"its files cannot be read within {_LOOK_WITHIN:g} s", call=str(call)) from None
    problems = [found for found in looked_at if isinstance(found, str)]
    if problems:
        raise InvalidRequestError(problems)
    files = tuple(found for found in looked_at if isinstance(found, FilePart))
    return attrs.evolve(call, form=attrs.evolve(call.form, files=files))


def _looked_at(part: FilePart, limits: bool) -> FilePart | str:
    """The part with the place where its file stands, or what is wrong with it."""
    try:
        part = attrs.evolve(part, begins=_begin(part.attachment))
        with ExitStack() as files:
            size = _Source(part, files).size
    except OSError as error:
        return f"{part.label}: cannot be read: {error.strerror or type(error).__name__}"
    except Exception as error:  # noqa: BLE001  somebody's own file object may raise anything
        return mask_text(f"{part.label}: cannot be read: {error}")
    if limits and size > MAX_FILE_BYTES:
        return f"{part.label}: must have at most {MAX_FILE_BYTES} bytes, has {size}"
    return part


def _begin(attachment: Attachment) -> int:
    match attachment.content:
        case bytes() | str() | os.PathLike():
            return 0
        case file:
            return _standing(file)


def _standing(file: BinaryIO) -> int:
    if not file.seekable():
        raise ValueError("it cannot be sent twice, being no seekable file; pass its bytes or a path")
    if not isinstance(cast("object", file.read(0)), bytes):
        raise ValueError("it must be opened for reading bytes")
    return file.tell()


class _Source:
    """A file as httpx's encoder reads it: from where it begins to where it ended when it was opened."""

    def __init__(self, part: FilePart, files: ExitStack) -> None:
        self._label = part.label
        self._file = _file(part, files)
        self._begins = part.begins
        self.size = max(self._file.seek(0, os.SEEK_END) - part.begins, 0)
        self._at = 0

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset if whence == os.SEEK_SET else self.size + offset
        return self._at

    def read(self, size: int) -> bytes:
        wanted = min(size, self.size - self._at)
        if not wanted:
            return b""
        data = self._read(wanted)
        if not data:
            raise OSError(f"{self._label} has become shorter while it was sent")
        self._at += len(data)
        return data

    def _read(self, size: int) -> bytes:
        try:
            self._file.seek(self._begins + self._at)
            return self._file.read(size)
        except Exception as error:  # somebody's own file may raise what would pass for the network's doing
            raise OSError(f"{self._label} cannot be read any more: {error}") from error


def _file(part: FilePart, files: ExitStack) -> BinaryIO:
    """The content as an open file; `files` closes it, or puts it back to where it stood if it is the caller's."""
    match part.attachment.content:
        case bytes() as content:
            return io.BytesIO(content)
        case (str() | os.PathLike()) as path:
            place = Path(path)
            if place.exists() and not place.is_file():  # opening a pipe would wait for its other end
                raise ValueError("it is no regular file")
            return files.enter_context(place.open("rb", buffering=0))
        case file:
            files.callback(_put_back, file, part.begins)
            return file


def _put_back(file: BinaryIO, begins: int) -> None:
    with suppress(Exception):  # its owner may have closed it meanwhile
        file.seek(begins)


class Upload:
    """The body of one attempt: its headers, and its bytes in steps."""

    def __init__(self, form: Form, files: ExitStack, reading: Lock) -> None:
        self._reading = reading
        parts = [(part.name, _file_part(part, files)) for part in form.files]
        request = httpx.Request("POST", "http://encoder", data=dict(form.fields), files=parts)
        self.headers = {name: request.headers[name] for name in ("content-type", "content-length")}
        self._chunks = iter(cast("httpx.SyncByteStream", request.stream))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if step := await anyio.to_thread.run_sync(self._step, abandon_on_cancel=True):
            return step
        raise StopAsyncIteration

    def _step(self) -> bytes:
        with self._reading:
            return _step(self._chunks)


def _file_part(part: FilePart, files: ExitStack) -> tuple[str, BinaryIO, str]:
    filename, content_type = part.attachment.filename, part.attachment.content_type
    guessed = content_type or mimetypes.guess_type(filename)[0] or "application/octet-stream"
    return filename, cast("BinaryIO", _Source(part, files)), guessed


def _step(chunks: Iterator[bytes]) -> bytes:
    """The next bytes of a body, in one piece; none at its end."""
    pieces: list[bytes] = []
    size = 0
    for piece in chunks:
        pieces.append(piece)
        size += len(piece)
        if size >= _STEP:
            break
    return b"".join(pieces)


@asynccontextmanager
async def opened(form: Form) -> AsyncGenerator[Upload]:
    """The form's body for one attempt; its files are open only meanwhile.

    Raises:
        OSError: a file cannot be read any more.
    """
    files, reading = ExitStack(), Lock()
    try:
        yield await anyio.to_thread.run_sync(Upload, form, files, reading, abandon_on_cancel=True)
    finally:
        with anyio.move_on_after(_CLOSE_WITHIN, shield=True):
            await anyio.to_thread.run_sync(_close, files, reading, abandon_on_cancel=True)


def _close(files: ExitStack, reading: Lock) -> None:
    # A thread that nobody waits for any more may still read; the next attempt would read the same file beside it.
    with reading:
        files.close()
