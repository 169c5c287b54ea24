"""`gateway-async demo`: it runs to its end, or names the chapter that failed."""

import errno
import io
import json
import re
import signal
import socket
from contextlib import redirect_stdout
from inspect import getsource

import pytest
from rich.console import Console

from gateway_async.cli.demo import Demo, DemoError, chapters
from gateway_async.cli.demo.display import Chapter, Display, sparkline
from tests.support import in_process
from tests.support.processes import PYTHON, Ended, Process, Start, run
from tests.support.waiting import PATIENCE

CHAPTERS = [
    "A gateway of your own",
    "A card is stored from a terminal",
    "A sale waits, other calls go on",
    "A decline is a result",
    "A lost response is looked up",
    "A part of a sale is refunded",
    "An invoice is paid in part",
    "The batch settles",
    "Postbacks are received",
    "A killed process loses nothing",
    "10,000 vaults are listed",
    "1,000 cards are migrated",
]


def line_with(words: str, process: Process) -> str:
    assert process.stdout
    return next(line for line in process.stdout if words in line)


@pytest.fixture(scope="module")
def ended() -> Ended:
    """The demo, run once, with its output piped."""
    return run("demo")


def test_demo_ends_well(ended: Ended) -> None:
    """The demo ends with status 0, a summary of all chapters, and not a word on standard error."""
    _, _, summary = ended.stdout.partition("Summary")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [title for title in CHAPTERS if title in summary] == CHAPTERS


def test_demo_as_json() -> None:
    """With `--json` each chapter is an object with its statements, and the last one has the number of chapters."""
    ended = run("demo", "--json")
    *chapters, end = map(json.loads, ended.stdout.splitlines())
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [chapter["title"] for chapter in chapters] == CHAPTERS
    assert all(chapter["statements"] and chapter["result"] for chapter in chapters)
    assert (end["event"], end["chapters"]) == ("end", len(CHAPTERS))


def test_next_commands(ended: Ended) -> None:
    """The next commands to try can be copied, also without the command on the path."""
    _, _, summary = ended.stdout.partition("Summary")
    assert f"{PYTHON} -m gateway_async sandbox" in summary


def test_piped_output(ended: Ended) -> None:
    """Without a terminal, the output is plain lines of at most 80 columns, without control characters or a spinner."""
    story, _, _ = ended.stdout.partition("  README.md")
    lines = [line for line in story.splitlines() if " -m gateway_async " not in line]  # commands to copy are not broken
    assert [line for line in lines if not line.isprintable() or len(line) > 80] == []
    assert "other calls are done" not in ended.stdout


def test_every_line_of_code_that_is_shown_was_run(ended: Ended) -> None:
    story, _, _ = ended.stdout.partition("Summary")
    shown = [line.strip() for line in story.splitlines() if line.startswith("    ")]
    source = getsource(chapters)
    assert "print(vault.last_four)" in shown
    assert [line for line in shown if line not in source] == []


def test_the_demo_shows_nothing_like_a_card_number(ended: Ended) -> None:
    assert re.findall(r"\b\d{13,19}\b", ended.stdout) == []


def test_failed_chapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """When something fails, one line names the chapter and the reason; the status is 1."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "listening is forbidden")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    ended = in_process.run("demo")
    (line,) = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert line.startswith("gateway-async: the demo failed in chapter 1, 'A gateway of your own': ")
    assert line.endswith("listening is forbidden")


def test_ctrl_c(start: Start) -> None:
    """Ctrl-C ends the demo with status 130 and without a traceback, though a terminal waits."""
    process = start("demo")
    assert line_with("router_transactions.create(sale)", process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (130, "")


def test_demo_in_ascii(start: Start) -> None:
    """Where a tick cannot be encoded it is a question mark, and the demo goes on."""
    process = start("demo", PYTHONIOENCODING="ascii")
    assert line_with("it responds at", process).startswith("  ? it responds at http://127.0.0.1:")


def test_the_demo_does_not_say_what_the_run_has_not_shown() -> None:
    shown = io.StringIO()
    demo = Demo(Display(Console(file=shown)), print)
    with pytest.raises(DemoError, match="not true: the sale is approved"):
        demo.check("the sale is approved", holds=False)
    assert shown.getvalue() == ""


def test_live_line() -> None:
    """On a terminal there is a live line, which takes nothing that a program prints, and is gone after the wait."""
    shown, printed = io.StringIO(), io.StringIO()
    display = Display(Console(file=shown, force_terminal=True, width=80))
    with redirect_stdout(printed):
        display.wait(lambda: "the customer looks for the card")
        print("False 2")  # noqa: T201  as a program does
        display.stop_waiting()
    assert printed.getvalue() == "False 2\n"
    assert "the customer looks for the card" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K")


def test_sparkline() -> None:
    """A sparkline has a bar for each value, the tallest for the greatest."""
    assert sparkline([0, 3.5, 7]) == "▁▅█"


def test_excerpt() -> None:
    """A chapter shows what of its function does not name the demo."""
    chapter = Chapter.of(chapters.decline)
    lines = chapter.code.splitlines()
    assert chapter.title == "A decline is a result"
    assert chapter.introduction.startswith("The card's issuer declines.")
    assert (lines[0], lines[-1]) == ("sale = TransactionCreate(", "payment = await gateway.transactions.create(sale)")
