"""The programs that the demo runs are those of the documents, statement by statement."""

import ast
from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import Any

import pytest

from gateway_async.cli.demo import chapters
from gateway_async.cli.demo.display import Chapter

from .documents import DOCUMENTS, blocks, read

SHOWN = (
    *(chapters.store_card, chapters.sell_at_terminal, chapters.decline, chapters.lose_response),
    *(chapters.refund_part, chapters.send_invoice, chapters.settle, chapters.receive_postbacks, chapters.recover),
    *(chapters.list_vaults, chapters.migrate),
)


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statements of each block of a program."""
    yield from (node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list))  # type: ignore[attr-defined]


def dumped(statements: list[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in statements]


BODIES = [
    dumped(body)
    for document in DOCUMENTS
    for block in blocks(document, "python")
    for body in bodies(ast.parse(dedent(block.text)))
]


def test_a_program_of_the_demo_is_in_a_document() -> None:
    for chapter in SHOWN:
        wanted = dumped(ast.parse(Chapter.of(chapter).code).body)
        assert wanted
        assert any(wanted == body[i : i + len(wanted)] for body in BODIES for i in range(len(body))), chapter


def test_the_demo_opens_its_sandbox_as_the_first_call_does() -> None:
    opening = Chapter.of(chapters.open_gateway).code.splitlines()[0]
    assert opening in read("README.md")


@pytest.mark.parametrize("chapter", [chapters.open_gateway, *SHOWN], ids=lambda chapter: chapter.__name__)
def test_width(chapter: Callable[..., Any]) -> None:
    """The demo shows it with a margin of 4, in 80 columns."""
    assert max(map(len, Chapter.of(chapter).code.splitlines())) <= 75
