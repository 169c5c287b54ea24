"""`LazyRequest` and `LazyResponse`: httpx's messages over the bytes that are sent and received.

httpx's URL, headers and streams take longer to build than a request takes to send. They are built when something looks
at them: a transport of the user, a mock, an event hook. The package's own transport needs none of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Self

import attrs
import httpx

Origin = tuple[str, str, int]
"""Scheme, host and port."""

Fields = list[tuple[bytes, bytes]]
"""Names and values of headers, in order."""

WRONG_LENGTH: Final = "the length of the body differs from its content-length"
_LINE_BREAK: Final = "a header contains a line break"
_PORTS: Final = {"http": 80, "https": 443}
_BUILT: Final = frozenset({"url", "headers", "stream"})
"""Attributes that exist once something has looked at them; they may have been changed then."""


@attrs.frozen
class BaseUrl:
    """The address of a server in parts.

    Attributes:
        origin: where connections lead.
        root: the URL without a path.
        path: the start of every path, percent-encoded and without a slash at its end.
        host: the value of the `Host` header.
    """

    origin: Origin
    root: str
    path: str
    host: str

    @classmethod
    def parse(cls, url: httpx.URL) -> Self:
        host = url.netloc.decode("ascii")
        return cls(origin_of(url), f"{url.scheme}://{host}", url.raw_path.decode("ascii").rstrip("/"), host)


def origin_of(url: httpx.URL) -> Origin:
    """Where the connection of a URL leads.

    Raises:
        httpx.UnsupportedProtocol: it does not start with http:// or https://.
    """
    scheme = url.scheme
    if scheme not in _PORTS:
        raise httpx.UnsupportedProtocol(f"a URL starts with http:// or https://, not with {scheme!r}")
    return scheme, url.raw_host.decode("ascii"), url.port or _PORTS[scheme]


def header_lines(fields: Iterable[tuple[str, str]]) -> str:
    """Headers as they are sent, each with its line end.

    Raises:
        httpx.LocalProtocolError: a header contains a line break.
    """
    lines = [f"{name}: {value}\r\n" for name, value in fields]
    text = "".join(lines)
    if text.count("\r") != len(lines) or text.count("\n") != len(lines) or "\0" in text:
        raise httpx.LocalProtocolError(_LINE_BREAK)
    return text


class LazyRequest(httpx.Request):
    """A request to a server whose address is known.

    Args:
        method: the HTTP method.
        base: the address of the server.
        target: the percent-encoded path and query, after the path of `base`.
        lines: what `header_lines` returned; the length of `body` is one of them.
        body: the body, in memory or in chunks.
        extensions: what the transport needs besides.
    """

    def __init__(  # not httpx's, which builds everything
        self,
        method: str,
        base: BaseUrl,
        target: str,
        lines: str,
        body: bytes | httpx.AsyncByteStream,
        extensions: dict[str, Any],
    ) -> None:
        self.method = method
        self.extensions = extensions
        self._base = base
        self._target = f"{base.path}{target}"
        self._lines = lines
        self._body = body
        if isinstance(body, bytes):
            self._content = body

    def encode(self) -> tuple[Origin, bytes, bool]:
        """Do what `encode_request` does, with what was given."""
        if not self._target.isprintable():
            raise httpx.LocalProtocolError(_LINE_BREAK)
        head = f"{self.method} {self._target} HTTP/1.1\r\n{self._lines}\r\n".encode("ascii")
        if isinstance(self._body, bytes):
            return self._base.origin, head + self._body, True
        return self._base.origin, head, False

    @cached_property
    def url(self) -> httpx.URL:  # type: ignore[override]  # httpx's attribute can be set too
        return httpx.URL(f"{self._base.root}{self._target}")

    @cached_property
    def headers(self) -> httpx.Headers:  # type: ignore[override]
        fields = [line.partition(": ") for line in self._lines.split("\r\n")[:-1]]
        # Without the encoding, httpx would try several at every access.
        return httpx.Headers([(name, value) for name, _, value in fields], encoding="ascii")

    @cached_property
    def stream(self) -> httpx.AsyncByteStream:  # type: ignore[override]
        return httpx.ByteStream(self._body) if isinstance(self._body, bytes) else self._body


def encode_request(request: httpx.Request) -> tuple[Origin, bytes, bool]:
    """Encode a request.

    Returns where it goes, its first bytes, and whether they are all: the head, with the body if that is in memory.

    Raises:
        httpx.LocalProtocolError: a header contains a line break, or the length of the body is wrong.
        httpx.UnsupportedProtocol: the URL does not start with http:// or https://.
    """
    if isinstance(request, LazyRequest) and _BUILT.isdisjoint(vars(request)):
        return request.encode()
    origin = origin_of(request.url)
    lines = header_lines((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
    head = f"{request.method} {request.url.raw_path.decode()} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
    if not isinstance(request.stream, httpx.ByteStream):
        return origin, head, False
    body = b"".join(request.stream)
    if body and request.headers.get("content-length") != str(len(body)):
        raise httpx.LocalProtocolError(WRONG_LENGTH)
    return origin, head + body, True


class LazyResponse(httpx.Response):
    """A response whose body can still be read.

    Args:
        status_code: the HTTP status.
        fields: the headers.
        stream: the body.
        version: the version of HTTP. There is no reason phrase: it may repeat what was sent.
    """

    is_closed = is_stream_consumed = False
    next_request: httpx.Request | None = None
    _request: httpx.Request | None = None
    default_encoding = "utf-8"
    _num_bytes_downloaded = 0

    def __init__(  # not httpx's, which builds the headers
        self, status_code: int, fields: Fields, stream: httpx.AsyncByteStream, version: bytes
    ) -> None:
        self.status_code = status_code
        self.fields = fields
        self.stream = stream
        self.extensions = {"http_version": version}
        self.history = []

    @cached_property
    def headers(self) -> httpx.Headers:  # type: ignore[override]
        return httpx.Headers(self.fields)


class LazyHeaders(Mapping[str, str]):
    """The headers of a response, which few calls look at; ignores the case of names."""

    __slots__ = ("__dict__", "_fields")

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    @cached_property
    def _headers(self) -> httpx.Headers:
        return httpx.Headers(self._fields)

    def __getitem__(self, name: str) -> str:
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __repr__(self) -> str:
        return repr(self._headers)


def headers_of(response: httpx.Response) -> Mapping[str, str]:
    """The headers of a response, without building them."""
    return LazyHeaders(response.fields) if isinstance(response, LazyResponse) else response.headers
