"""Show the headers, the query and the body of a logged message."""

import re
from email import message_from_string
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import Any
from urllib.parse import parse_qsl

import attrs

from gateway_async.sandbox.http.request_log import LoggedMessage
from gateway_async.sandbox.http.responses import parse_json
from gateway_async.sandbox.pages.masking import is_secret, mask_header, mask_pairs, mask_shown_text, mask_value

_TEXT_TYPES = frozenset({"", "application/json", "text/plain"})
_HIDDEN_PARAMETERS = frozenset({"data"})
"""Parameters of signed URLs, whose content is encoded and may contain anything."""


@attrs.frozen
class Part:
    """One field of a form, or one file without its content.

    Attributes:
        text: The masked value of a field; "" for a file.
        file_name: The name of the file; "" for a field.
        size: The length of the content that the log has, in bytes.
        is_whole: Whether the log has the whole content.
    """

    name: str
    text: str
    file_name: str = ""
    size: int = 0
    is_whole: bool = True


@attrs.frozen
class ShownMessage:
    """A request or a response as a page shows it.

    Attributes:
        headers: Names and masked values.
        json: The masked JSON of the body; None if it is not JSON.
        text: The masked body; "" if there is no other text.
        parts: The fields and files of a form.
        note: What a reader has to know about the body; "" if it is whole.
    """

    headers: list[tuple[str, str]]
    json: Any = None
    text: str = ""
    parts: tuple[Part, ...] = ()
    note: str = ""


def show_query(query: bytes) -> str:
    """Decode and mask a query string."""
    return "&".join(f"{name}={value}" for name, value in _read_pairs(query))


def show_message(message: LoggedMessage) -> ShownMessage:
    """Mask the secrets in a message."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.headers]
    content_type = _read_type(next((value for name, value in headers if name.lower() == "content-type"), ""))
    masked = [(name, mask_header(name, value)) for name, value in headers]
    return attrs.evolve(_show_body(message, content_type), headers=masked)


def _read_type(header: str) -> Message:
    parsed = Message()
    parsed["content-type"] = header or "text/plain"
    return parsed


def _show_body(message: LoggedMessage, content_type: Message) -> ShownMessage:
    kept, name = len(message.body), content_type.get_content_type()
    if not message.length:
        return ShownMessage([], note="No body." if _announced_length(message) == 0 else "The body was not read.")
    note = f"Only the first {kept:,} of {message.length:,} bytes are kept." if kept < message.length else ""
    if (value := parse_json(message.body)) is not None:
        return ShownMessage([], json=mask_value(value), note=note)
    if name == "multipart/form-data" and (boundary := content_type.get_boundary()):
        return ShownMessage([], parts=tuple(_read_parts(message, boundary.encode("latin-1", "replace"))), note=note)
    if name == "application/x-www-form-urlencoded":
        return ShownMessage([], parts=tuple(Part(*pair) for pair in _read_pairs(message.body)), note=note)
    if name in _TEXT_TYPES and (text := _decode_text(message.body)) is not None:
        return ShownMessage([], text=mask_pairs(text), note=note)
    return ShownMessage([], note=f"{message.length:,} bytes that are not shown, because they could contain anything.")


def _announced_length(message: LoggedMessage) -> int | None:
    """The length that the headers name; None for a body without a length."""
    headers = {name.lower(): value for name, value in message.headers}
    if b"transfer-encoding" in headers:
        return None
    length = headers.get(b"content-length", b"0")
    return int(length) if length.isdigit() else None


def _decode_text(body: bytes) -> str | None:
    """Decode a text; its last character may have been cut off."""
    text = body.decode(errors="replace")
    return None if "\0" in text or "\N{REPLACEMENT CHARACTER}" in text[:-1] else text


def _read_pairs(content: bytes) -> list[tuple[str, str]]:
    pairs = parse_qsl(content.decode(errors="replace"), keep_blank_values=True)
    return [(mask_pairs(name), _mask_field(name, value)) for name, value in pairs]


def _mask_field(name: str, value: str) -> str:
    """Mask the value of a field; without a name, it may be a secret."""
    return "***" if not name or is_secret(name) or name in _HIDDEN_PARAMETERS else mask_pairs(value)


def _read_parts(message: LoggedMessage, boundary: bytes) -> list[Part]:
    sections = re.split(rb"(?:^|\r\n)--" + re.escape(boundary), message.body)[1:]
    is_cut = len(message.body) < message.length
    return [
        _read_part(section, is_whole=not (is_cut and section is sections[-1]))
        for section in sections
        if section.startswith(b"\r\n")
    ]


def _read_part(section: bytes, *, is_whole: bool) -> Part:
    head, _, content = section.partition(b"\r\n\r\n")
    headers = message_from_string(head.decode(errors="replace").lstrip())
    name = collapse_rfc2231_value(headers.get_param("name", "", "content-disposition"))
    file_name = headers.get_filename()
    text = "" if file_name is not None else _decode_text(content)
    shown = "(not a text)" if text is None else _mask_field(name, text)
    return Part(mask_shown_text(name), shown, mask_shown_text(file_name or ""), len(content), is_whole)
