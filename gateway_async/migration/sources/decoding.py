"""A record's bytes → text, or where they are none."""

from gateway_async.migration.sources.opening import Bytes

__all__ = ["decoded"]


def decoded(content: bytes, source: Bytes) -> tuple[str, str]:
    """A record's text, and what is wrong with its bytes: one of them is empty, or both are."""
    try:
        text = content.decode(source.encoding)
    except UnicodeDecodeError as error:
        byte = f"byte 0x{content[error.start]:02X} at place {error.start + 1} of the row"
        return "", f"{byte} is no {source.encoding}; say the file's encoding with --encoding, such as cp1252"
    if source.recoded and "\ufffd" in text:
        return "", "holds bytes that are not in the file's encoding; say it with --encoding, such as utf-16"
    return text, ""
