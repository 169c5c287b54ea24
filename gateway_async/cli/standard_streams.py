"""The standard streams of the command: lost output is an error of its own, lost messages are not.

Python reports a full disk, a closed stream or a reader that has left as an `OSError`, which could also come from a file
or a socket, or only when the process ends.
"""

import errno
import io
import os
import select
import sys
from typing import Any, Final

_OUTPUT: Final = 1
_ERRORS: Final = 2


class OutputError(Exception):
    """Standard output cannot be written.

    Attributes:
        reader_left: whether it is a pipe that its reader has closed, as `| head` does.
    """

    def __init__(self, cause: OSError) -> None:
        self.reader_left = isinstance(cause, BrokenPipeError)
        reason = "it is closed" if cause.errno == errno.EBADF else cause.strerror
        super().__init__(f"standard output cannot be written: {reason}")


class _Stream(io.FileIO):
    """A stream whose writes are complete also if its file does not block.

    Output that cannot be written raises `OutputError`. Messages that cannot be written are dropped: the exit status
    still says how the command ended.
    """

    is_output = True

    def write(self, content: Any) -> int:
        try:
            while (written := super().write(content)) is None:
                select.select((), (self,), ())
        except OSError as error:
            if self.is_output:
                raise OutputError(error) from None
            return memoryview(content).nbytes
        return written


def guard_streams() -> None:
    """Replace the standard streams, also those that are closed.

    Otherwise the next file or socket would get the descriptor of a closed one. Characters that an encoding lacks become
    "?".
    """
    for number in range(_ERRORS + 1):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number; what is written to it fails
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _guarded(sys.stdout, _OUTPUT)
    sys.stderr = _guarded(sys.stderr, _ERRORS)


def flush_output() -> None:
    """Write what is left.

    Raises:
        OutputError: standard output cannot be written.
    """
    sys.stdout.flush()


def discard_output() -> None:
    """Drop what is left, and all further output."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _guarded(stream: Any, number: int) -> Any:
    is_output = number == _OUTPUT
    if stream is not None:
        if not isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
            stream.reconfigure(errors="replace")  # it is in memory, or a console of Windows
            return stream
        stream.flush()
        number = stream.fileno()
    file = _Stream(number, "w", closefd=False)
    file.is_output = is_output
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=getattr(stream, "encoding", "utf-8"),
        errors="replace",
        line_buffering=getattr(stream, "line_buffering", False),
        write_through=getattr(stream, "write_through", False),
    )
