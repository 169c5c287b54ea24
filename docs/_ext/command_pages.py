"""Write the reference of the command line: a page for each command, grouped as its help in a terminal is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from change_notes import change_notes
from reference_examples import EXAMPLES_OF_COMMANDS, read_examples
from sphinx.application import Sphinx
from typer import Context
from typer.main import get_command

from gateway_async.cli.app import CONTEXT
from gateway_async.cli.app import app as cli
from gateway_async.cli.command import sections_of

FOLDER: Final = "reference/commands"
MAX_ROWS: Final = 15
"""A longer table, such as the fields of a resource, opens at a click."""

_PROGRAM: Final = "gateway-async"
_OPTION: Final = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|GATEWAY_[A-Z_]+\w)")
"""Options and variables: they are code in a help text, also without backticks."""


def write_pages(app: Sphinx) -> None:
    """Write the pages into the source folder, before Sphinx looks for sources."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(exist_ok=True)
    pages = dict(_pages())
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    root: Any = get_command(cli)
    settings: Any = CONTEXT
    context = Context(root, info_name=_PROGRAM, **settings)
    names = root.list_commands(context)
    pages = list(dict.fromkeys(name.split()[0] for name in names))
    yield "index", "\n".join(_index(root, context, pages))
    examples = read_examples(EXAMPLES_OF_COMMANDS).by_method
    for page in pages:
        parts = [name for name in names if name.split()[0] == page]
        texts = [
            _command(root, context, name, len(name.split()), examples) for name in parts
        ]
        yield page, "\n".join(line for text in texts for line in text)


def _index(root: Any, context: Context, pages: list[str]) -> Iterator[str]:
    yield from ("# Commands and options", "", *_paragraphs(root.help))
    for title, rows in sections_of(root, context).items():
        yield from (f"## {title}", "", *_table(rows, links=title == "Commands"), "")
    yield from ("```{toctree}", ":hidden:", "", *pages, "```", "")


def _command(
    group: Any, parent: Context, name: str, level: int, examples: dict[str, str]
) -> Iterator[str]:
    """Yield the description of a command: its text, an example, and its options; then the commands in it."""
    _, command, _ = group.resolve_command(parent, name.split())
    context = Context(command, info_name=name, parent=parent)
    words = context.command_path.split()[1:]
    yield from (f"{'#' * level} {context.command_path}", "", *_paragraphs(command.help))
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```console", f"$ {context.command_path} {usage}", "```", "")
    if notes := list(change_notes(name)):
        yield from ("```{eval-rst}", *notes, "```", "")
    if example := examples.get(" ".join(words)):
        yield from (example, "")
    inner = command.list_commands(context) if hasattr(command, "list_commands") else []
    for title, rows in sections_of(command, context).items():
        if title == "Commands":
            links = [(f"{name} {each}", text) for each, text in rows]
            yield from (f"**{title}**", "", *_table(links, links=True), "")
        else:
            yield from _section(title, rows)
    for each in inner:
        yield from _command(command, context, each, level + 1, examples)


def _section(title: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    """Yield a section: its title, and a table; a long table, and a mere list of names, open at a click."""
    lines = list(_table(rows)) if any(text for _, text in rows) else [_names(rows)]
    if len(rows) > MAX_ROWS:
        opening = f'<details class="fields"><summary>{title}: {len(rows)}</summary>'
        yield from (opening, "", *lines, "", "</details>", "")
    else:
        yield from (f"**{title}**", "", *lines, "")


def _names(rows: list[tuple[str, str]]) -> str:
    return ", ".join(f"`{name}`" for name, _ in rows)


def _table(rows: list[tuple[str, str]], *, links: bool = False) -> Iterator[str]:
    yield from (f"| {'command' if links else 'name'} | meaning |", "|---|---|")
    for name, text in rows:
        shown = f"`{name}`".replace("|", "\\|")
        if links and " " in name:
            anchor = f"{_PROGRAM}-{name.replace(' ', '-').replace('_', '-')}"
            shown = f"[{shown}]({name.split()[0]}.md#{anchor})"
        elif links:
            shown = f"[{shown}]({name}.md)"
        first = " ".join(text.partition("\n\n")[0].split())  # as in the terminal
        yield f"| {shown} | {_in_markdown(first)} |"


def _paragraphs(text: str) -> Iterator[str]:
    for line in (text or "").split("\n"):
        yield _in_markdown(line)
    yield ""


def _in_markdown(text: str) -> str:
    """Return a text of the help as Markdown: options and variables are code, as what has backticks already."""
    pieces = re.split("(`[^`]*`)", text)
    pieces[::2] = [
        _OPTION.sub(r"`\1`", re.sub(r"([|<*_])(?!\w)", r"\\\1", piece))
        for piece in pieces[::2]
    ]
    return "".join(pieces)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages when the build begins."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
