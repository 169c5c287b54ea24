"""A process that has loaded Python and the package once, and forks for each program that a test starts.

Starting Python takes half a second of processor time, forking a few milliseconds. A forked process is a child of the
test's process, like any that it starts itself, and ends like every Python: with its exit functions, its warnings and
its exit status. A shell of a test starts programs too: by a command (`forked_command.py`) that stands for the program.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
_SET_CHILD_SUBREAPER: Final = 36
_LONGEST_MESSAGE: Final = 1 << 17


class ForkServer:
    """The server of this process; it starts with the first program, and ends with this process.

    Args:
        environment: the variables of the server.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def fork(
        self,
        arguments: Sequence[str],
        streams: Sequence[int],
        environment: Mapping[str, str],
        *,
        modules: Sequence[str],
        session: bool,
        closed: Sequence[int],
    ) -> int:
        """Run `python -W default` with arguments in a forked process, and return its process id.

        Args:
            arguments: `-m`, a module and its arguments; the path of a program and its arguments; or `module:function`
                and its arguments in JSON.
            streams: the descriptors of its standard input, output and error.
            environment: all its variables.
            modules: the server imports them before it forks. The process imports all others itself.
            session: whether it leads a session of its own.
            closed: the numbers of standard streams that it finds closed, as after `>&-` in a shell.
        """
        request: dict[str, Any] = {"arguments": arguments, "environment": dict(environment), "folder": str(Path.cwd())}
        request |= {"session": session, "closed": closed}
        socket.send_fds(self.connection, [json.dumps([modules, request]).encode()], streams)
        return int(self.connection.recv(_LONGEST_MESSAGE))

    @cached_property
    def connection(self) -> socket.socket:
        """The socket of all requests. A shell inherits it for its commands."""
        # A process whose parent has ended becomes a child of the nearest subreaper: of this process.
        if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-W", "default", "-m", __name__, str(theirs.fileno())]
            process = subprocess.Popen(  # noqa: S603  this file
                command, env=self._environment, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        process.returncode = 0  # it ends after this process, which cannot wait for it
        atexit.register(ours.close)
        return ours


def _serve(connection: socket.socket) -> dict[str, Any]:
    """Fork for each request; return the request in the forked process only."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, _LONGEST_MESSAGE, 4)
        if not message:
            os._exit(0)
        request: dict[str, Any]
        modules, request = json.loads(message)
        for module in modules:
            import_module(module)
        gc.freeze()
        streams, command = descriptors[:3], descriptors[3:]
        is_forked = _fork_supervised(streams, *command) if command else _fork_orphan(connection)
        if is_forked:
            for number, descriptor in enumerate(streams):
                os.dup2(descriptor, number)
        for descriptor in descriptors:
            os.close(descriptor)
        if is_forked:
            connection.close()
            return request


def _fork_orphan(connection: socket.socket) -> bool:
    """Fork a process that becomes a child of the test's process, and send its process id; return True in it."""
    read, write = os.pipe()
    between = os.fork()
    child = os.fork() if not between else -1
    if between:
        os.waitpid(between, 0)
        connection.send(os.read(read, _LONGEST_MESSAGE))
    elif child:
        os.write(write, str(child).encode())
        os._exit(0)
    os.close(read)
    os.close(write)
    return not child


def _fork_supervised(streams: Sequence[int], command: int) -> bool:
    """Fork a process for the command of a shell; return True in it.

    Its parent sends its process id and its wait status to the command, and kills it when the command is killed.
    """
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:  # the parents of earlier ones
            pass
    if os.fork():
        return False
    child = os.fork()
    if not child:
        return True
    for descriptor in streams:
        os.close(descriptor)  # a pipe ends with the process
    with socket.socket(fileno=command) as shell, suppress(BrokenPipeError):
        shell.send(str(child).encode())
        ended = os.pidfd_open(child)
        if ended not in select.select([ended, shell.fileno()], [], [])[0]:
            os.kill(child, signal.SIGKILL)
        shell.send(str(os.waitpid(child, 0)[1]).encode())
    os._exit(0)


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: str, *, session: bool, closed: Sequence[int]
) -> None:
    if session:
        os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, encoding="utf-8", closefd=False),
        os.fdopen(1, "w", 1 if os.environ.get("PYTHONUNBUFFERED") else -1, encoding="utf-8", closefd=False),
        os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False),
    )
    for number in closed:
        os.close(number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)  # as when Python starts
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        sys.path[0] = folder
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0].endswith(".py"):
        sys.argv = list(arguments)
        sys.path[0] = str(Path(arguments[0]).absolute().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        call(*arguments)


def call(function: str, *arguments: str) -> None:
    """Call `module:function` with arguments in JSON."""
    module, name = function.split(":")
    getattr(import_module(module), name)(*map(json.loads, arguments))


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        _run(**_serve(socket.socket(fileno=int(sys.argv[1]))))
    else:
        call(*sys.argv[1:])
