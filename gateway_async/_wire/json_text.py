"""JSON text: decoding and encoding it, its charset and byte order mark, lone surrogates, repeated names."""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from gateway_async._secrets import Secret, mask_text

_CHARSETS: Final = {"iso-8859-1": "latin-1", "latin1": "latin-1", "latin-1": "latin-1", "windows-1252": "cp1252"}
"""Supported charsets other than UTF-8. Python's codec registry is not used, because callers could make it grow."""

_CHARSET: Final = re.compile(r"charset\s*=\s*\"?([\w-]{1,20})", re.ASCII)

INVALID_CHARACTER: Final = "has an invalid character (a lone surrogate)"

_any_decoder: Final = msgspec.json.Decoder(float_hook=Decimal)

_SURROGATE: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}", re.DOTALL
)
"""An escaped surrogate; in group 1, a complete pair or another escape, which stays."""


def as_utf8(text: bytes, content_type: str = "") -> bytes:
    """Encode a text as UTF-8, without a byte order mark.

    Most texts are in UTF-8, whatever charset their content type names. Others are decoded by this charset, or get
    replacement characters (U+FFFD).
    """
    if text.isascii():
        return text
    text = text.removeprefix(BOM_UTF8)
    try:
        text.decode()
    except UnicodeDecodeError:
        named = _CHARSET.search(content_type.lower())
        return text.decode(_CHARSETS.get(named[1], "utf-8") if named else "utf-8", "replace").encode()
    return text


def replace_surrogates(text: bytes) -> bytes:
    """Replace escaped halves of surrogate pairs in JSON, which a program writes when it cuts an emoji in two."""
    return _SURROGATE.sub(lambda escape: escape[1] or rb"\ufffd", text)


def object_names(text: str) -> list[str]:
    """The names in a JSON object, including repeated ones.

    Raises:
        ValueError: the JSON is nested too deep.
    """
    *_, outermost = _all_names(text)
    return outermost


def repeated_name(text: str) -> str | None:
    """A name that an object in the JSON text repeats.

    Raises:
        ValueError: the JSON is nested too deep.
    """
    repeated = (name for names in _all_names(text) for name, times in Counter(names).items() if times > 1)
    return next(repeated, None)


def _all_names(text: str) -> list[list[str]]:
    """The names of each object, the outermost one last."""
    found: list[list[str]] = []

    def add(pairs: list[tuple[str, Any]]) -> None:
        found.append([name for name, _ in pairs])

    try:
        json.loads(text, object_pairs_hook=add)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return found


def decode(body: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Any] = _any_decoder) -> Any:
    """Decode JSON bytes to Python values, with fractional numbers as `Decimal`.

    A byte order mark is ignored. Half an emoji and bytes that are not UTF-8 become replacement characters (U+FFFD).

    Raises:
        ValueError: the bytes are not JSON.
    """
    try:
        return decoder.decode(body)
    except (InvalidOperation, RecursionError):
        raise ValueError("has a number that is too large, or values nested too deep") from None
    except msgspec.ValidationError:
        raise
    except ValueError:
        readable = replace_surrogates(as_utf8(bytes(body)))
        if readable == body:
            raise
    return decode(readable, decoder)


def encode(content: Any) -> bytes:
    return _encoder.encode(content)


def _plain_value(value: Any) -> Any:
    match value:
        case Secret():
            return value.plain()
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case _:
            return dict(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain_value, decimal_format="number")


def is_utf8(text: str) -> bool:
    """Whether `text` is without lone surrogates, which come from bytes that could not be decoded."""
    return text.isascii() or text.encode(errors="replace").decode() == text


def is_text(value: Any) -> bool:
    """Whether `value` is text that can be sent."""
    return isinstance(value, str) and is_utf8(value)


def unsendable(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the problem of each value inside free-form JSON that would not arrive unchanged."""
    match value:
        case Secret() if value.has_value:
            yield from unsendable(value.plain(), path)
        case float():
            yield path, "must not be a float; use a Decimal or a str"
        case Mapping():
            for key, inner in value.items():
                inner_path = join_path(path, key)
                yield from ((inner_path, f"its name {reason}") for _, reason in unsendable_text(key, inner_path))
                yield from unsendable(inner, inner_path)
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from unsendable(inner, f"{path}[{index}]")
        case str():
            yield from unsendable_text(value, path)
        case Decimal() if not value.is_finite():
            yield path, "is not a number"
        case None | bool() | int() | Decimal() | date():
            return
        case _:
            yield path, f"cannot be sent as JSON: {type(value).__name__}"


def join_path(path: str, key: Any) -> str:
    """Name the place of a value in a mapping, for the text of a problem."""
    return mask_text(f"{path}.{key}").encode(errors="backslashreplace").decode()


def unsendable_text(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the problem of a value that is not text, or cannot be sent."""
    if not is_text(value):
        yield path, INVALID_CHARACTER if isinstance(value, str) else "must be text"
