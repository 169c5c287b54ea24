"""Reads a multipart form as a record: `quickinvoice[item_list][Tea]` becomes `item_list.Tea`.

An invalid or incomplete form is a 400, and a form that is too large is a 413. A part with an unknown name is a problem
of that name, as an unknown field is. Large files are spooled to disk.
"""

import logging
import re
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar
from typing import Any

import python_multipart  # noqa: F401  # starlette reports that it is missing only when a form arrives
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from gateway_async.sandbox.http.responses import Problems, RefusedError
from gateway_async.sandbox.request.context import read_chunks
from gateway_async.sandbox.schema.fields import Row, label

FORM_LIMIT = 32 * 1024 * 1024
"""The size limit of a form, in bytes.

It exceeds the limits for files, so one file too many, or too large, is reported by its field name.
"""

PART_LIMIT = 1000
_LONGEST_NAME = 100
_NAME = re.compile(r"(\w+)\[(\w+)\](?:\[([^\[\]]*)\])?")
_NUMBER = re.compile(r"[0-9]{1,4}")
_ESCAPED = re.compile(r"%(22|[01][0-9A-F])")
_is_parsing: ContextVar[bool] = ContextVar("_is_parsing", default=False)
logging.getLogger("python_multipart.multipart").addFilter(lambda _: not _is_parsing.get())
"""An invalid form is reported in the response, not in the log."""


class _Parser(MultiPartParser):
    """A form parser that knows whether the last boundary was found.

    Texts are decoded as Latin-1, which loses nothing, so that invalid UTF-8 can be rejected afterwards.
    """

    def __init__(self, request: Request) -> None:
        headers = Headers({"content-type": f"{request.headers['content-type']}; charset=latin-1"})
        stream = read_chunks(request, "form", FORM_LIMIT)
        super().__init__(headers, stream, max_files=PART_LIMIT, max_fields=PART_LIMIT, max_part_size=FORM_LIMIT)
        self.is_complete = False

    def on_end(self) -> None:
        self.is_complete = True


def is_form(request: Request) -> bool:
    """Whether a request carries a multipart form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


@asynccontextmanager
async def read_form(request: Request, wrapper: str, *, arrays: Collection[str] = ()) -> AsyncIterator[Row]:
    """Read the record of a form, with each file as an `UploadFile`.

    The files can be read until the block ends.

    Args:
        request: A request with a multipart form.
        wrapper: The name with which each part's name begins.
        arrays: The fields whose parts are numbered.

    Raises:
        RefusedError: 400, the form is invalid; 413, it is too large.
        RefusedFieldsError: Names every unknown or repeated part.
    """
    with ExitStack() as stack:
        yield _read_record(await _read_parts(request, stack), wrapper, arrays)


async def _read_parts(request: Request, stack: ExitStack) -> list[tuple[str, Any]]:
    parser, token = _Parser(request), _is_parsing.set(True)
    try:
        parts = (await parser.parse()).multi_items()
        for _, value in parts:
            if isinstance(value, UploadFile):
                stack.callback(value.file.close)
        _check_parts(parser, len(parts))
        return [(_unescape(_decode(name)), _decode_part(value)) for name, value in parts]
    except (MultiPartException, ValueError) as problem:
        raise RefusedError(400, f"The form cannot be read: {getattr(problem, 'message', problem)}") from None
    finally:
        _is_parsing.reset(token)


def _check_parts(parser: _Parser, count: int) -> None:
    if not parser.is_complete:
        raise ValueError("the last boundary is missing.")
    if count > PART_LIMIT:
        raise ValueError(f"more than {PART_LIMIT} parts.")


def _decode(text: str) -> str:
    return text.encode("latin-1").decode()


def _decode_part(value: UploadFile | str) -> UploadFile | str:
    if isinstance(value, str):
        return _decode(value)
    value.filename = _unescape(_decode(value.filename or ""))
    return value


def _unescape(name: str) -> str:
    """Undo the escapes for quotes and control characters in a name."""
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), name)


def _read_record(parts: Iterable[tuple[str, Any]], wrapper: str, arrays: Collection[str]) -> Row:
    record: Row = {}
    problems = Problems()
    for name, value in parts:
        path = _NAME.fullmatch(name)
        if path is None or path[1] != wrapper:
            problems.add(name[:_LONGEST_NAME], f"{label(name[:_LONGEST_NAME])} is not a known field.")
        elif not _set_value(record, path[2], path[3], value):
            problems.add(path[2], f"{label(path[2])} is given twice.")
    problems.raise_if_any()
    if not record:
        raise RefusedError(400, f'The form must hold parts with names like "{wrapper}[…]".')
    return record | {name: _to_list(record[name]) for name in arrays if name in record}


def _set_value(record: Row, field: str, key: str | None, value: Any) -> bool:
    """Store a value under its field and key; return False if there is a value already."""
    target, name = (record, field) if key is None else (record.setdefault(field, {}), key)
    if not isinstance(target, dict) or name in target:
        return False
    target[name] = value
    return True


def _to_list(group: Any) -> Any:
    if isinstance(group, dict) and all(map(_NUMBER.fullmatch, group)):
        return [group[number] for number in sorted(group, key=int)]
    return group
