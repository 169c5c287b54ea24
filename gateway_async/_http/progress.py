"""`Progress`: how far a request got, which decides whether a failed call may be repeated.

`HttpClient` puts a new `Progress` under `PROGRESS` into the extensions of a request, and the transport updates it. The
stage `SENDING` is set before any byte can be sent. The stage may therefore be too high, but is never too low.
"""

import enum
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from gateway_async.errors import SendStage

PROGRESS: Final = "gateway_async.progress"
"""The request extension that holds a `Progress`."""


class Stage(enum.IntEnum):
    """How far one attempt of a request got, in order."""

    UNREPORTED = 0
    """The transport does not say: treat it as sent."""
    QUEUED = 1
    """Waiting for a free connection slot."""
    CONNECTING = 2
    """Finding, opening or securing a connection; nothing of the request is written."""
    SENDING = 3
    """The first byte may have been sent."""
    RESPONSE_STARTED = 4
    """The head of the response was read."""


_REACHED: Final = {
    Stage.UNREPORTED: SendStage.SENT,
    Stage.QUEUED: SendStage.NOT_CONNECTED,
    Stage.CONNECTING: SendStage.NOTHING_WRITTEN,
    Stage.SENDING: SendStage.SENT,
    Stage.RESPONSE_STARTED: SendStage.RESPONSE_TRUNCATED,
}
"""The `SendStage` value of a request that ended in each stage."""


async def _discard_nothing() -> None:
    """Do nothing until a connection exists that can be discarded."""


class Progress:
    """How far one attempt got, and a way to discard its connection."""

    __slots__ = ("before_sending", "discard", "is_reused", "sent_at", "stage", "status_code")

    stage: Stage
    """Stays `Stage.UNREPORTED` under a transport that does not report."""

    status_code: int | None
    """The HTTP status of the response, once its head was read."""

    before_sending: Callable[[], Awaitable[None]] | None
    """Raises an error if the request must not be sent any more; None for requests without a check."""

    sent_at: float | None
    """The time of the last check: when the first byte was about to be sent, by the event loop's clock."""

    is_reused: bool
    """Whether the connection had been used for other requests, whose responses may still arrive."""

    discard: Callable[[], Awaitable[None]]
    """Await it to close the connection for good.

    Use it if the response turns out to belong to another request. It may be called at any time and more than once. It
    is bounded in time and shielded from cancellation. It does nothing without a connection, and under a transport that
    does not report.
    """

    def __init__(self) -> None:
        self.stage = Stage.UNREPORTED
        self.status_code = None
        self.before_sending = None
        self.sent_at = None
        self.is_reused = False
        self.discard = _discard_nothing

    async def check(self) -> None:
        """Check that the request may still be sent; await it as shortly before the first byte as possible."""
        if self.before_sending is not None:
            await self.before_sending()
            self.sent_at = anyio.current_time()

    @property
    def may_have_been_sent(self) -> bool:
        """Whether the gateway may have received the request; false only if certain."""
        return self.stage not in (Stage.QUEUED, Stage.CONNECTING)

    @property
    def reached(self) -> SendStage:
        """The `SendStage` value of an attempt that ends now, without a complete response."""
        return _REACHED[self.stage]
