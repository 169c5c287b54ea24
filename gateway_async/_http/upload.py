"""Upload files to the gateway without blocking the event loop.

All access to files runs in a worker thread, in small steps. A slow disk therefore never blocks the event loop, and no
file is ever completely in memory.
"""

import io
import mimetypes
import os
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, Self, TypeVar, cast

import anyio
import anyio.to_thread
import attrs
import httpx

from gateway_async._secrets import Secret, mask_text
from gateway_async._text import describe_error
from gateway_async._wire.call import Call, FilePart, Form
from gateway_async._wire.multipart import MAX_FILE_BYTES
from gateway_async.errors import InvalidRequestError, NotSentError
from gateway_async.models.files import Attachment

T = TypeVar("T")

_STEP: Final = 64 * 1024
"""Bytes that are read for each call of a worker thread."""

_CHECK_SECONDS: Final = 10.0
"""Maximum seconds for checking all files before anything is sent.

A network disk may never respond.
"""

_CLOSING_SECONDS: Final = 2.0
"""Maximum seconds for closing the files."""


async def measure_files(call: Call[T], *, limits: bool) -> Call[T]:
    """Check the files of `call` and record their start positions.

    With these positions, the returned call can be sent again.

    Args:
        call: a call with or without a form.
        limits: also check the sizes of the files.

    Raises:
        InvalidRequestError: a file cannot be read, cannot be read again for a retry, or is too large; `.problems` says
            which.
        NotSentError: the files cannot be read in time.
    """
    form = call.request.form
    if form is None:
        return call
    try:
        with anyio.fail_after(_CHECK_SECONDS):
            results = [
                await anyio.to_thread.run_sync(_check_file, part, limits, abandon_on_cancel=True) for part in form.files
            ]
    except TimeoutError:
        raise NotSentError(f"its files cannot be read within {_CHECK_SECONDS:g} s", call=str(call)) from None
    except Exception as error:  # no thread can be started
        raise NotSentError(f"its files cannot be read: {describe_error(error)}", call=str(call)) from error
    problems = [found for found in results if isinstance(found, str)]
    if problems:
        raise InvalidRequestError(problems)
    files = tuple(found for found in results if isinstance(found, FilePart))
    return attrs.evolve(call, request=attrs.evolve(call.request, form=attrs.evolve(form, files=files)))


def _check_file(part: FilePart, limits: bool) -> FilePart | str:
    """Check that a file can be read twice; return its part with the start position, or a problem."""
    try:
        part = attrs.evolve(part, start=_start_position(part.attachment))
        with ExitStack() as files:
            size = _Source(part, files).size
    except OSError as error:
        return f"{part.label}: cannot be read: {error.strerror or type(error).__name__}"
    except Exception as error:  # noqa: BLE001  a caller's own file object may raise anything
        return mask_text(f"{part.label}: cannot be read: {error}")
    if limits and size > MAX_FILE_BYTES:
        return f"{part.label}: must have at most {MAX_FILE_BYTES} bytes, has {size}"
    return part


def _start_position(attachment: Attachment) -> int:
    content = attachment.content
    if isinstance(content, bytes | str | os.PathLike):
        return 0
    if not content.seekable():
        raise ValueError("it is not seekable, so it cannot be sent twice (expected bytes or a path)")
    if not isinstance(cast("object", content.read(0)), bytes):
        raise ValueError("it must be opened for reading bytes")
    return content.tell()


class _Source:
    """A file for httpx's encoder, with fixed start and end positions.

    It ends where the file ended when it was opened.
    """

    def __init__(self, part: FilePart, files: ExitStack) -> None:
        self._label = part.label
        self._file = _file(part, files)
        self._start = part.start
        self.size = max(self._file.seek(0, os.SEEK_END) - part.start, 0)
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
            raise OSError(f"{self._label} became shorter while it was sent")
        self._at += len(data)
        return data

    def _read(self, size: int) -> bytes:
        try:
            self._file.seek(self._start + self._at)
            return self._file.read(size)
        except Exception as error:  # a caller's own file may raise what looks like a network error
            raise OSError(f"{self._label} cannot be read any more: {error}") from error


def _file(part: FilePart, files: ExitStack) -> BinaryIO:
    """The content as an open file.

    On exit, `files` closes a file opened here, and restores the position of the caller's own file.
    """
    match part.attachment.content:
        case bytes() as content:
            return io.BytesIO(content)
        case (str() | os.PathLike()) as path:
            file_path = Path(path)
            if file_path.exists() and not file_path.is_file():  # opening a pipe would block until its other end is open
                raise ValueError("not a regular file")
            return files.enter_context(file_path.open("rb", buffering=0))
        case file:
            files.callback(_restore_position, file, part.start)
            return file


def _restore_position(file: BinaryIO, start: int) -> None:
    with suppress(Exception):  # the caller may have closed it meanwhile
        file.seek(start)


class Upload(httpx.AsyncByteStream):
    """The headers and the body of one attempt; reads the body in steps."""

    def __init__(self, form: Form, files: ExitStack, lock: Lock) -> None:
        self._lock = lock
        parts = [(part.name, _file_part(part, files)) for part in form.files]
        fields = {name: value.reveal() if isinstance(value, Secret) else value for name, value in form.fields}
        request = httpx.Request("POST", "http://encoder", data=fields, files=parts)
        self.headers = {name: request.headers[name] for name in ("content-type", "content-length")}
        self._chunks = iter(cast("httpx.SyncByteStream", request.stream))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if step := await anyio.to_thread.run_sync(self._step, abandon_on_cancel=True):
            return step
        raise StopAsyncIteration

    def _step(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        with self._lock:
            for piece in self._chunks:
                pieces.append(piece)
                size += len(piece)
                if size >= _STEP:
                    break
        return b"".join(pieces)


def _file_part(part: FilePart, files: ExitStack) -> tuple[str, BinaryIO, str]:
    filename, content_type = part.attachment.filename, part.attachment.content_type
    guessed = content_type or mimetypes.guess_type(filename)[0] or "application/octet-stream"
    return filename, cast("BinaryIO", _Source(part, files)), guessed


@asynccontextmanager
async def open_upload(form: Form) -> AsyncGenerator[Upload]:
    """Open the form's files and build the body of one attempt.

    The files are closed when the block ends.

    Raises:
        OSError: a file cannot be read any more.
    """
    files, lock = ExitStack(), Lock()
    try:
        yield await anyio.to_thread.run_sync(Upload, form, files, lock, abandon_on_cancel=True)
    finally:
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
            await anyio.to_thread.run_sync(_close, files, lock, abandon_on_cancel=True)


def _close(files: ExitStack, lock: Lock) -> None:
    # A thread of an abandoned attempt may still read; the next attempt would read the same file at the same time.
    with lock:
        files.close()
