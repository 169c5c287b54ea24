"""Ctrl-C and SIGTERM: the first one stops the migration cleanly, the second one exits immediately.

The journal stays consistent in both cases.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["Interruption"]

_STATUS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143}
_WORDS: Final = {signal.SIGINT: "it was interrupted", signal.SIGTERM: "it was terminated"}
_STANDARD_ERROR: Final = 2
_SHOW_CURSOR: Final = b"\x1b[?25h\r\n"
_AT_ONCE: Final = b"gateway-async: ended at once; the journal knows what may be under way\n"


class Interruption:
    """Records a request of the user to stop.

    Args:
        say: shows a message to the user.

    Attributes:
        why: the reason of the stop, as text; "" without a request.
        status: the matching exit status.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self.why = ""
        self.status = 0
        self._say = say
        self._said = False

    def look(self, _report: Any = None) -> str | None:
        """Return the reason to stop, if any. The first time, tell the user that the request was received."""
        if self.why and not self._said:
            self._said = True
            self._say("Finishing what is under way … (once more ends it at once)")
        return self.why or None

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Handle both signals during the block."""
        former = {number: signal.signal(number, self._hear) for number in _STATUS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def _hear(self, number: int, _frame: Any) -> None:
        """Record the request, or exit at the second one.

        A signal handler must do no more, because the interrupted code may hold a lock or be writing.
        """
        asked = signal.Signals(number)
        if self.why:
            shown = _SHOW_CURSOR if os.isatty(_STANDARD_ERROR) else b""
            os.write(_STANDARD_ERROR, shown + _AT_ONCE)
            os._exit(_STATUS[asked])
        self.why, self.status = _WORDS[asked], _STATUS[asked]
