"""Show the headers, the query and the body of a logged message."""

import re
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl

import attrs

from gateway_async.sandbox.http.request_log import LoggedMessage
from gateway_async.sandbox.http.responses import decode_json
from gateway_async.sandbox.pages.display.formats import show_json
from gateway_async.sandbox.pages.display.masking import is_secret, mask_header, mask_pairs, mask_shown_text, mask_value

__all__ = ["Part", "ShownMessage", "parse_body", "show_message", "show_query"]


_TEXT_TYPES = frozenset({"", "application/json", "text/plain"})
_HIDDEN_PARAMETERS = frozenset({"data"})
"""Parameters of signed URLs, whose content is encoded and may contain anything."""


@attrs.frozen
class Part:
    """One part of a multipart form, without its content.

    Attributes:
        file_name: The name of the file; "" for a field.
        size: The length of the content that the log has, in bytes.
        is_whole: Whether the log has the whole content.
    """

    name: str
    file_name: str
    size: int
    is_whole: bool


@attrs.frozen
class ShownMessage:
    """A request or a response as a page shows it.

    Attributes:
        headers: Names and masked values.
        text: The masked body; "" if there is no text.
        parts: The parts of a multipart form.
        note: What a reader has to know about the body; "" if it is whole.
    """

    headers: list[tuple[str, str]]
    text: str = ""
    parts: tuple[Part, ...] = ()
    note: str = ""


def show_query(query: bytes) -> str:
    """Return a query string, decoded and masked."""
    return "&".join(f"{name}={value}" for name, value in _read_pairs(query))


def show_message(message: LoggedMessage) -> ShownMessage:
    """Return a message with its secrets masked."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.headers]
    content_type = _read_type(next((value for name, value in headers if name.lower() == "content-type"), ""))
    text, parts, note = _show_body(message, content_type)
    return ShownMessage([(name, mask_header(name, value)) for name, value in headers], text, parts, note)


def parse_body(message: LoggedMessage) -> Any:
    """Return the JSON value of a body; None if the body is not JSON, or was cut off."""
    try:
        return decode_json(message.body)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def _read_type(header: str) -> Message:
    parsed = Message()
    parsed["content-type"] = header or "text/plain"
    return parsed


def _show_body(message: LoggedMessage, content_type: Message) -> tuple[str, tuple[Part, ...], str]:
    kept, name = len(message.body), content_type.get_content_type()
    if not message.length:
        return "", (), "No body." if _announced_length(message) == 0 else "The body was not read."
    note = f"Only the first {kept:,} of {message.length:,} bytes are kept." if kept < message.length else ""
    if (value := parse_body(message)) is not None:
        return show_json(mask_value(value)), (), note
    if name == "multipart/form-data" and (boundary := content_type.get_boundary()):
        return "", tuple(_read_parts(message, boundary.encode("latin-1", "replace"))), note
    if name == "application/x-www-form-urlencoded":
        return "\n".join(f"{name} = {value}" for name, value in _read_pairs(message.body)), (), note
    if name in _TEXT_TYPES and (text := _decode_text(message.body)) is not None:
        return mask_pairs(text), (), note
    return "", (), f"{message.length:,} bytes that are not shown, because they could contain anything."


def _announced_length(message: LoggedMessage) -> int | None:
    """Return the length that the headers name; None for a body without a length."""
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
    return [
        (mask_pairs(name), "***" if is_secret(name) or name in _HIDDEN_PARAMETERS else mask_pairs(value))
        for name, value in pairs
    ]


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
    disposition = head.decode(errors="replace")
    names = {name: mask_shown_text(value) for name, value in re.findall(r'\b(name|filename)="([^"]*)"', disposition)}
    return Part(names.get("name", ""), names.get("filename", ""), len(content), is_whole)
