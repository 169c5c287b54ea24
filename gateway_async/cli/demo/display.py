"""The output of the demo: text with code for people, or one JSON object for each chapter."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from textwrap import fill, indent
from time import perf_counter
from typing import Any, Final

import attrs
from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from gateway_async.cli.demo.programs import excerpt
from gateway_async.cli.output import print_json

_BARS: Final = "▁▂▃▄▅▆▇█"
_PYTHON: Final = Syntax("", "python", theme="ansi_dark", background_color="default")


@attrs.define
class Chapter:
    """A chapter of the demo.

    Attributes:
        statements: what the chapter has shown to be true.
        result: the result, for the summary.
    """

    title: str
    began: float
    statements: list[str] = attrs.field(factory=list)
    result: str = ""
    seconds: float = 0.0


class Display:
    """Shows a demo while it runs: here nothing."""

    def open(self, number: int, chapter: Chapter, program: Callable[..., Any]) -> None:
        """Show the beginning of a chapter, and its code."""

    def show(self, statement: str) -> None:
        """Show a statement that is true."""

    def waiting(self, text: Callable[[], str]) -> AbstractContextManager[object]:  # noqa: ARG002  for subclasses
        """Show `text()` while the body of a `with` block runs."""
        return nullcontext()

    def close(self, number: int, chapter: Chapter) -> None:
        """Show the end of a chapter."""

    def summarize(self, chapters: Sequence[Chapter], advice: Mapping[str, str]) -> None:
        """Show all chapters, and the next commands to try."""


class JsonLinesDisplay(Display):
    """Prints one JSON object for each chapter, and one at the end."""

    def close(self, number: int, chapter: Chapter) -> None:
        """Print a chapter."""
        values = attrs.asdict(chapter, filter=attrs.filters.exclude("began"))
        values["seconds"] = round(chapter.seconds, 3)
        print_json([{"event": "chapter", "number": number, **values}])

    def summarize(self, chapters: Sequence[Chapter], advice: Mapping[str, str]) -> None:
        """Print the number of chapters and the total time."""
        seconds = round(sum(chapter.seconds for chapter in chapters), 3)
        print_json([{"event": "end", "chapters": len(chapters), "seconds": seconds, "next": [*advice]}])


class TextDisplay(Display):
    """Prints text for people.

    Without a terminal, everything is printed as plain lines, without the live line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console

    def open(self, number: int, chapter: Chapter, program: Callable[..., Any]) -> None:
        """Print the title, the introduction and the code of a chapter."""
        self._print_headline(f"{number}  {chapter.title}")
        self._console.print(Text(self._wrap(inspect.getdoc(program) or "", "  ")))
        self._console.print()
        self._console.print(_PYTHON.highlight(indent(excerpt(program), "    ")))

    def show(self, statement: str) -> None:
        """Print a statement with a tick."""
        self._console.print(Text.assemble(("  ✓ ", "bold green"), self._wrap(statement, "    ").lstrip()))

    @contextmanager
    def waiting(self, text: Callable[[], str]) -> Iterator[None]:
        """Show the elapsed seconds and `text()` while the body runs."""
        spinner, began = Spinner("dots", style="yellow"), perf_counter()

        def line() -> RenderableType:
            spinner.update(text=Text(f"{perf_counter() - began:.1f} s  {text()}", style="yellow"))
            return Padding(spinner, (0, 2))

        with Live(get_renderable=line, console=self._console, transient=True, refresh_per_second=10):
            yield

    def summarize(self, chapters: Sequence[Chapter], advice: Mapping[str, str]) -> None:
        """Print a table of all chapters, and the next commands to try."""
        table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
        table.add_column("", justify="right", style="cyan")
        table.add_column("chapter", footer="total")
        table.add_column("result", style="green")
        table.add_column("seconds", justify="right", footer=f"{sum(each.seconds for each in chapters):.2f}")
        for number, chapter in enumerate(chapters, 1):
            table.add_row(str(number), chapter.title, chapter.result, f"{chapter.seconds:.2f}")
        self._print_headline("Summary")
        self._console.print(Padding(table, (0, 1), expand=False))
        width = max(map(len, advice))
        for command, purpose in advice.items():
            line = Text.assemble("  ", (f"{command:{width}}", "bold cyan"), f"  {purpose}")
            self._console.print(line, soft_wrap=True)

    def _print_headline(self, text: str) -> None:
        self._console.print()
        self._console.rule(Text(text, style="bold cyan"), align="left", style="cyan")

    def _wrap(self, text: str, margin: str) -> str:
        return fill(text, self._console.width - 1, initial_indent=margin, subsequent_indent=margin)


def sparkline(values: Sequence[float]) -> str:
    """Draw a bar for each value, with the tallest for the greatest."""
    top = max(values)
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)
