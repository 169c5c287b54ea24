"""The commands that the documents show exist, with their options."""

import ast
import re
import shlex
from collections.abc import Iterator
from inspect import getsource
from typing import Any

from typer.main import get_command

from gateway_async.cli.app import app
from gateway_async.cli.output import ExitStatus

from .documents import DOCUMENTS, blocks, read

ROOT_COMMAND: Any = get_command(app)


def shown(document: str) -> Iterator[str]:
    """Yield each use of `gateway-async` in a document, without its name: in console blocks and in inline code."""
    for block in blocks(document, "console"):
        text = re.sub(r"\\\n", " ", block.text)
        yield from re.findall(r"^\$ gateway-async (.+)$", text, re.MULTILINE)
    yield from re.findall(r"`gateway-async ([^`]+)`", read(document))


def resolve(words: list[str]) -> Any:
    """Return the command that the words call; the name of one may have two words."""
    command = ROOT_COMMAND
    while names := names_of(command):
        count = 2 if " ".join(words[:2]) in names else 1
        if (name := " ".join(words[:count])) not in names:
            return command
        del words[:count]
        _, command, _ = command.resolve_command(None, name.split())
    return command


def names_of(command: Any) -> list[str]:
    """Return the names of the commands in a group; of a command, none."""
    names: list[str] = command.list_commands(None) if hasattr(command, "list_commands") else []
    return names


def options(command: Any) -> set[str]:
    """Return the names of a command's options, and of those of the commands in it."""
    names = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return names.union(*(options(command.resolve_command(None, inner.split())[1]) for inner in names_of(command)))


def test_a_command_has_the_options_that_are_shown() -> None:
    current = [document for document in DOCUMENTS if document != "docs/guides/upgrading.md"]  # names former options
    for use in [use for document in current for use in shown(document)]:
        words = shlex.split(use, comments=True)
        command = resolve(words)
        assert {word for word in words if word.startswith("--")} - options(command) == set(), use


def test_each_named_option_is_one_of_some_command() -> None:
    known = options(ROOT_COMMAND)
    for document in DOCUMENTS:
        named = set(re.findall(r"`(--[a-z]+(?:-[a-z]+)*)(?=[ `])", read(document)))
        assert named - known == set(), document


def test_exit_statuses() -> None:
    """The table of exit statuses has the numbers and the descriptions of the enum."""
    members = ast.parse(getsource(ExitStatus)).body[0]
    assert isinstance(members, ast.ClassDef)
    lines = [ast.literal_eval(node.value) for node in members.body if isinstance(node, ast.Expr)]
    rows = [f"| {status:d} | {meaning} |" for status, meaning in zip(ExitStatus, lines[1:], strict=True)]
    assert [row for row in rows if row not in read("docs/reference/command-line.md")] == []
