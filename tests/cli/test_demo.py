"""`gateway-async demo`: the story is told to its end, or the chapter that failed is named."""

import io
import re
import signal
from inspect import getsource

import pytest
from rich.console import Console

from gateway_async.cli import snippets
from gateway_async.cli.stage import DemoStage, NotAsToldError, sparkline

from .processes import Ended, Process, Start, run, run_python

CHAPTERS = [
    "A gateway of your own",
    "A card is stored from a terminal",
    "A sale waits, other calls go on",
    "A decline is a result",
    "A lost answer is looked up",
    "An invoice is paid in part",
    "The batch settles",
    "10,000 vaults are walked",
]
NOBODY_MAY_LISTEN = """
import errno, sys
from gateway_async.cli import main

def refuse(event, arguments):
    if event == "socket.bind":
        raise PermissionError(errno.EACCES, "nobody may listen")

sys.addaudithook(refuse)
sys.argv = ["gateway-async", "demo"]
main()
"""


def line_with(words: str, process: Process) -> str:
    """The next line of a command's output that has these words."""
    assert process.stdout
    return next(line for line in process.stdout if words in line)


@pytest.fixture(scope="module")
def told() -> Ended:
    """The demo, run once, with its output piped."""
    return run("demo")


def test_demo_ends_well(told: Ended) -> None:
    """The demo ends with status 0, a summary of all chapters, and not a word on standard error."""
    _, _, summary = told.stdout.partition("Summary")
    assert (told.returncode, told.stderr) == (0, "")
    assert [title for title in CHAPTERS if title in summary] == CHAPTERS


def test_demo_without_a_terminal(told: Ended) -> None:
    """Where there is no terminal there are plain lines of 80 columns at most: no control character, no spinner."""
    lines = told.stdout.splitlines()
    assert [line for line in lines if not line.isprintable() or len(line) > 80] == []
    assert "other calls are done" not in told.stdout


def test_demo_shows_what_it_runs(told: Ended) -> None:
    """Every line of code that is shown stands in the snippets that were run."""
    story, _, _ = told.stdout.partition("Summary")
    shown = [line.strip() for line in story.splitlines() if line.startswith("    ")]
    source = getsource(snippets)
    assert "visas += 1" in shown
    assert [line for line in shown if line not in source] == []


def test_demo_shows_no_card_number(told: Ended) -> None:
    """No card number is shown, nor anything like one."""
    assert re.findall(r"\b\d{13,19}\b", told.stdout) == []


def test_demo_on_a_machine_where_nobody_may_listen() -> None:
    """When something fails, one line names the chapter and the reason; the status is 1."""
    ended = run_python("-c", NOBODY_MAY_LISTEN)
    (line,) = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert line.startswith("gateway-async: the demo failed in chapter 1, 'A gateway of your own': ")
    assert line.endswith("nobody may listen")


def test_demo_and_ctrl_c(start: Start) -> None:
    """Ctrl-C ends the demo with status 130 and without a traceback, though a terminal waits."""
    process = start("demo")
    assert line_with("get(vault.id)", process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "")


def test_demo_in_ascii(start: Start) -> None:
    """Where a tick cannot be encoded it is a question mark, and the demo goes on."""
    process = start("demo", PYTHONIOENCODING="ascii")
    assert line_with("it answers at", process).startswith("  ? it answers at http://127.0.0.1:")


def test_claim_that_is_not_so() -> None:
    """The demo does not say what the run has not shown."""
    shown = io.StringIO()
    stage = DemoStage(Console(file=shown))
    with pytest.raises(NotAsToldError, match="it is not so that the sale is approved"):
        stage.claim("the sale is approved", holds=False)
    assert shown.getvalue() == ""


def test_waiting_on_a_terminal() -> None:
    """On a terminal there is a live line, which is gone when the waiting is over."""
    shown = io.StringIO()
    stage = DemoStage(Console(file=shown, force_terminal=True, width=80))
    with stage.waiting(lambda: "the customer looks for the card"):
        pass
    assert "the customer looks for the card" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K")


def test_sparkline() -> None:
    """A sparkline has a bar for each value, the tallest for the greatest."""
    assert sparkline([0, 3.5, 7]) == "▁▅█"


def test_excerpt() -> None:
    """What is shown of a snippet is its body, without docstring and `return`."""
    lines = snippets.excerpt(snippets.charge).splitlines()
    assert (lines[0], lines[-1]) == ("sale = await gateway.transactions.create(", ")")
