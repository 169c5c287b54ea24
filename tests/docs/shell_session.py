"""The commands of a shell block, and the bash that runs them."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import attrs

from tests.support.processes import write_forked_commands
from tests.support.waiting import until

from .documents import Block

_LINE: Final = re.compile(r"""(?P<command>(?:'[^']*'|"[^"]*"|(?<=\S)#|[^#'"])*)(?P<comment>#.*)?""")
_ADDRESS: Final = re.compile(r"\b(?:http|tcp)://127\.0\.0\.1:\d+")


@attrs.frozen
class Command:
    """A command of a block.

    Attributes:
        text: its line, with its continuation lines and without its comment.
        output: the lines that the document shows below it.
    """

    text: str
    output: str = ""


def commands(block: Block) -> list[Command]:
    """Return the commands of a block: after `$ ` on a console, else one for each line; `# ` begins a comment.

    Raises:
        ValueError: a quotation is not closed.
    """
    prompt = "$ " if block.language == "console" else ""
    found: list[Command] = []
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.startswith("# "):
            continue
        if not line.startswith(prompt):
            found[-1] = attrs.evolve(found[-1], output=f"{found[-1].output}{line}\n")
            continue
        text = line.removeprefix(prompt)
        while text.endswith("\\"):
            text = text[:-1] + next(lines).lstrip()
        parts = _LINE.fullmatch(text)
        if parts is None:
            raise ValueError(f"{block}: cannot read {text}")
        if command := parts["command"].strip():
            found.append(Command(command))
    return found


@attrs.frozen
class Server:
    """How to run a command that serves until a signal ends it.

    Attributes:
        options: appended to the command, so that it uses a free port of 127.0.0.1.
        ready: what it prints when it serves.
        address: how the documents write its address; "" if they do not.
        workers: how many of its processes print `ready`.
        status: its exit status after SIGTERM.
    """

    options: str
    ready: str
    address: str = ""
    workers: int = 1
    status: int = 0


@attrs.frozen
class Running:
    """A server that runs.

    Attributes:
        process_id: of its first process.
        path: the file with everything that it has printed.
    """

    server: Server
    process_id: int
    path: Path

    @property
    def output(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def address(self) -> str:
        """The first address in its output; "" without one."""
        found = _ADDRESS.search(self.output)
        return found[0] if found else ""

    def is_ready(self) -> bool:
        """Return whether all of its processes serve."""
        has_address = bool(self.address) or not self.server.address
        return has_address and self.output.count(self.server.ready) >= self.server.workers

    def is_alive(self) -> bool:
        """Return whether its first process still runs."""
        return Path(f"/proc/{self.process_id}").exists()


@attrs.frozen
class Ended:
    """The result of a command."""

    status: int
    output: str
    errors: str


class ShellSession:
    """A bash in a process group of its own, which runs one command after the other.

    Args:
        folder: its working directory.
        environment: all its variables.
        forks: whether the fork server runs `gateway-async`, `uvicorn` and programs, or a Python of their own.

    Attributes:
        running: the servers that it has started, in order.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], *, forks: bool = True) -> None:
        self.folder = folder
        self.running: list[Running] = []
        self._files = folder / ".shell"
        self._files.mkdir()
        programs = self._files / "bin"
        programs.mkdir()
        self._number = 0
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-s"],  # noqa: S607  that of the machine
            cwd=folder,
            env={**environment, "PATH": f"{programs}{os.pathsep}{environment['PATH']}"},
            pass_fds=write_forked_commands(programs) if forks else (),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that `close` reaches every process that the commands have started
        )
        # If this process is killed, bash reads the end of its input: its servers end with it.
        self.run("trap 'kill -9 0' EXIT")

    def run(self, text: str, given: str = "") -> Ended:
        """Run a command to its end, with `given` on its standard input."""
        files = self._new_files(given)
        status = self._ask(f"{{ {text}\n}} <{files[0]} >{files[1]} 2>{files[2]}; echo $?")
        output, errors = (path.read_text(encoding="utf-8", errors="replace") for path in files[1:])
        return Ended(status, output, errors)

    def serve(self, text: str, server: Server) -> Running:
        files = self._new_files()
        # `exec`: the process id is that of the server, not of a bash between
        process_id = self._ask(f"{{ exec {text} {server.options}\n}} <{files[0]} >{files[1]} 2>&1 & echo $!")
        running = Running(server, process_id, files[1])
        self.running.append(running)
        anyio.run(until, lambda: running.is_ready() or not running.is_alive())
        assert running.is_alive(), running.output
        return running

    def end_servers(self) -> list[int]:
        """Send SIGTERM to the servers, the newest first, and return their exit statuses in order of their start."""
        statuses = []
        for running in reversed(self.running):
            os.kill(running.process_id, signal.SIGTERM)
            statuses.append(self._ask(f"wait {running.process_id}; echo $?"))
        return statuses[::-1]

    def close(self) -> None:
        """Kill every process that still runs."""
        with suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        with self._bash:
            pass

    def _new_files(self, given: str = "") -> list[Path]:
        """Return the files of a command's input, output and errors."""
        self._number += 1
        paths = [self._files / f"{self._number}.{name}" for name in ("input", "output", "errors")]
        paths[0].write_text(given, encoding="utf-8")
        paths[1].touch()
        return paths

    def _ask(self, script: str) -> int:
        """Let bash run a script, and return the number that it prints."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f"{script}\n")
        self._bash.stdin.flush()
        line = self._bash.stdout.readline()
        assert line.strip().isdigit(), f"bash prints {line!r} after {script}"
        return int(line)
