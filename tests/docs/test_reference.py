"""Each public method and each command has an example in the reference, which prints what the reference shows."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

from gateway_async import AsyncGateway, Pages, SqliteLedger
from gateway_async.cli.app import COMMANDS
from gateway_async.postbacks import PostbackReceiver
from gateway_async.resources import RESOURCES
from gateway_async.resources._untyped import UntypedResource
from gateway_async.sandbox import Sandbox

from .command_examples import COMMAND_EXAMPLES, matches, prepare, run_commands
from .documents import Block
from .reference_examples import Example, examples, run

EXAMPLES = tuple(examples())
DESCRIBED: dict[str, type] = {
    **RESOURCES,
    "client": AsyncGateway,
    "ledger": SqliteLedger,
    "lists": Pages,
    "postbacks": PostbackReceiver,
    "sandbox": Sandbox,
    "untyped": UntypedResource,
}
"""Page of the reference → the class whose methods have a section there."""
WITHOUT = {"ledger.record_intent": "the client calls it", "ledger.record_outcome": "the client calls it"}
"""Methods without an example, and why."""
SILENT = {
    "ledger.aclose",
    "postbacks.aiohttp",
    "postbacks.on",
    "sandbox.set_postback_format",
    "sandbox.wait_until_idle",
}
"""Examples that print nothing: what they change shows elsewhere."""
COMMANDS_WITHOUT = {
    "demo": "its output is a page of its own, and it takes 15 seconds",
    "listen": "it ends with Ctrl-C: the guide of postbacks shows it",
    "sandbox": "it ends with Ctrl-C: the guide of tests shows it",
}
"""Commands without an example, and why."""


def methods(kind: type) -> Iterator[str]:
    """Yield the public methods of a class, those of its base classes included."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        if not name.startswith("_") and isinstance(value, (FunctionType, classmethod, staticmethod)):
            yield name


def test_each_method() -> None:
    """Each method of these classes has an example, or a reason to have none."""
    public = {f"{page}.{method}" for page, kind in DESCRIBED.items() for method in methods(kind)}
    shown = [str(example) for example in EXAMPLES]
    assert public - set(shown) == WITHOUT.keys()
    assert set(shown) - public == set()
    assert len(shown) == len(set(shown))


def test_silent_examples() -> None:
    """Only examples of methods without a visible effect have no output."""
    assert {str(example) for example in EXAMPLES if example.shown is None} == SILENT


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
@pytest.mark.asyncio
async def test_example(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text under an example is its output, but for ids and ports."""
    monkeypatch.chdir(tmp_path)
    assert await run(example) == (example.shown or "")


def test_each_command() -> None:
    """Each command has an example, or a reason to have none."""
    assert COMMANDS.keys() - {block.headline for block in COMMAND_EXAMPLES} == COMMANDS_WITHOUT.keys()


@pytest.mark.parametrize("block", COMMAND_EXAMPLES, ids=lambda block: block.headline)
def test_command(block: Block, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text under a command is its output; `…` is what differs, or is left out."""
    monkeypatch.chdir(tmp_path)
    asyncio.run(prepare(sandbox))
    printed = run_commands(block, sandbox.environment())
    assert matches(printed, block.text), printed


def test_pattern() -> None:
    """Only the place of a `…` may differ."""
    assert matches("id 5 is stored\n", "id … is stored")
    assert not matches("id 5 is declined\n", "id … is stored")
