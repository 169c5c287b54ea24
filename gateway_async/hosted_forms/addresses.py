"""The address and the parameters of a hosted form's URL, and their problems."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from gateway_async._arguments import is_loopback
from gateway_async._secrets import Secret
from gateway_async.credentials import is_header_text
from gateway_async.errors import InvalidRequestError

__all__ = ["address_problems", "single_params", "split_url", "text_problems"]


def split_url(url: Any) -> SplitResult:
    """Return the parts of a URL; all are empty if it is invalid."""
    try:
        return urlsplit(url if isinstance(url, str) else "")
    except ValueError:
        return urlsplit("")


def address_problems(base_url: str) -> Iterator[str]:
    """Yield what is wrong with the gateway's address."""
    parts = split_url(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        yield 'base_url: must be an http or https address, such as "https://api.example.test"'
    elif parts.path.rstrip("/").endswith("/v2"):
        yield "base_url: leave /v2 out; it is part of every path"
    elif parts.scheme == "http" and not is_loopback(parts.hostname):
        yield "base_url: plain http exposes card numbers (expected https)"


def text_problems(**texts: Any) -> Iterator[str]:
    """Yield a line for each id or key with invalid characters."""
    for name, text in texts.items():
        if not is_header_text(text.reveal() if isinstance(text, Secret) else text):
            yield f"{name}: must be printable ASCII text, not empty, without spaces around it"


def single_params(query: str, names: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of a form's URL.

    Raises:
        InvalidRequestError: one of `names` is missing or given twice.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    problems = [f"{name}: must be given once" for name in names if sum(key == name for key, _ in pairs) != 1]
    if problems:
        raise InvalidRequestError(problems)
    return dict(pairs)
