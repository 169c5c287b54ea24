"""Decoding of a record's bytes to text."""

from gateway_async.migration.sources.byte_source import Bytes

__all__ = ["decoded"]


def decoded(content: bytes, source: Bytes) -> tuple[str, str]:
    """Return a record's text, and the problem if its bytes cannot be decoded. At most one of them is not empty."""
    try:
        text = content.decode(source.encoding)
    except UnicodeDecodeError as error:
        byte = f"byte 0x{content[error.start]:02X} at place {error.start + 1} of the row"
        return "", f"{byte} is no {source.encoding}; say the file's encoding with --encoding, such as cp1252"
    if source.recoded and "\ufffd" in text:
        return "", "holds bytes that are not in the file's encoding; say it with --encoding, such as utf-16"
    return text, ""
