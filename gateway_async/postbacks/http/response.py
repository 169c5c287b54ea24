"""`ReceiverResponse`: the HTTP response of a receiver, independent of the server."""

from collections.abc import Mapping
from typing import Final

import attrs

from gateway_async.errors import PostbackRefusedError

_EXTRA_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"www-authenticate": 'Basic realm="postbacks", charset="UTF-8"'},
    405: {"allow": "POST"},
}


@attrs.frozen
class ReceiverResponse:
    """An HTTP response.

    Attributes:
        status_code: 2xx acknowledges the postback; after any other status the gateway delivers it again.
        headers: the header fields by lower-case name.
        body: one line of plain text, or empty.
    """

    status_code: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""

    @classmethod
    def plain_text(cls, status_code: int, sentence: str) -> "ReceiverResponse":
        """A plain-text response for a rejection or a failure."""
        headers = {"content-type": "text/plain; charset=utf-8", **_EXTRA_HEADERS.get(status_code, {})}
        return cls(status_code, headers, f"{sentence}\n".encode(errors="replace"))

    @classmethod
    def refusal(cls, error: PostbackRefusedError) -> "ReceiverResponse":
        """The response to a rejected request."""
        response = cls.plain_text(error.status_code, error.reason)
        if error.retry_after is None:
            return response
        return attrs.evolve(response, headers={**response.headers, "retry-after": str(error.retry_after)})
