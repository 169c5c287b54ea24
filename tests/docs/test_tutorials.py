"""Each tutorial works as it is printed: its files are saved and its commands run, in order, in one shell."""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Any
from urllib.request import urlopen

import anyio
import pytest

from gateway_async.cli.output import ExitStatus
from tests.support.processes import start_function
from tests.support.waiting import until

from .documents import DOCUMENTS, ROOT, Block, all_blocks, blocks
from .shell_scene import bare_environment
from .shell_session import Command, Server, ShellSession, commands
from .walkthrough import Step, Walkthrough, file_of, is_shown, steps

TUTORIALS = [page for page in DOCUMENTS if page.startswith("docs/tutorials/") and not page.endswith("index.md")]
MAX_COLUMNS = 70
PAUSE = 0.5
"""Seconds between two questions to the sandbox."""

STATUSES: Mapping[str, tuple[int, ...]] = {
    "curl -m ": (28,),  # timed out
    "cat cards.journal ": (1,),  # grep finds nothing
    "gateway-async migrate cards.csv --plan": (ExitStatus.WRONG_USAGE,),
    "gateway-async migrate cards.csv --columns cards.toml --encoding cp1252 --max-rows": (ExitStatus.STOPPED,),
    "gateway-async migrate cards.csv --columns cards.toml --encoding cp1252 --rate": (0,),  # in the background
    "gateway-async migrate ": (0, ExitStatus.ATTENTION),
    "gateway-async ledger payments.db | wc": (0,),
    "gateway-async ledger payments.db": (ExitStatus.ATTENTION,),
}
"""The exit statuses of commands, by their beginning, where 0 is not the only one."""


WAITING: Mapping[str, str] = {"python sale.py": "at the terminal"}
"""Programs that wait for a customer, and what they print then."""


def control(walk: Walkthrough, path: str) -> Any:
    """Ask the sandbox of a tutorial."""
    with urlopen(f"http://127.0.0.1:{walk.ports['8080']}/_sandbox/{path}", timeout=10) as response:
        return json.load(response)


def until_charged(walk: Walkthrough) -> None:
    """Wait until the sale of the killed service is executed."""
    anyio.run(until, lambda: "1002-1" in control(walk, "ledger")["charged"], PAUSE)


def until_stored(walk: Walkthrough) -> None:
    """Wait until the migration that is killed has stored some of its rows."""
    anyio.run(until, lambda: len(control(walk, "ledger")["stored"]) > 100, PAUSE)


def until_waiting(walk: Walkthrough) -> None:
    """Wait until a customer is at each terminal that has got a sale: at the only one, or at the 500 tills."""

    def all_wait() -> bool:
        terminals = control(walk, "terminals")["terminals"]
        return sum(bool(terminal["waiting"]) for terminal in terminals) == max(1, len(terminals) - 1)

    anyio.run(until, all_wait, PAUSE)


WAITS: Mapping[str, Mapping[str, Callable[[Walkthrough], object]]] = {
    "docs/tutorials/checkout.md": {"kill -9 PID": until_charged},
    "docs/tutorials/point-of-sale.md": {"kill -9 PID": until_waiting},
    "docs/tutorials/migration.md": {"kill -9 $!": until_stored},
}
"""Waits before a command: a reader takes longer than the tests."""


@pytest.fixture
def walk(page: str, tmp_path: Path) -> Iterator[Walkthrough]:
    """Open a shell in an empty folder, and end all of its processes afterwards."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / "home/.curlrc").write_text("no-progress-meter\n")  # as on a terminal
    variables = bare_environment(tmp_path) | {"PYTHONUNBUFFERED": "1"}  # as on a terminal
    shell = ShellSession(tmp_path, variables)
    try:
        yield Walkthrough(shell, STATUSES, WAITING, WAITS.get(page, {}))
    finally:
        shell.close()


@pytest.mark.skipif(not which("curl"), reason="install curl")
@pytest.mark.timeout(600)  # a busy machine takes ten times as long
@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_works(walk: Walkthrough, page: str) -> None:
    """Every file is saved, every command ends as it should, and prints what the page shows."""
    for step in steps(page):
        if not is_installation(step):
            walk.take(step)


def is_installation(step: Step) -> bool:
    """Return whether a step is one of the installation page, whose test runs it. A tutorial adds names of packages."""
    installation, *_ = blocks("docs/start/installation.md", "console")
    texts = tuple(command.text for command in commands(installation))
    return isinstance(step, Command) and step.text.startswith(texts)


@pytest.mark.parametrize("text", ["false", "echo paid\ndeclined", "kill -9 $!", "python -c 'raise OSError' || true"])
@pytest.mark.parametrize("page", ["page.md"])
def test_wrong_command(walk: Walkthrough, text: str) -> None:
    """A command fails the test if it ends badly, prints something else or shows a traceback."""
    (command,) = commands(Block("page.md", "Page", 1, "console", f"$ {text}\n"))
    with pytest.raises(AssertionError):
        walk.take(command)


def serve_until_killed(folder: str) -> None:
    """Start a server in a shell, and print its process id."""
    shell = ShellSession(Path(folder), os.environ)
    print(shell.serve("sleep 600", Server("", "")).process_id, flush=True)  # noqa: T201  for the test
    time.sleep(600)


def test_a_killed_session_leaves_no_server(tmp_path: Path) -> None:
    with start_function(serve_until_killed, str(tmp_path)) as session:
        command = Path(f"/proc/{session.receive()}/cmdline")
    # That of a process that has ended, and that nothing waits for, is empty.
    anyio.run(until, lambda: not (command.exists() and command.read_bytes()))


def test_shortened_output() -> None:
    """… is any text, in a line or over several; everything else has to be equal."""
    assert is_shown("export CARD=01a2\n", "export CARD=…\n")
    assert is_shown("a\nb\nc\nd\n", "a\n…\nd\n")
    assert not is_shown("charged: 2\n", "charged: 1\n")
    assert not is_shown("charged: 1\nand again\n", "charged: 1\n")
    assert not is_shown("", "charged: 1\n")


def test_last_version() -> None:
    """The last version of a file on a page is the program in examples/ that has its name."""
    saved = {file_of(block): (page, block.text) for page in TUTORIALS for block in all_blocks(page)}
    ends = {name: end for name, end in saved.items() if (ROOT / "examples" / name).is_file()}
    assert {page for page, _ in ends.values()} == {*TUTORIALS}
    for name, (_, text) in ends.items():
        assert text == (ROOT / "examples" / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("page", TUTORIALS)
def test_width(page: str) -> None:
    """Programs and commands have 70 columns at most; only output may be wider."""
    programs = [line for block in all_blocks(page) if file_of(block) for line in block.text.splitlines()]
    consoles = "".join(block.text for block in blocks(page, "console"))
    typed = re.findall(r"^\$ (?:.*\\\n)*.*$", consoles, re.MULTILINE)
    lines = [*programs, *"\n".join(typed).splitlines()]
    assert [line for line in lines if len(line) > MAX_COLUMNS] == []
