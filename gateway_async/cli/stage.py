"""The demo's output: headlines, code, a live line during long operations, check marks and the summary.

Without a terminal it prints the same as plain lines, without the live line.
"""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

__all__ = ["DemoStage", "NotAsToldError", "sparkline"]

_BARS = "▁▂▃▄▅▆▇█"
_PYTHON = Syntax("", "python", theme="ansi_dark", background_color="default")


class NotAsToldError(Exception):
    """A statement of the demo has turned out false."""


@dataclass
class Chapter:
    """One chapter of the demo.

    Attributes:
        title: its headline.
        began: a reading of the monotonic clock.
        seconds: how long it took.
        result: its result, for the summary.
    """

    title: str
    began: float
    seconds: float = 0.0
    result: str = ""


class DemoStage:
    """Shows the chapters of a story one after the other, and keeps them for the summary."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.chapters: list[Chapter] = []

    @property
    def place(self) -> str:
        """The current position in the demo, for an error message."""
        return f"in chapter {len(self.chapters)}, {self.chapters[-1].title!r}" if self.chapters else "at its start"

    def open(self, title: str, lead: str, code: str) -> None:
        """Begin a chapter: print its title, its introduction and the code that it will run."""
        self.chapters.append(Chapter(title, perf_counter()))
        self._headline(f"{len(self.chapters)}  {title}")
        self._console.print(Text(self._wrapped(lead, indent="  ")))
        self._console.print()
        self._console.print(_PYTHON.highlight(textwrap.indent(code, "    ")))

    @contextmanager
    def waiting(self, words: Callable[[], str]) -> Iterator[None]:
        """Show the elapsed seconds and `words()` in a live line while the body runs."""
        spinner, began = Spinner("dots", style="yellow"), perf_counter()

        def line() -> RenderableType:
            spinner.update(text=Text(f"{perf_counter() - began:.1f} s  {words()}", style="yellow"))
            return Padding(spinner, (0, 2))

        with Live(get_renderable=line, console=self._console, transient=True, refresh_per_second=10):
            yield

    def claim(self, sentence: str, holds: bool) -> None:
        """Print a statement that the run has just shown to be true.

        Raises:
            NotAsToldError: `holds` is false.
        """
        if not holds:
            raise NotAsToldError(f"it is not so that {sentence}")
        self._console.print(Text.assemble(("  ✓ ", "bold green"), self._wrapped(sentence, indent="    ").lstrip()))

    def close(self, result: str) -> None:
        """End the chapter; the summary shows `result`."""
        chapter = self.chapters[-1]
        chapter.result = result
        chapter.seconds = perf_counter() - chapter.began

    def summary(self) -> None:
        """Print a table of all chapters."""
        table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
        table.add_column("", justify="right", style="cyan")
        table.add_column("chapter", footer="all of it")
        table.add_column("result", style="green")
        table.add_column("seconds", justify="right", footer=f"{sum(each.seconds for each in self.chapters):.2f}")
        for number, chapter in enumerate(self.chapters, 1):
            table.add_row(str(number), chapter.title, chapter.result, f"{chapter.seconds:.2f}")
        self._headline("Summary")
        self._console.print(Padding(table, (0, 1), expand=False))

    def after(self, commands: dict[str, str]) -> None:
        """Print the next commands to try, with the purpose of each."""
        width = max(map(len, commands))
        for command, purpose in commands.items():
            self._console.print(Text.assemble("  ", (f"{command:{width}}", "bold cyan"), f"  {purpose}"))

    def _headline(self, text: str) -> None:
        self._console.print()
        self._console.rule(Text(text, style="bold cyan"), align="left", style="cyan")

    def _wrapped(self, text: str, indent: str) -> str:
        width = self._console.width - 1
        return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)


def sparkline(values: Sequence[float]) -> str:
    """Draw a bar for each value, with the tallest for the greatest."""
    top = max(values)
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)
