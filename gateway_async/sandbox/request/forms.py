"""Reads a multipart form as a record: `quickinvoice[item_list][Tea]` becomes `item_list.Tea`.

An invalid or incomplete form is a 400, and a form that is too large is a 413. A part with an unknown name is a problem
of that name, as an unknown field is. Contents are spooled to disk instead of being held in memory.
"""

from __future__ import annotations

import logging
import re
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from python_multipart.multipart import MultipartParser, parse_options_header

from gateway_async.sandbox.http.errors import Problems, RefusedError
from gateway_async.sandbox.schema.fields import label

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable

    from python_multipart.multipart import MultipartCallbacks
    from starlette.requests import Request

    from gateway_async.sandbox.schema.fields import Row

FORM_LIMIT = 32 * 1024 * 1024
"""The size limit of a form, in bytes.

It exceeds the limits for files, so that one file too many, or too large, is reported by its field name.
"""

PART_LIMIT = 1000

_HELD = 64 * 1024
_LONGEST_NAME = 100
_NAME = re.compile(r"(\w+)\[(\w+)\](?:\[([^\[\]]*)\])?")
_NUMBER = re.compile(r"[0-9]{1,4}")
_ESCAPED = re.compile(r"%(22|[01][0-9A-F])")

_logger = logging.getLogger("gateway_async.sandbox.request.forms")  # form errors go into the response, not into the log


@dataclass(slots=True)
class Part:
    """A part of a form: a text or a file.

    Attributes:
        name: The name of the part in the form.
        filename: The name of the file; None for a text.
        content_type: The content type in the form, if given.
        spool: The stored content.
        size: The size of the content in bytes.
    """

    name: str
    filename: str | None
    content_type: str | None
    spool: IO[bytes]
    size: int = 0

    def write(self, content: bytes) -> None:
        """Append to the content."""
        self.spool.write(content)
        self.size += len(content)

    def read(self) -> bytes:
        """Return the content."""
        self.spool.seek(0)
        return self.spool.read()


def is_form(request: Request) -> bool:
    """Return whether a request carries a multipart form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


@asynccontextmanager
async def read_form(request: Request, wrapper: str, *, arrays: Collection[str] = ()) -> AsyncIterator[Row]:
    """Read the record of a form, with each file as a `Part`.

    The parts can be read until the block ends.

    Args:
        request: A request with a multipart form.
        wrapper: The name with which each part's name begins.
        arrays: The fields whose parts are numbered.

    Raises:
        RefusedError: 400, the form is invalid; 413, it is too large.
        InvalidError: Names every unknown or repeated part.
    """
    with ExitStack() as stack:
        try:
            parts = await _read_parts(request, stack)
            values = [(part.name, part if part.filename is not None else part.read().decode()) for part in parts]
        except ValueError as problem:  # also raised by the parser, and for text that is not UTF-8
            raise RefusedError(400, f"The form cannot be read: {problem}.") from None
        yield _read_record(values, wrapper, arrays)


async def _read_parts(request: Request, stack: ExitStack) -> list[Part]:
    found = _Found(stack)
    _, parameters = parse_options_header(request.headers["content-type"])
    if not (boundary := parameters.get(b"boundary")):
        raise ValueError("it has no boundary")
    parser = MultipartParser(boundary, found.callbacks)
    parser.logger = _logger
    length = 0
    async for chunk in request.stream():
        length += len(chunk)
        if length > FORM_LIMIT:
            raise RefusedError(413, f"The form is larger than {FORM_LIMIT} bytes.")
        parser.write(chunk)
    if not found.ended:
        raise ValueError("its last boundary is missing")
    return found.parts


class _Found:
    """Collects the parts that the multipart parser finds.

    Each callback receives the buffer and the bounds of its piece.
    """

    def __init__(self, stack: ExitStack) -> None:
        self.parts: list[Part] = []
        self.ended = False
        self.callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin,
            "on_header_field": self._read_header,
            "on_header_value": self._read_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._open,
            "on_part_data": self._read_content,
            "on_end": self._end,
        }
        self._stack = stack
        self._headers: dict[bytes, bytes] = {}
        self._header = self._value = b""

    def _begin(self) -> None:
        self._headers = {}

    def _read_header(self, body: bytes, start: int, end: int) -> None:
        self._header += body[start:end]

    def _read_value(self, body: bytes, start: int, end: int) -> None:
        self._value += body[start:end]

    def _end_header(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _open(self) -> None:
        if len(self.parts) == PART_LIMIT:
            raise ValueError(f"it has more than {PART_LIMIT} parts")
        _, disposition = parse_options_header(self._headers.get(b"content-disposition"))
        if b"name" not in disposition:
            raise ValueError("a part has no name")
        filename, content_type = disposition.get(b"filename"), self._headers.get(b"content-type")
        part = Part(
            _unescape(disposition[b"name"]),
            None if filename is None else _unescape(filename),
            None if content_type is None else content_type.decode(),
            self._stack.enter_context(SpooledTemporaryFile(_HELD)),  # noqa: SIM115  # the stack closes it
        )
        self.parts.append(part)

    def _read_content(self, body: bytes, start: int, end: int) -> None:
        self.parts[-1].write(body[start:end])

    def _end(self) -> None:
        self.ended = True


def _unescape(name: bytes) -> str:
    """Undo the escapes of browsers and HTTP libraries for quotes and control characters in a name."""
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), name.decode())


def _read_record(values: Iterable[tuple[str, Part | str]], wrapper: str, arrays: Collection[str]) -> Row:
    record: Row = {}
    problems = Problems()
    for name, value in values:
        path = _NAME.fullmatch(name)
        if path is None or path[1] != wrapper:
            problems.add(name[:_LONGEST_NAME], f"{label(name[:_LONGEST_NAME])} is not a known field.")
        elif not _put(record, path[2], path[3], value):
            problems.add(path[2], f"{label(path[2])} is given twice.")
    problems.done()
    if not record:
        raise RefusedError(400, f'The form must hold parts with names like "{wrapper}[…]".')
    return record | {name: _in_order(record[name]) for name in arrays if name in record}


def _put(record: Row, field: str, key: str | None, value: Part | str) -> bool:
    """Store a value under its field and key; return False if there is a value already."""
    target, name = (record, field) if key is None else (record.setdefault(field, {}), key)
    if not isinstance(target, dict) or name in target:
        return False
    target[name] = value
    return True


def _in_order(group: Any) -> Any:
    if isinstance(group, dict) and all(map(_NUMBER.fullmatch, group)):
        return [group[number] for number in sorted(group, key=int)]
    return group
