"""`ExitStatus`: the exit statuses of all commands."""

from enum import IntEnum

__all__ = ["ExitStatus"]


class ExitStatus(IntEnum):
    """The exit statuses; the first that applies is used. Ctrl-C exits with 130, SIGTERM with 143.

    A command that only reads exits with 141 if the reader of its output has left, and otherwise with 1.
    """

    DONE = 0
    """Done, and nothing is left to do."""
    FAILED = 1
    """The gateway or a file does not respond, refuses, or cannot be used."""
    WRONG_USAGE = 2
    """An option, a variable or a field is wrong. Nothing was sent."""
    ATTENTION = 3
    """Done, and something needs attention: a decline, open calls, dead postbacks, rejected rows, differences."""
    UNKNOWN = 4
    """A write may have been executed, and no lookup found it. Repeat it only under the same integrator id."""
    STOPPED = 5
    """A migration stopped at a limit that you set."""
    OUTPUT_LOST = 6
    """Done, but standard output could not be written. Standard error names what was done."""
