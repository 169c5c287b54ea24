"""The output of the demo for people: text with code, a live line on a terminal, and a summary."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from textwrap import dedent, fill, indent
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

_BARS: Final = "▁▂▃▄▅▆▇█"
_PYTHON: Final = Syntax("", "python", theme="ansi_dark", background_color="default")


@attrs.define
class Chapter:
    """A chapter of the demo.

    Attributes:
        code: its program.
        statements: what the chapter has shown to be true.
        result: the result, for the summary.
    """

    title: str
    introduction: str
    code: str
    statements: list[str] = attrs.field(factory=list)
    result: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Chapter":
        """Read a chapter's function: its docstring, and the paragraphs that do not name `demo`."""
        title, _, introduction = (inspect.getdoc(function) or "").partition("\n\n")
        _, _, body = inspect.getsource(function).split('"""')
        program = [paragraph.strip("\n") for paragraph in body.split("\n\n") if "demo" not in paragraph]
        return cls(title.rstrip("."), introduction, dedent("\n\n".join(program)))


class Display:
    """Prints the chapters of a demo."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def open(self, number: int, chapter: Chapter) -> None:
        """Print the title, the introduction and the code of a chapter."""
        self._print_headline(f"{number}  {chapter.title}")
        self._console.print(Text(self._wrap(chapter.introduction, "  ")))
        self._console.print()
        self._console.print(_PYTHON.highlight(indent(chapter.code, "    ")))

    def show(self, statement: str) -> None:
        """Print a statement with a tick."""
        self.stop_waiting()
        self._console.print(Text.assemble(("  ✓ ", "bold green"), self._wrap(statement, "    ").lstrip()))

    def wait(self, text: Callable[[], str]) -> None:
        """Show the elapsed seconds and `text()` on a terminal, until the next statement."""
        self.stop_waiting()
        spinner, began = Spinner("dots", style="yellow"), perf_counter()

        def line() -> RenderableType:
            spinner.update(text=Text(f"{perf_counter() - began:.1f} s  {text()}", style="yellow"))
            return Padding(spinner, (0, 2))

        self._live = Live(
            get_renderable=line,
            console=self._console,
            transient=True,
            refresh_per_second=10,
            redirect_stdout=False,  # the demo reads what the program prints
        )
        self._live.start()

    def stop_waiting(self) -> None:
        """Remove the live line."""
        if self._live:
            self._live.stop()
            self._live = None

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
        return fill(text, max(self._console.width - 1, 1), initial_indent=margin, subsequent_indent=margin)


def sparkline(values: Sequence[float]) -> str:
    """Draw a bar for each value, with the tallest for the greatest."""
    top = max(values)
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)
