"""A command of a shell whose program runs in a process of the fork server.

It passes signals on to the program, and ends as the program ends. It starts in a fiftieth of a second, as it imports
little and leaves out the folders of packages.
"""

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from types import FrameType


def run(descriptor: int, start: list[str], modules: list[str]) -> None:
    """Run Python with the arguments `start` and those of this command.

    Args:
        descriptor: of the socket of the fork server, which imports `modules` before it forks. Without it, as in the
            program of another program, and for what the fork server cannot run, Python starts in this process.
        start: the first arguments.
        modules: what most programs import.
    """
    arguments = [*start, *sys.argv[1:]]
    try:
        server = socket.socket(fileno=descriptor)
    except OSError:
        server = None
    if server is None or not is_forkable(arguments):
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606  this Python
    command, supervisor = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109  faster
    message = json.dumps([modules, request | {"session": False, "closed": []}]).encode()
    with supervisor:
        socket.send_fds(server, [message], [0, 1, 2, supervisor.fileno()])
    process_id = int(command.recv(64))

    def pass_on(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(process_id, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a shell
            signal.signal(number, pass_on)
    status = os.waitstatus_to_exitcode(int(command.recv(64)))
    if status < 0:
        with suppress(OSError):  # nothing handles SIGKILL
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def is_forkable(arguments: list[str]) -> bool:
    """Return whether the fork server runs these arguments: a program, a module of the package, or a service."""
    match arguments:
        case [*_, "--install-completion" | "--show-completion"]:
            return False  # it looks for the shell among its parents
        case ["-m", "uvicorn", *options]:
            return "--workers" not in options  # each of them starts a Python
        case ["-m", module, *_]:
            return module.startswith("gateway_async")
        case [program, *_]:
            return program.endswith(".py")
    return False
