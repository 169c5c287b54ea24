"""Processes of tests: start one, wait for what it prints, stop or kill it, and collect its output.

`gateway-async` and functions of tests are forked from a server (`fork_server.py`). What depends on how Python starts,
such as a program's imports, takes `start_python`.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.fork_server import ROOT, ForkServer
from tests.support.waiting import PATIENCE

if sys.platform == "win32":
    pytest.skip("processes of tests are forked", allow_module_level=True)
else:
    import pty

COMMAND = ("-W", "default", "-m", "gateway_async.cli")
"""With warnings shown, so that a socket left open is seen on standard error."""

PYTHON = Path(sys.executable).name
"""The name of this Python, such as `python` or `python3.11`."""

_COLORED = {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in _COLORED}
ENVIRONMENT |= {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}

Ended = subprocess.CompletedProcess[str]
Facts = dict[str, Any]


class Process(subprocess.Popen[str]):
    """A process with its output in pipes. It is killed at the end of a `with` block."""

    def __init__(self, arguments: Sequence[str], **options: Any) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; children inherit it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
        super().__init__(arguments, **pipes | options)

    def __exit__(self, *error: Any) -> None:  # noqa: PYI036  as Popen has it
        self.kill()
        super().__exit__(*error)

    def wait_for(self, text: str) -> str:
        """Return the next line of output that contains a text.

        Raises:
            AssertionError: the process has closed its output. The message is what it wrote to standard error.
        """
        assert self.stdout
        for line in self.stdout:
            if text in line:
                return line
        raise AssertionError(self.communicate(timeout=PATIENCE)[1])

    def events(self) -> Iterator[Facts]:
        """Yield the objects that it prints, one in each line."""
        assert self.stdout
        return map(json.loads, self.stdout)

    def receive(self) -> Any:
        """Wait for an object that it prints in a line."""
        return json.loads(self.wait_for(""))

    def crash(self) -> bool:
        """Kill it (SIGKILL), and return whether it was still running."""
        was_running = self.poll() is None
        with self:
            return was_running

    def collect(self, given: str | None = None, timeout: float | None = PATIENCE) -> Ended:
        """Write to its standard input, wait for its end, and return its exit status and the rest of its output."""
        output, errors = self.communicate(given, timeout=timeout)
        return subprocess.CompletedProcess(self.args, self.returncode, output, errors)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Send it a signal and wait for its end; return its exit status and the rest of its output and errors."""
        self.send_signal(number)
        ended = self.collect()
        return ended.returncode, ended.stdout, ended.stderr


class ForkedProcess(Process):
    """A process of the fork server, which imports `modules` once. It finds the standard streams `closed` closed."""

    def __init__(
        self, arguments: Sequence[str], modules: Sequence[str], closed: Sequence[int] = (), **options: Any
    ) -> None:
        self._modules = modules
        self._closed = closed
        super().__init__(arguments, **options)

    def _execute_child(self, *options: Any) -> None:
        """Fork in the place of Popen, which then has the process id as if it had started the process."""
        arguments, _, _, _, _, _, environment, _, _, _, *pipes, _, _, _, _, _, session, _ = options
        streams = [own if own != -1 else number for number, own in enumerate((pipes[0], pipes[3], pipes[5]))]
        try:
            self.pid = _FORK_SERVER.fork(
                arguments, streams, environment, modules=self._modules, session=session, closed=self._closed
            )
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


_FORK_SERVER: Final = ForkServer(ENVIRONMENT)
_CAN_FORK: Final = sys.platform == "linux"
_FORKED_COMMAND: Final = Path(__file__).with_name("forked_command.py").read_text(encoding="utf-8")
_OF_COMMAND: Final = [
    *("pydantic.fields", "pydantic.type_adapter", "anyio._backends._asyncio", "uvicorn.lifespan.off", "encodings.idna"),
    *(f"gateway_async.cli.{name}" for name in ("app", "check", "demo", "inbox", "ledger", "listen", "records")),
    *(f"gateway_async.cli.{name}" for name in ("sandbox", "trigger")),
    *(f"gateway_async.cli.migrate.{name}" for name in ("journal", "run", "verify")),
]
"""What a command imports, some of it only when it runs."""


def start(*arguments: str, **environment: str) -> Process:
    """Start `gateway-async`; the caller ends it."""
    return start_command(arguments, environment)


def start_command(arguments: Sequence[str], environment: Mapping[str, str], **options: Any) -> Process:
    """Start `gateway-async` with options of `Popen`; the caller ends it."""
    return start_program(["-m", "gateway_async.cli", *arguments], environment, _OF_COMMAND, **options)


def start_program(
    arguments: Sequence[str], environment: Mapping[str, str], modules: Sequence[str] = (), **options: Any
) -> Process:
    """Start `python -W default` with arguments, forked unless a variable changes how Python starts.

    The server imports `modules` before it forks. The caller ends the process.
    """
    options["env"] = {**ENVIRONMENT, **environment}
    if _CAN_FORK and not any(name.startswith("PYTHON") for name in environment if name != "PYTHONUNBUFFERED"):
        return ForkedProcess(arguments, modules, **options)
    return Process([sys.executable, "-W", "default", *arguments], **options)


def start_function(
    function: Callable[..., object], *arguments: Any, modules: Sequence[str] = (), **options: Any
) -> Process:
    """Start a function with arguments for JSON and options of `Popen`; the server imports `modules` before it forks."""
    words = [f"{function.__module__}:{function.__qualname__}", *map(json.dumps, arguments)]
    options.setdefault("env", ENVIRONMENT)
    if _CAN_FORK:
        return ForkedProcess(words, [function.__module__, *modules], **options)
    return Process([sys.executable, "-m", "tests.support.fork_server", *words], cwd=ROOT, **options)


def write_forked_commands(folder: Path) -> Sequence[int]:
    """Write commands for the PATH of a shell, which has to inherit the descriptors that this function returns."""
    if not _CAN_FORK:
        return []
    descriptor = _FORK_SERVER.connection.fileno()
    for name, start in {"gateway-async": COMMAND[2:], "python": (), "uvicorn": ("-m", "uvicorn")}.items():
        modules = ["uvicorn", "fastapi"] if name == "uvicorn" else _OF_COMMAND
        call = f"run({descriptor}, {[*start]}, {modules})\n"
        (folder / name).write_text(f"#!{sys.executable} -ISE\n{_FORKED_COMMAND}{call}", encoding="utf-8")
        (folder / name).chmod(0o755)
    return [descriptor]


def start_python(*arguments: str, **environment: str) -> Process:
    """Start this Python with its output in pipes; the caller ends it."""
    return Process([sys.executable, *arguments], env=ENVIRONMENT | environment)


def run_python(*arguments: str, **environment: str) -> Ended:
    """Run this Python to its end, or kill it after 50 seconds."""
    with start_python(*arguments, **environment) as process:
        return process.collect()


def run(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end."""
    with start(*arguments, **environment) as process:
        return process.collect()


def run_on_terminal(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end on a terminal; standard error goes there too. Colors are removed."""
    ended = run_on_color_terminal(*arguments, **environment)
    ended.stdout = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", ended.stdout)
    return ended


def run_on_color_terminal(*arguments: str, **environment: str) -> Ended:
    """Run `gateway-async` to its end on a terminal, and keep the codes for colors and the cursor."""
    leader, follower = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), follower)
    with start_command(arguments, {"TERM": "xterm", **environment}, start_new_session=True, **streams) as process:
        os.close(follower)
        shown = b"".join(iter(lambda: _read(leader), b""))
        os.close(leader)
        process.wait(PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, shown.decode().replace("\r\n", "\n"), "")


def _read(descriptor: int) -> bytes:
    """Read from a terminal; its end is an error on Linux."""
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


Start = Callable[..., Process]
Serve = Callable[..., tuple[Process, Facts]]
Listen = Callable[..., tuple[Process, str]]
