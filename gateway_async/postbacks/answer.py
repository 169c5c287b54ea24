"""`Answer`: what a receiver says over HTTP, whatever the server."""

from collections.abc import Mapping
from typing import Final

import attrs

from gateway_async.errors import PostbackRefusedError

__all__ = ["Answer"]

_ALSO: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"www-authenticate": 'Basic realm="postbacks", charset="UTF-8"'},
    405: {"allow": "POST"},
}


@attrs.frozen
class Answer:
    """An HTTP response.

    Attributes:
        status: 2xx tells the gateway that the postback has arrived; after anything else it tries again.
        headers: by lower-case name.
        body: a line of plain text, or nothing.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""

    @classmethod
    def saying(cls, status: int, sentence: str) -> "Answer":
        """A refusal, or a failure, in words."""
        headers = {"content-type": "text/plain; charset=utf-8", **_ALSO.get(status, {})}
        return cls(status, headers, f"{sentence}\n".encode(errors="replace"))

    @classmethod
    def to(cls, error: PostbackRefusedError) -> "Answer":
        """What a refused request is answered."""
        return cls.saying(error.status_code, error.reason)
