"""Multipart forms, such as `quickinvoice[item_list][Tea]` = `12.50`, and their files (contract, *Quick invoices*)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from gateway_async._secrets import Secret
from gateway_async._wire.call import FilePart, Form
from gateway_async._wire.json_text import is_text, join_path
from gateway_async._wire.query import write_param
from gateway_async.models.files import Attachment
from gateway_async.models.request import Request

MAX_FILES: Final = 4
MAX_FILE_BYTES: Final = 5 * 1024 * 1024
_INVALID_NAME_TEXT: Final = 'its name is empty, or has one of [ ] " \\ or a control character'
_INVALID_NAME: Final = re.compile(r'[\[\]"\\\x00-\x1f]')
"""Characters that have a special meaning in the name of a part, or need escapes that few servers decode."""


def form_of(wrapper: str, content: Mapping[str, Any], files: Sequence[Attachment]) -> Form:
    parts = (
        FilePart(f"{wrapper}[files][{index}]", f"files[{index}]", attachment) for index, attachment in enumerate(files)
    )
    return Form(tuple(_flatten(wrapper, content)), tuple(parts))


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str | Secret]]:
    match value:
        case None:
            return
        case Mapping():
            for key, inner in value.items():
                yield from _flatten(f"{name}[{key}]", inner)
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from _flatten(f"{name}[{index}]", inner)
        case _:
            yield name, value if isinstance(value, Secret) else write_param(value)


def name_problems(request: Request) -> Iterator[str]:
    """Yield the problems of names that a form cannot contain: names of items and names in `extra`."""
    for field in attrs.fields(type(request)):
        value = getattr(request, field.name)
        if isinstance(value, Mapping):
            yield from _name_problems(field.name, value)


def _name_problems(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            inside = f"{path}.{key}"
            if not key or _INVALID_NAME.search(str(key)):
                yield f"{join_path(path, key)}: cannot be sent with files: {_INVALID_NAME_TEXT}"
            yield from _name_problems(inside, inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _name_problems(f"{path}[{index}]", inner)


def attachment_problems(files: Sequence[Attachment], *, limits: bool = True) -> Iterator[str]:
    """Yield the problems of a create's attachments. With `limits` their number is checked, but not their sizes."""
    if isinstance(files, str | bytes) or not isinstance(files, Sequence):
        yield "files: must be a sequence of Attachment"
        return
    if limits and len(files) > MAX_FILES:
        yield f"files: at most {MAX_FILES} can be attached, not {len(files)}"
    for index, attachment in enumerate(files):
        yield from (f"files[{index}]: {problem}" for problem in file_problems(attachment))


def file_problems(attachment: Attachment) -> Iterator[str]:
    """Yield the problems of an attachment, without reading its content."""
    if not isinstance(attachment, Attachment):
        yield f"must be an Attachment, not {type(attachment).__name__}"
        return
    if not is_text(attachment.filename) or not attachment.filename:
        yield "filename must be text, and not empty"
    content_type = attachment.content_type
    if content_type is not None and not (is_text(content_type) and _is_media_type(content_type)):
        yield 'content_type must be a media type, such as "application/pdf"'
    content = attachment.content
    is_file = all(callable(getattr(content, name, None)) for name in ("read", "seek", "tell"))
    if not (isinstance(content, bytes | str) or hasattr(content, "__fspath__") or is_file):
        yield f"content must be bytes, a path or a file opened for reading bytes, not {type(content).__name__}"


def _is_media_type(value: str) -> bool:
    return value.isascii() and value.isprintable() and "/" in value
