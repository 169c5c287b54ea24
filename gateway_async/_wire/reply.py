"""Status, headers and bytes → a result, or one error from the tree."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from math import nan
from typing import Any, Final, TypeVar

import attrs

from gateway_async._secrets import Secret, mask_text
from gateway_async._wire.belonging import check_refusal
from gateway_async._wire.call import Call
from gateway_async._wire.convert import FieldError, decode
from gateway_async.errors import (
    AuthenticationError,
    BadRequestError,
    MalformedReplyError,
    MethodNotAllowedError,
    MismatchedReplyError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    RecordDeletedError,
    ServerError,
    StatusError,
    ValidationError,
)

__all__ = ["Reply", "read_reply"]

T = TypeVar("T")

_ERRORS: Final[Mapping[int, type[StatusError]]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    409: RecordDeletedError,
    422: ValidationError,
    429: RateLimitError,
}
_ABSENT: Final = (404, 409)
_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_LONGEST_PAUSE: Final = 86_400.0
"""Seconds: whoever asks for more than a day's pause, or one in the past, has made a mistake."""
_BUSY: Final = (429, 502, 503, 504)
"""Answers that say nothing of the request itself."""
_READ: Final = 20_000
"""Of a gateway's words no more is looked at, and `_EXCERPT` repeated: a cut before masking could split a secret."""
_EXCERPT: Final = 300


@attrs.frozen
class Reply:
    """An answer as it came.

    Attributes:
        headers: names in any case (`httpx.Headers` will do).
        at: when it came, Unix seconds.
        secrets: the credentials it answers, which no text of it may repeat.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)
    at: float
    secrets: tuple[Secret, ...] = attrs.field(default=(), repr=False)


def read_reply(call: Call[T], reply: Reply) -> T:
    """What `reply` says to `call`.

    Raises:
        StatusError: the gateway said no.
        MalformedReplyError: it said yes, in a form that cannot be understood.
        MismatchedReplyError: it answered another question.
    """
    try:
        return _result(call, reply)
    except MismatchedReplyError as error:
        raise MismatchedReplyError(error.differences, call=str(call)) from None


def _result(call: Call[T], reply: Reply) -> T:
    if 200 <= reply.status < 300:  # noqa: PLR2004
        return _success(call, reply)
    if call.absent is not ... and _says_absent(reply):
        absent: T = call.absent
        return absent
    raise _refusal(call, reply)


def _success(call: Call[T], reply: Reply) -> T:
    try:
        content = decode(reply.body) if reply.body.strip() else None
    except ValueError:
        raise MalformedReplyError("$", f"not JSON: {_excerpt(call, reply)}", call=str(call)) from None
    try:
        return call.read(content)
    except FieldError as error:
        raise MalformedReplyError(f"${error.path}", error.reason, call=str(call)) from None


def _says_absent(reply: Reply) -> bool:
    """Whether the gateway says that the record is not there: a page for people is a proxy's word, and no proof."""
    return reply.status in _ABSENT and not _is_page(reply)


def _refusal(call: Call[Any], reply: Reply) -> StatusError:
    kind = _ERRORS.get(reply.status, ServerError if reply.status >= 500 else StatusError)  # noqa: PLR2004
    if call.refusal and reply.status not in _BUSY:
        kind = call.refusal
    message, fields = _said(call, reply)
    if kind is ValidationError:
        check_refusal(fields, call.fields)
    return kind(
        reply.status,
        call=str(call),
        message=message,
        fields=fields,
        retry_after=_retry_after(reply.headers, reply.at),
    )


def _said(call: Call[Any], reply: Reply) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The gateway's words, in any of the forms it speaks: `errors` by field, a message, or a page of HTML."""
    try:
        body = decode(reply.body)
    except ValueError:
        body = None
    said = body if isinstance(body, dict) else {}
    message = said.get("message") or said.get("name") or ""
    fields = _fields(said.get("errors"))
    if not message and not fields:
        return ("" if isinstance(body, dict) else _excerpt(call, reply)), {}
    fit = partial(_fit, call, reply)
    return fit(str(message)), {fit(name): tuple(map(fit, lines)) for name, lines in fields.items()}


def _fit(call: Call[Any], reply: Reply, text: str) -> str:
    """A gateway's words, masked, and short enough for a message."""
    words = mask_text(text[:_READ], secrets=(*call.secrets, *reply.secrets))
    return words if len(words) <= _EXCERPT else words[:_EXCERPT] + "…"


def _fields(errors: Any) -> dict[str, tuple[str, ...]]:
    if isinstance(errors, dict):
        return {name: tuple(_lines(said)) for name, said in errors.items()}
    return {"": tuple(_lines(errors))} if errors else {}


def _lines(said: Any) -> Iterator[str]:
    if isinstance(said, dict | list):
        for inner in said.values() if isinstance(said, dict) else said:
            yield from _lines(inner)
    elif said is not None:
        yield str(said)


_SCRIPTS: Final = re.compile(r"(?is)<(script|style)\b.*?</\1\s*>")
_TAGS: Final = re.compile(r"(?s)<[^>]*>")


def _is_page(reply: Reply) -> bool:
    return "html" in reply.headers.get("content-type", "") or reply.body.lstrip()[:1] == b"<"


def _excerpt(call: Call[Any], reply: Reply) -> str:
    """The start of a body that is no JSON, as text fit for one line; JSON that broke off is personal data."""
    text = reply.body[:_READ].decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "["):
        return f"{len(reply.body)} bytes that break off or go astray"
    if _is_page(reply):
        text = _TAGS.sub(" ", _SCRIPTS.sub(" ", text))
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return _fit(call, reply, line)


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from a `Retry-After` header, which is seconds or an HTTP date; absurd ones are None.

    A date is measured from the answer's own `Date`, so that a clock of ours that goes wrong does not matter.
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        seconds = float(value)
    else:
        until, since = _moment(value), _moment(headers.get("date", ""))
        seconds = nan if until is None else until - (now if since is None else since)
    return seconds if 0 <= seconds <= _LONGEST_PAUSE else None


def _moment(http_date: str) -> float | None:
    """Unix seconds of an HTTP date; one without a zone is GMT."""
    try:
        moment = parsedate_to_datetime(http_date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
