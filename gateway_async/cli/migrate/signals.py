"""Ctrl-C and SIGTERM: the first one stops the migration cleanly, the second one exits immediately.

The journal stays consistent in both cases.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_STATUS: Final = {signal.SIGINT: 130, signal.SIGTERM: 143}
_REASONS: Final = {signal.SIGINT: "interrupted by Ctrl-C", signal.SIGTERM: "terminated by SIGTERM"}
_STANDARD_ERROR: Final = 2
_SHOW_CURSOR: Final = b"\x1b[?25h\r\n"
_EXIT_MESSAGE: Final = b"gateway-async: exited immediately; the journal is consistent\n"


class Interruption:
    """Records a request of the user to stop.

    Args:
        print_message: shows a message to the user.

    Attributes:
        reason: the reason of the stop, as text; "" without a request.
        status: the matching exit status.
    """

    def __init__(self, print_message: Callable[[str], object]) -> None:
        self.reason = ""
        self.status = 0
        self._print_message = print_message
        self._acknowledged = False

    def check(self) -> str | None:
        """Return the reason to stop, if any. The first time, tell the user that the request was received."""
        if self.reason and not self._acknowledged:
            self._acknowledged = True
            self._print_message("Finishing the calls in progress … (press Ctrl-C again to exit immediately)")
        return self.reason or None

    def handle(self, number: int, _frame: object) -> None:
        """Record the request of a signal, or exit at the second one.

        A signal handler must do no more, because the interrupted code may hold a lock or be writing.
        """
        received = signal.Signals(number)
        if self.reason:
            prefix = _SHOW_CURSOR if os.isatty(_STANDARD_ERROR) and os.environ.get("TERM") != "dumb" else b""
            with suppress(OSError):
                os.write(_STANDARD_ERROR, prefix + _EXIT_MESSAGE)
            os._exit(_STATUS[received])
        self.reason, self.status = _REASONS[received], _STATUS[received]
