"""Help texts of commands: plain text that is whole at any width, from docstrings and options."""

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from inspect import getdoc
from typing import Any, Final

from typer.core import TyperArgument, TyperCommand, TyperGroup

__all__ = ["Command", "Group", "help_of"]

_WIDEST: Final = 100
_WIDEST_NAME: Final = 26
"""The help of an option with a longer name begins on the next line."""


def help_of(command: Callable[..., Any]) -> str:
    """Return a command's docstring with one line for each paragraph.

    A terminal then wraps the paragraphs by its own width.
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (getdoc(command) or "").split("\n\n"))


class _PlainHelp:
    """Writes the help of a command without colors and frames. No word of it is cut."""

    def collect_usage_pieces(self: Any, ctx: Any) -> list[str]:
        """Return the words of the usage line: `[OPTIONS] FILE`, and `[FILE]` if it can be omitted."""
        arguments = [each for each in self.get_params(ctx) if isinstance(each, TyperArgument)]
        names = [each.display_name_raw if each.required else f"[{each.display_name_raw}]" for each in arguments]
        return [self.options_metavar, *names, *([self.subcommand_metavar] if isinstance(self, TyperGroup) else [])]

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        """Write usage, description, arguments, options and commands."""
        width = min(shutil.get_terminal_size().columns - 1, _WIDEST)
        formatter.write("\n\n".join(_parts(self, ctx, width)) + "\n")


class Command(_PlainHelp, TyperCommand):
    """A command with plain help."""


class Group(_PlainHelp, TyperGroup):
    """A group of commands with plain help."""


def _parts(command: Any, ctx: Any, width: int) -> Iterator[str]:
    usage = f"Usage: {ctx.command_path} "
    yield _wrap(usage + " ".join(command.collect_usage_pieces(ctx)), width, " " * len(usage))
    yield from (_wrap(paragraph, width) for paragraph in (command.help or "").split("\n\n"))
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for each in command.get_params(ctx):
        if record := each.get_help_record(ctx):
            is_argument = isinstance(each, TyperArgument)
            title = each.rich_help_panel or ("Arguments" if is_argument else "Options")
            sections.setdefault(title, []).append((each.display_name_raw if is_argument else record[0], record[1]))
    if isinstance(command, TyperGroup):
        named = ((name, command.get_command(ctx, name)) for name in command.list_commands(ctx))
        sections["Commands"] = [(name, each.short_help or each.help or "") for name, each in named if each]
    yield from (f"{title}:\n{_table(rows, width)}" for title, rows in sections.items() if rows)


def _table(rows: Iterable[tuple[str, str]], width: int) -> str:
    rows = [(f"  {name}  ", " ".join(text.partition("\n\n")[0].split())) for name, text in rows]
    left = max((len(name) for name, _ in rows if len(name) <= _WIDEST_NAME), default=4)
    return "\n".join(_row(name, text, left, width) for name, text in rows)


def _row(name: str, text: str, left: int, width: int) -> str:
    margin = " " * left
    if len(name) > left:
        return f"{name.rstrip()}\n{_wrap(margin + text, width, margin)}" if text else name.rstrip()
    return _wrap(name.ljust(left) + text, width, margin)


def _wrap(text: str, width: int, margin: str = "") -> str:
    """Wrap a text between its words; names with hyphens and addresses stay whole."""
    return textwrap.fill(text, width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)
