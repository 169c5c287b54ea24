"""The programs that the demo runs are those of the documents, statement by statement."""

import ast
from collections.abc import Callable, Iterator
from inspect import getsource
from textwrap import dedent
from typing import Any

import pytest

from gateway_async.cli.demo import programs

from .documents import DOCUMENTS, blocks, read

SHOWN = (
    *(programs.store_card_at_terminal, programs.sell_at_terminal, programs.sell, programs.lose_response),
    *(programs.refund_part, programs.send_invoice, programs.settle, programs.make_receiver, programs.recover),
    *(programs.list_vaults, programs.migrate),
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
    for program in SHOWN:
        (function,) = ast.parse(getsource(program)).body
        assert isinstance(function, ast.AsyncFunctionDef | ast.FunctionDef), program
        _, *body = function.body
        wanted = dumped([statement for statement in body if not isinstance(statement, ast.Return)])
        assert any(wanted == body[i : i + len(wanted)] for body in BODIES for i in range(len(body))), program


def test_the_demo_opens_its_sandbox_as_the_first_call_does() -> None:
    opening = programs.excerpt(programs.open_gateway).splitlines()[0]
    assert opening in read("README.md")


@pytest.mark.parametrize("program", [programs.open_gateway, *SHOWN], ids=lambda program: program.__name__)
def test_width(program: Callable[..., Any]) -> None:
    """The demo shows it with a margin of 4, in 80 columns."""
    assert max(map(len, programs.excerpt(program).splitlines())) <= 75
