"""A tutorial as its reader follows it: files are saved, commands run in order, servers run until they are stopped."""

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import attrs

from tests.support.free_port import free_port
from tests.support.waiting import until

from .documents import ROOT, Block, all_blocks
from .shell_scene import server_of, serves
from .shell_session import Command, Running, Server, ShellSession, commands

_FILE: Final = re.compile(r"\b(?:[Ss]ave|[Rr]eplace)\b.* `([\w.-]+)`[^`]*:$")
_EXPORT: Final = re.compile(r"^  (export GATEWAY_\w+=\S+)$", re.MULTILINE)
_READS: Final = re.compile(r"curl http\S+$|gateway-async (?:migrate journal|ledger \S+(?: \| wc -l)?$)")
"""Commands that only read. They are repeated until they show what happens in the background, such as a postback."""

Step = Command | Block
"""A command to run, or the block of a file to save, or of what the last server has printed since its start."""


def file_of(block: Block) -> str:
    """Return the name under which a block is to be saved; "" if its introduction does not say so."""
    found = _FILE.search(block.introduction)
    return found[1] if found else ""


def steps(document: str) -> Iterator[Step]:
    """Yield the files and the commands of a tutorial, in order.

    Raises:
        ValueError: a block is something else.
    """
    for block in all_blocks(document):
        if block.language == "console":
            yield from commands(block)
        elif file_of(block) or block.language == "text":
            yield block
        elif not block.language.startswith("{"):
            raise ValueError(f"{block}: is neither a command nor a file (expected: Save this as `name`:)")


def is_shown(output: str, shown: str) -> bool:
    """Return whether a command has printed what its page shows: … is any text, and nothing is anything."""
    if not shown:
        return True
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("…"))
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


@attrs.define
class Walkthrough:
    """A reader with a shell in an empty folder.

    Attributes:
        statuses: exit statuses other than 0, by the beginning of the command.
        waiting: programs that wait for a person, by their command, and what they print then.
        waits: what the reader waits for before a command, by its text.
        ports: the ports of the page, and those that take their place.
        servers: the running servers, by the command that started them.
        process_id: the number that the last server has printed, which the page calls PID; or that of its command.
    """

    shell: ShellSession
    statuses: Mapping[str, tuple[int, ...]] = attrs.Factory(dict)
    waiting: Mapping[str, str] = attrs.Factory(dict)
    waits: Mapping[str, Callable[["Walkthrough"], object]] = attrs.Factory(dict)
    ports: dict[str, str] = attrs.Factory(lambda: {port: str(free_port()) for port in ("8080", "8000")})
    servers: dict[str, Running] = attrs.Factory(dict)
    process_id: int = 0
    _last: Running = attrs.field(init=False)

    @property
    def folder(self) -> Path:
        """The working directory of the shell."""
        return self.shell.folder

    def take(self, step: Step) -> None:
        """Save a file, or run a command and compare its output."""
        if isinstance(step, Block) and step.language == "text":
            with suppress(TimeoutError):
                anyio.run(until, lambda: self._has_printed(step.text), 0.3)
            assert self._has_printed(step.text), self._last.output
            return
        if isinstance(step, Block):
            (self.folder / file_of(step)).write_text(self._localize(step.text), encoding="utf-8")
            return
        if wait := self.waits.get(step.text):
            wait(self)
        text = self._localize(step.text).replace("/path/to/gateway-async", str(ROOT))
        if step.text in self.waiting or serves(step.text):
            self._serve(step, text)
            return
        text = re.sub(r"\bPID\b", str(self.process_id), text)
        if killed := text.partition("kill -9 ")[2]:
            child = self._last.process_id if killed == str(self.process_id) else killed
            text += f" && {{ wait {child} || true; }}"  # or bash would report the death at any later time
        if text.endswith("&"):
            text = f"PATH=${{PATH#*:}} {text}"  # not forked: the process that is killed is the program itself
        if _READS.match(step.text):
            with suppress(TimeoutError):
                anyio.run(until, lambda: self._problem(step, text) is None, 0.3)
        problem = self._problem(step, text)
        assert problem is None, problem
        if killed == str(self.process_id):
            self._forget(self._last.process_id)

    def _has_printed(self, shown: str) -> bool:
        """Return whether the last server has printed a text."""
        return is_shown(self._globalize(self._last.output), f"…{shown.strip()}…")

    def _problem(self, step: Command, text: str) -> str | None:
        """Run a command; return what it prints and its status if the page shows something else."""
        ended = self.shell.run(text)
        expected = next((status for start, status in self.statuses.items() if step.text.startswith(start)), (0,))
        output = self._globalize(ended.output + ended.errors)
        if ended.status in expected and is_shown(output, step.output) and "Traceback" not in output:
            return None
        return f"{step.text}\n{output}\nexit status {ended.status}"

    def _serve(self, step: Command, text: str) -> None:
        """Start a server, in the place of the one that has its port."""
        name = step.text.split()[0]
        if running := self.servers.pop(name, None):
            with suppress(ProcessLookupError):  # a program that waited for a customer ends
                os.kill(running.process_id, signal.SIGTERM)  # a background process of bash ignores Ctrl-C
            self._forget(running.process_id)
        if ready := self.waiting.get(step.text):
            server = Server("", ready)
        else:
            options = f"--port {self.ports['8080']}" if name == "gateway-async" else ""
            server = attrs.evolve(server_of(step.text), options=options)
        running = self.servers[name] = self._last = self.shell.serve(text, server)
        printed = re.search(r"process:? \[?(\d+)", running.output)
        self.process_id = int(printed[1]) if printed else running.process_id
        assert is_shown(self._globalize(running.output), step.output), running.output
        for line in _EXPORT.findall(running.output):
            self.shell.run(line)

    def _forget(self, process_id: int) -> None:
        """Wait for the end of a server."""
        self.shell.run(f"wait {process_id}")
        self.shell.running[:] = [running for running in self.shell.running if running.process_id != process_id]
        self.servers = {name: each for name, each in self.servers.items() if each.process_id != process_id}

    def _localize(self, text: str) -> str:
        """Replace the ports of the page by free ones."""
        return self._replace(text, self.ports)

    def _globalize(self, text: str) -> str:
        """Replace the ports, and the id of the last server, by those of the page."""
        text = self._replace(text, {own: port for port, own in self.ports.items()})
        return re.sub(rf"(process:? \[?){self.process_id}\b", r"\1PID", text)

    @staticmethod
    def _replace(text: str, ports: Mapping[str, str]) -> str:
        for port, other in ports.items():
            text = re.sub(rf"(?<=127\.0\.0\.1:){port}\b|(?<=--port ){port}\b", other, text)
        return text
