"""The text of JSON before it is decoded: charset, byte order mark, halves of surrogate pairs and repeated names."""

import json
import re
from codecs import BOM_UTF8
from collections import Counter
from typing import Any, Final

_CHARSETS: Final = {"iso-8859-1": "latin-1", "latin1": "latin-1", "latin-1": "latin-1", "windows-1252": "cp1252"}
"""Supported charsets other than UTF-8. Python's codec registry is not used, because callers could make it grow."""

_CHARSET: Final = re.compile(r"charset\s*=\s*\"?([\w-]{1,20})", re.ASCII)

_SURROGATE: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}", re.DOTALL
)
"""An escaped surrogate; in group 1, a complete pair or another escape, which stays."""


def as_utf8(text: bytes, content_type: str = "") -> bytes:
    """Return a text in UTF-8, without a byte order mark.

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
    """Replace escaped halves of surrogate pairs in JSON.

    A program writes one when it cuts a text within an emoji.
    """
    return _SURROGATE.sub(lambda escape: escape[1] or rb"\ufffd", text)


def object_names(text: str) -> list[str]:
    """Return the names in a JSON object, including repeated ones.

    Raises:
        ValueError: the JSON is nested too deep.
    """
    *_, outermost = _all_names(text)
    return outermost


def repeated_name(text: str) -> str | None:
    """Return a name that an object in the JSON text repeats.

    Raises:
        ValueError: the JSON is nested too deep.
    """
    repeated = (name for names in _all_names(text) for name, times in Counter(names).items() if times > 1)
    return next(repeated, None)


def _all_names(text: str) -> list[list[str]]:
    """Return the names of each object in a JSON text; those of the outermost object come last."""
    found: list[list[str]] = []

    def add(pairs: list[tuple[str, Any]]) -> None:
        found.append([name for name, _ in pairs])

    try:
        json.loads(text, object_pairs_hook=add, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return found
