"""`Command` and `Group`: how the commands run, and their plain help.

A command is an attrs class: its fields are the options, its docstring is the help, and `run` does what it says. Typer
reads the options from the constructor that attrs writes, and makes the object from the arguments.
"""

import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from inspect import getdoc
from typing import Annotated, Any, Final, Protocol

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from gateway_async.cli.output import ExitStatus, fail, fail_with
from gateway_async.errors import GatewayError, InvalidRequestError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object on each line.")]
"""The option of the commands that print for programs too."""

HostOption = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, metavar="PORT", help="Port to listen on; 0 picks a free one.")
]

_WIDEST: Final = 100
_WIDEST_NAME: Final = 26
"""The help of an option with a longer name begins on the next line."""


def split_pairs(option: str, texts: Sequence[str], *, at_last: bool = False) -> dict[str, str]:
    """Split `NAME=VALUE` texts into name → value.

    Args:
        option: the option that the texts belong to.
        texts: the texts.
        at_last: whether a text is split at its last `=`, because its name may contain one.

    Raises:
        InvalidRequestError: a text has another form, or a name is given more than once.
    """
    pairs = [text.rpartition("=") if at_last else text.partition("=") for text in texts]
    if not all(name and sign for name, sign, _ in pairs):
        raise InvalidRequestError(f"{option}: must have the form NAME=VALUE")
    named = {name.strip(): value for name, _, value in pairs}
    if len(named) < len(pairs):
        raise InvalidRequestError(f"{option}: a name is given more than once")
    return named


def parse_time(text: str) -> datetime:
    """Parse a time, which is in UTC unless it has an offset, and return it in UTC. A date is its midnight.

    Raises:
        ValueError: it is not a time in ISO 8601.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("not a time (expected 2026-01-01 or 2026-01-01T12:00)") from None


class Runnable(Protocol):
    """The options of a command, and what it does with them."""

    def run(self) -> None:
        """Run the command. It ends with `typer.Exit`, or with a `GatewayError` that is printed."""


class _PlainHelp:
    """Writes the help of a command without colors and frames. No word of it is cut."""

    def collect_usage_pieces(self: Any, ctx: Any) -> list[str]:
        """Return the words of the usage line: `[OPTIONS] FILE`, and `[FILE]` if it can be omitted."""
        arguments = [each for each in self.get_params(ctx) if isinstance(each, TyperArgument)]
        names = [each.display_name_raw if each.required else f"[{each.display_name_raw}]" for each in arguments]
        return [self.options_metavar, *names, *([self.subcommand_metavar] if isinstance(self, TyperGroup) else [])]

    def format_help(self: Any, ctx: Any, formatter: Any) -> None:
        """Write usage, description, arguments, options and commands."""
        width = min(max(shutil.get_terminal_size().columns - 1, 1), _WIDEST)
        formatter.write("\n\n".join(_parts(self, ctx, width)) + "\n")


class Command(_PlainHelp, TyperCommand):
    """A command that runs the object that its options make."""

    def invoke(self, ctx: Any) -> Any:
        """Make the object and run it."""
        try:
            return ctx.invoke(super().invoke(ctx).run)
        except GatewayError as error:
            fail_with(error)
        except (TimeoutError, ConnectionError):  # no file raises it, so it is a bug: show where
            raise
        except OSError as error:
            fail(str(error))
        except ModuleNotFoundError as missing:  # of an extra; the message says how to install it
            fail(str(missing), ExitStatus.WRONG_USAGE)


class Group(_PlainHelp, TyperGroup):
    """A group that lists its commands by their summaries, and makes a command when it is called."""

    def __init__(self, summaries: Mapping[str, str], **options: Any) -> None:
        options["commands"] = {  # a shell completes one word at a time, so it is not offered two
            name: TyperCommand(name, help=summary, hidden=" " in name) for name, summary in summaries.items()
        }
        super().__init__(**options)

    def make(self, name: str) -> Any:
        """Make a command."""
        raise NotImplementedError

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Make the command of the arguments, whose name may have two words."""
        if (words := " ".join(args[:2])) in self.commands:
            args = [words, *args[2:]]
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and self.make(str(name)), rest


def make_command(name: str, kind: Callable[..., Runnable], text: str = "") -> Any:
    """Make a command from a class: its fields become options, its docstring the help unless there is a text."""
    single = typer.Typer(add_completion=False)
    single.command(name, cls=Command, help=text or help_of(kind))(kind)
    return get_command(single)


def help_of(command: Callable[..., Any]) -> str:
    """Join each paragraph and list item of a docstring into one line, for the terminal to wrap."""
    return re.sub(r"(?<!\n)\n *(?!\n|- )", " ", getdoc(command) or "")


def _parts(command: Any, ctx: Any, width: int) -> Iterator[str]:
    usage = f"Usage: {ctx.command_path} "
    yield _wrap(usage + " ".join(command.collect_usage_pieces(ctx)), width, " " * len(usage))
    for paragraph in (command.help or "").split("\n\n"):
        yield "\n".join(_wrap(line, width, "  " if line.startswith("- ") else "") for line in paragraph.split("\n"))
    yield from (f"{title}:\n{_table(rows, width)}" for title, rows in sections_of(command, ctx).items())


def sections_of(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Collect the sections of a help: the title, then a name and a text for each argument, option or command."""
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for each in command.get_params(ctx):
        if record := each.get_help_record(ctx):
            is_argument = isinstance(each, TyperArgument)
            title = each.rich_help_panel or ("Arguments" if is_argument else "Options")
            sections.setdefault(title, []).append((each.display_name_raw if is_argument else record[0], record[1]))
    if isinstance(command, TyperGroup):
        named = ((name, command.get_command(ctx, name)) for name in command.list_commands(ctx))
        sections["Commands"] = [(name, each.help or "") for name, each in named if each]
    return {title: rows for title, rows in sections.items() if rows}


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
