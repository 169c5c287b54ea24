"""Reader of responses: turns status, headers and body into a result or an error of this package."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from math import nan
from typing import Any, Final, TypeVar, cast

import attrs

from gateway_async._secrets import LONGEST_CARD, Secret, quote_text
from gateway_async._text import pluralize
from gateway_async._wire.call import Call, Lookup
from gateway_async._wire.convert import FieldError, read_nothing
from gateway_async._wire.evidence import UnprovenError
from gateway_async._wire.json_text import as_utf8, decode
from gateway_async._wire.pagination import RawPage
from gateway_async._wire.response_matching import check_refusal
from gateway_async.errors import (
    AuthenticationError,
    BadRequestError,
    DuplicateError,
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

T = TypeVar("T")

_ERRORS: Final[Mapping[int, type[StatusError]]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    409: RecordDeletedError,
    410: RecordDeletedError,
    422: ValidationError,
    429: RateLimitError,
}
_ABSENT: Final = (404, 409, 410)
_SECONDS: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
_LONGEST_PAUSE: Final = 86_400.0
"""Seconds. A `Retry-After` of more than a day, or in the past, is a mistake and is ignored."""
_OVERLOADED: Final = (429, 502, 503, 504)
"""Statuses of an overloaded gateway. They do not depend on the content of the request."""
_DUPLICATE_WORDS: Final = re.compile(r"(?i)\b(exists?|already|taken|duplicated?|in use|unique)\b")
"""Words that say that another record has the integrator id. The contract shows no code for this case."""
_MAY_SAY_BUSY: Final = (403, 409, 422)
_TERMINAL_BUSY: Final = re.compile(r"(?i)\bterminal\b[^.;\n]*?(?<!not )\b(busy|in use)\b")
_TERMINAL_FIELD: Final = {"terminal_id": "terminal"}
_MAX_PAGE_BYTES: Final = 20_000
"""The number of bytes of a page from which text is extracted."""
_MAX_QUOTE: Final = 300
_SEPARATORS: Final = len("; : …")
"""The maximum number of characters that an error's message adds to each quoted text."""
_MAX_QUOTED_TOTAL: Final = 4096
"""The maximum number of characters that one error quotes from a response: message, field names and field messages."""


@attrs.frozen
class Reply:
    """An HTTP response: the result of `gateway.request(…)`.

    Attributes:
        status_code: the HTTP status.
        headers: a mapping that ignores the case of names.
        body: the body, decompressed.
        at: the time of arrival, Unix seconds.
        secrets: the credentials of the request, which are masked in quoted texts; empty for users.
    """

    status_code: int
    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(repr=False)
    at: float = attrs.field(repr=False)
    secrets: tuple[Secret, ...] = attrs.field(default=(), repr=False)

    def json(self) -> Any:
        """Decode the body, with fractions as `Decimal`. An empty body is None.

        Raises:
            MalformedReplyError: the body is not JSON.
        """
        try:
            text = _text(self)
            return decode(text) if text.strip() else None
        except ValueError:
            malformed = MalformedReplyError("$", f"not JSON: {_describe_body(self)}")
        raise malformed


def _text(reply: Reply) -> bytes:
    return as_utf8(reply.body, reply.headers.get("content-type", ""))


def read_reply(call: Call[T], reply: Reply) -> T:
    """Read the result of `call` from its response.

    Raises:
        StatusError: the status is not a success.
        MalformedReplyError: the status is a success, but the body cannot be parsed.
        MismatchedReplyError: the response belongs to another request.
    """
    try:
        return _result(call, reply)
    except MismatchedReplyError as error:
        differences = _Quotes(call, reply).lines(error.differences)
    raise MismatchedReplyError(differences, call=str(call))


def _result(call: Call[T], reply: Reply) -> T:
    if 200 <= reply.status_code < 300:  # noqa: PLR2004
        return _success(call, reply)
    content = _refusal_content(reply)
    if isinstance(call, Lookup) and call.not_found_result and _says_not_found(reply, content or {}):
        return cast("T", call.not_found_result)
    raise _refusal(call, reply, content)


def _success(call: Call[T], reply: Reply) -> T:
    if call.returns_reply and call.repeat_effect.is_read:
        return cast("T", attrs.evolve(reply, secrets=()))
    try:
        if call.read is read_nothing:
            _check_status(call, reply)
        result: Any = call.read(_content(call, reply))
    except FieldError as error:
        malformed = _malformed_reply_error(call, reply, error)
    else:
        if call.returns_reply:  # the response to a write, whose body is empty or JSON: a page of a proxy proves nothing
            result = attrs.evolve(reply, secrets=())
        if isinstance(result, RawPage):  # its rows are read later
            result = attrs.evolve(result, on_error=partial(_malformed_reply_error, call, reply))
        success: T = result
        return success
    raise malformed


def _check_status(call: Call[Any], reply: Reply) -> None:
    """Check that a deletion was answered with 204; another success may be a proxy's."""
    if call.resolver and reply.status_code != HTTPStatus.NO_CONTENT:
        raise FieldError("", "expected the status 204")


def _content(call: Call[Any], reply: Reply) -> Any:
    try:
        text = reply.body if reply.body.isascii() else _text(reply)
        return call.decode(text) if text.strip() else None
    except ValueError as error:
        malformed = _malformed_reply_error(call, reply, error)
    raise malformed


def _malformed_reply_error(call: Call[Any], reply: Reply, error: ValueError) -> MalformedReplyError:
    if not isinstance(error, FieldError):
        return MalformedReplyError("$", f"not JSON: {_describe_body(reply)}", call=str(call))
    quotes = _Quotes(call, reply)
    return MalformedReplyError(
        quotes.text(f"${error.path}"),
        quotes.text(error.reason),
        call=str(call),
        lacks_evidence=isinstance(error, UnprovenError),
    )


def _refusal_content(reply: Reply) -> Mapping[str, Any] | None:
    """Decode a refusal; None for anything but a JSON object."""
    try:
        content = decode(_text(reply))
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _says_not_found(reply: Reply, content: Mapping[str, Any]) -> bool:
    return reply.status_code in _ABSENT and _is_from_gateway(reply.status_code, content)


def _is_from_gateway(status: int, content: Mapping[str, Any]) -> bool:
    """Whether the gateway itself wrote the body of a refusal.

    It has an `errors` object, or a `name` with a `code` or `status` equal to the HTTP status. A page, an empty body and
    a message alone may be a proxy's.
    """
    if content.get("errors") and isinstance(content["errors"], dict):
        return True
    codes = str(content.get("code")), str(content.get("status"))
    return isinstance(content.get("name"), str) and str(status) in codes


def _refusal(call: Call[Any], reply: Reply, content: Mapping[str, Any] | None) -> StatusError:
    kind = _ERRORS.get(reply.status_code, ServerError if reply.status_code >= 500 else StatusError)  # noqa: PLR2004
    if call.error_class and reply.status_code not in _OVERLOADED:
        kind = call.error_class
    message, fields = _message_and_fields(call, reply, content)
    facts: dict[str, Any] = {
        "call": str(call),
        "message": message,
        "fields": fields,
        "retry_after": _retry_after(reply.headers, reply.at),
        "is_from_gateway": _is_from_gateway(reply.status_code, content or {}),
    }
    if kind is AuthenticationError:
        return AuthenticationError(reply.status_code, is_login=call.error_class is not None, **facts)
    if kind is ValidationError:
        check_refusal(fields, call.fields)
        api_id_field = call.resolver.api_id_field if call.resolver else ""
        if call.resolver and call.api_id and api_id_field and _says_duplicate(api_id_field, message, fields):
            if call.resolver.generated_id:  # a proxy may have sent the request twice
                raise MismatchedReplyError((f"{api_id_field} exists already, and only this call has sent it",))
            return DuplicateError(reply.status_code, api_id=call.api_id, **facts)
    return kind(reply.status_code, **facts)


def says_busy(refusal: StatusError) -> bool:
    """Whether the gateway refused because the terminal is in use.

    The contract shows no such response, so the text decides. It counts if one sentence contains "terminal" and then
    "busy" or "in use", or if a message about the field `terminal_id` contains one of these.
    """
    messages = [f"{_TERMINAL_FIELD.get(name, '')} {line}" for name, lines in refusal.fields.items() for line in lines]
    return refusal.status_code in _MAY_SAY_BUSY and any(map(_TERMINAL_BUSY.search, (refusal.message, *messages)))


def _says_duplicate(field: str, message: str, fields: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a refusal says that `field`, an integrator id, is taken."""
    general = [line for line in (message, *fields.get("", ())) if field in line]
    return any(map(_DUPLICATE_WORDS.search, (*fields.get(field, ()), *general)))


def _message_and_fields(
    call: Call[Any], reply: Reply, content: Mapping[str, Any] | None
) -> tuple[str, dict[str, tuple[str, ...]]]:
    quotes = _Quotes(call, reply)
    if content is None:
        return _excerpt(call, reply, quotes), {}
    fields = _fields(content.get("errors"))
    message = quotes.text(str(content.get("message") or content.get("name") or ""))
    names = dict(zip(quotes.lines(fields), fields.values(), strict=False))  # names first: programs look for them
    return message, {name: quotes.lines(lines) for name, lines in names.items()}


class _Quotes:
    """Quotes from a response for one error, masked and shortened. A long response costs no more than a short one."""

    def __init__(self, call: Call[Any], reply: Reply) -> None:
        self._secrets = (*call.request.secrets, *reply.secrets)
        self._left = _MAX_QUOTED_TOTAL
        self.longest_secret = max((len(secret.reveal()) for secret in self._secrets), default=0)

    def text(self, text: str) -> str:
        """Quote the beginning of a text."""
        quoted = quote_text(text, self._secrets, min(_MAX_QUOTE, max(self._left, 0)))
        self._left -= len(quoted) + _SEPARATORS
        return quoted

    def lines(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Quote texts up to the limit, and "…" for the rest."""
        quoted: list[str] = []
        for text in texts:
            if self._left <= 0:
                return (*quoted, "…")
            quoted.append(self.text(text))
        return tuple(quoted)


def _fields(errors: Any) -> dict[str, tuple[str, ...]]:
    if isinstance(errors, dict):
        return {name: tuple(_lines(messages)) for name, messages in errors.items()}
    return {"": tuple(_lines(errors))} if errors else {}


def _lines(messages: Any) -> Iterator[str]:
    if isinstance(messages, dict | list):
        for inner in messages.values() if isinstance(messages, dict) else messages:
            yield from _lines(inner)
    elif messages is not None:
        yield str(messages)


_SCRIPT: Final = re.compile(r"(?i)<(?:script|style)\b")
_SCRIPT_END: Final = re.compile(r"(?i)</(?:script|style)\s*>")
_TAG: Final = re.compile(r"<[^<>]*>")
_MEDIA_TYPE: Final = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,40}")


def _is_page(reply: Reply) -> bool:
    return "html" in reply.headers.get("content-type", "") or reply.body.lstrip()[:1] == b"<"


def _page_text(page: str) -> str:
    first, *rest = _SCRIPT.split(page)
    after_scripts = (_SCRIPT_END.split(part, maxsplit=1)[1:] for part in rest)
    return _TAG.sub(" ", " ".join([first, *(text for part in after_scripts for text in part)]))


def _excerpt(call: Call[Any], reply: Reply, quotes: _Quotes) -> str:
    """Quote or describe an error's body that is not JSON.

    A proxy's text in response to a read is quoted. A body that may contain a secret is only described: the response to
    a login or a write, and any body with a JSON object, which may be a record or a token.
    """
    text = reply.body[:_MAX_PAGE_BYTES].decode("utf-8", "replace")
    if _is_page(reply):
        text = _page_text(text)
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(reply.body) > _MAX_PAGE_BYTES:  # the cut may have split a secret
        line = line[: -max(quotes.longest_secret, LONGEST_CARD)]
    quotable = call.repeat_effect.is_read and call.request.signed and "{" not in line and line[:1] != "["
    return quotes.text(line) if quotable or not line else _describe_body(reply)


def _describe_body(reply: Reply) -> str:
    size = f"{len(reply.body)} {pluralize(len(reply.body), 'byte')}"
    if reply.body.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        return f"{size} of incomplete or invalid JSON"
    named = _MEDIA_TYPE.match(reply.headers.get("content-type", "").lower())
    return f"{size} of HTML" if _is_page(reply) else f"{size} of {named.group()}" if named else size


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds of a plausible `Retry-After` header, which is a number or an HTTP date.

    A date is compared with the response's own `Date`, because the local clock may be wrong.
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        seconds = float(value)
    else:
        until, since = _moment(value), _moment(headers.get("date", ""))
        seconds = nan if until is None else until - (now if since is None else since)
    return seconds if 0 <= seconds <= _LONGEST_PAUSE else None


def _moment(http_date: str) -> float | None:
    """The Unix seconds of an HTTP date. A date without a time zone is in GMT."""
    try:
        moment = parsedate_to_datetime(http_date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
