"""`ResponseParser`: an incremental HTTP response parser over llhttp.

A response ends where its own head says. Data after that end makes the connection unusable.
"""

from typing import Final

import httptools
import httpx

_HEAD_LIMIT: Final = 64 * 1024
"""Maximum bytes of a head, of trailers and of chunk framing.

A head with many cookies has some thousands.
"""


class ResponseParser:
    """Parses one response; informational ones (100 Continue, 103 Early Hints) are skipped.

    Attributes:
        head_seen: whether status and headers have arrived.
        complete: whether the whole response has arrived.
        buffered_bytes: bytes of the body that were not taken yet.
        reusable: whether the connection can be reused: the response is complete, and nothing follows it.
    """

    __slots__ = (
        "_chunks",
        "_framing_bytes",
        "_header_bytes",
        "_parser",
        "buffered_bytes",
        "complete",
        "head_seen",
        "headers",
        "reusable",
        "status",
        "version",
    )  # fmt: skip

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._chunks: list[bytes] = []
        self._framing_bytes = 0
        self._header_bytes = 0
        self.buffered_bytes = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.version = b""
        self.head_seen = False
        self.complete = False
        self.reusable = False

    def feed(self, data: bytes) -> None:
        """Parse received data.

        Raises:
            httpx.RemoteProtocolError: it is not HTTP, or its head, chunk framing or trailers are too long.
        """
        self._framing_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.complete:
                raise httpx.RemoteProtocolError(f"not an HTTP response: {error}") from None
            self.reusable = False
        self._check_length()

    def end_at_eof(self) -> bool:
        """End the response at EOF; return whether it is complete.

        EOF ends a response only if its head gives neither a length nor a transfer encoding.
        """
        self.complete = self.head_seen and not self._is_measured()
        return self.complete

    def end_after_head(self) -> None:
        """Treat the head as the whole response, as after a HEAD request."""
        keep_alive = self.reusable if self.complete else self._parser.should_keep_alive()
        self.complete, self.reusable = True, keep_alive and not self._chunks
        self._chunks.clear()

    def take_body(self) -> bytes:
        """Take the part of the body that is new."""
        chunks = self._chunks
        self._chunks, self.buffered_bytes = [], 0
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _check_length(self) -> None:
        framing = 0 if self.complete else self._framing_bytes
        if max(framing, self._header_bytes) > _HEAD_LIMIT:
            self.reusable = False
            part = "framing" if self.head_seen and framing else "head"
            raise httpx.RemoteProtocolError(f"the {part} of the response is longer than {_HEAD_LIMIT} bytes")

    def _is_measured(self) -> bool:
        return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    # --- callbacks of llhttp

    def on_message_begin(self) -> None:
        if self.complete:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.head_seen:
            self._header_bytes += len(name) + len(value)
            self.headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        if self.head_seen:
            return
        self.status = self._parser.get_status_code()
        self.version = b"HTTP/" + self._parser.get_http_version().encode()
        if self.status < 200:  # noqa: PLR2004
            self.headers.clear()
        else:
            self.head_seen = True

    def on_body(self, chunk: bytes) -> None:
        if self.complete:
            self.reusable = False
        elif self.head_seen:  # llhttp gives a body to a status such as 000, which is skipped
            self._framing_bytes = 0
            self._chunks.append(chunk)
            self.buffered_bytes += len(chunk)

    def on_message_complete(self) -> None:
        if self.head_seen and not self.complete:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()
