"""The examples of the reference: what each prints, against a sandbox of its own.

`python -m tests.docs.reference_examples` runs them all and writes their outputs into docs/reference/examples.
"""

import asyncio
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from typing import Any
from unittest.mock import patch

import attrs

from gateway_async import CardVaultCreate
from gateway_async.sandbox import Sandbox

from .documents import EXAMPLE_PAGES, ROOT, Block, blocks, run_block

CARD = CardVaultCreate(account_number="4111111111111111", exp_date="1230")
_VARIABLE = re.compile(r"\b[0-9a-f]{24,36}\b|(?<=127\.0\.0\.1:)\d+")
"""Ids and ports: what differs from one run to the next."""


@attrs.frozen
class Example:
    """An example of one method.

    Attributes:
        page: the name of its page, such as `transactions`.
        method: the name of the method.
        program: its program.
        shown: the output below it; None if the page shows none.
    """

    page: str
    method: str
    program: Block
    shown: str | None

    def __str__(self) -> str:
        return f"{self.page}.{self.method}"


def examples() -> Iterator[Example]:
    """Yield every example, in the order of the files."""
    for document in EXAMPLE_PAGES:
        page = document.rpartition("/")[2].removesuffix(".md")
        outputs = {block.headline: block.text for block in blocks(document, "text")}
        for block in blocks(document, "python"):
            if block.headline != page:
                yield Example(page, block.headline, block, outputs.get(block.headline))


def preparation_of(example: Example) -> Block | None:
    """Return the program that runs before each example of a page."""
    found = [block for block in blocks(example.program.document, "python") if block.headline == example.page]
    return found[0] if found else None


def with_preparation(example: Example) -> Block:
    """Return an example with the program that runs before it, each at its own lines."""
    preparation = preparation_of(example)
    if preparation is None:
        return example.program
    gap = example.program.line - preparation.line - len(preparation.text.splitlines())
    return attrs.evolve(preparation, text=preparation.text + "\n" * gap + example.program.text)


async def run(example: Example) -> str:
    """Run an example after its preparation, and return what it prints, without ids and ports."""
    with patch.dict(os.environ):
        return await _run(example)


async def _run(example: Example) -> str:
    async with Sandbox(terminal_delay=0.0) as sandbox, sandbox.gateway() as gateway:
        card = await gateway.account_vaults.create(CARD)
        names: dict[str, Any] = {"sandbox": sandbox, "gateway": gateway, "card": card}
        if preparation := preparation_of(example):
            await run_block(preparation, names)
        printed = io.StringIO()
        with redirect_stdout(printed):
            await run_block(example.program, names)
    return _VARIABLE.sub("…", printed.getvalue())


def write_outputs() -> None:
    """Write the output of each example below it."""
    for example in examples():
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            output = asyncio.run(run(example))
        path = ROOT / example.program.document
        text = path.read_text(encoding="utf-8")
        program = f"```python\n{example.program.text}```\n"
        old = f"{program}\n```text\n{example.shown}```\n" if example.shown is not None else program
        new = f"{program}\n```text\n{output}```\n" if output else program
        path.write_text(
            text.replace(f"## {example.method}\n\n{old}", f"## {example.method}\n\n{new}"), encoding="utf-8"
        )


if __name__ == "__main__":
    write_outputs()
