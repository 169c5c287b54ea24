"""How far a request got: what decides whether a call that failed may be repeated.

The sender puts a fresh `Progress` under `PROGRESS` into the extensions of every attempt that must know; the
transport keeps it true. The law: the stage says that bytes may have left *before* any can, so that it may claim
too much and never too little.
"""

import enum
from collections.abc import Awaitable, Callable
from typing import Final

from gateway_async.errors import Reached

__all__ = ["PROGRESS", "Progress", "Stage"]

PROGRESS: Final = "gateway_async.progress"
"""The request extension that holds a `Progress`."""


class Stage(enum.IntEnum):
    """How far one attempt of a request got, in the order of its life."""

    UNREPORTED = 0
    """The transport does not say: treat it as sent."""
    QUEUED = 1
    """Waiting for a free place among the connections."""
    CONNECTING = 2
    """Finding, opening or securing a connection; nothing of the request is written."""
    SENDING = 3
    """The first byte may have left."""
    ANSWERED = 4
    """The head of the answer was read."""


_REACHED: Final = {
    Stage.UNREPORTED: Reached.SENT,
    Stage.QUEUED: Reached.NOT_CONNECTED,
    Stage.CONNECTING: Reached.NOTHING_WRITTEN,
    Stage.SENDING: Reached.SENT,
    Stage.ANSWERED: Reached.ANSWER_CUT,
}
"""How far a request got that ended in this stage."""


async def _discard_nothing() -> None:
    """Stand in while there is no connection to drop."""


class Progress:
    """How far one attempt got, and a way to drop the connection that its answer came on."""

    __slots__ = ("discard", "stage")

    stage: Stage
    """Stays `Stage.UNREPORTED` under a transport that does not report."""

    discard: Callable[[], Awaitable[None]]
    """Await it to close that connection for good, when the answer turns out to belong to another question.

    Harmless at any time and more than once, bounded, and not stopped by cancellation. It does nothing while
    there is no connection, and under a transport that does not report.
    """

    def __init__(self) -> None:
        self.stage = Stage.UNREPORTED
        self.discard = _discard_nothing

    @property
    def may_have_left(self) -> bool:
        """Whether the gateway may have seen the request: true unless it provably has not."""
        return self.stage not in (Stage.QUEUED, Stage.CONNECTING)

    @property
    def reached(self) -> Reached:
        """How far an attempt got that ends now, without a whole answer."""
        return _REACHED[self.stage]
