"""Both type checkers accept every Python program of the documents as it is printed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .documents import DOCUMENTS, ROOT, Block, blocks, read
from .reference_examples import examples, with_preparation
from .typed_blocks import given_names, module_of

PLANTED = Block("planted.md", "", 7, "python", "await gateway.contacts.get(5)\n")
"""A program with an error, which every run must report at its line."""
CHECKERS = {
    # The options of the project, whose cache it shares, without its list of libraries that may have no types.
    "mypy": (
        *("mypy", "--config-file=", "--strict", "--python-version=3.11"),
        *("--enable-error-code=ignore-without-code", "--enable-error-code=truthy-bool"),
    ),
    "pyright": ("pyright", f"--pythonpath={sys.executable}"),
}
ERROR = re.compile(r"(?P<path>\S+\.py):(?P<line>\d+)(:\d+)?(:| -) error: ")


def programs() -> Iterator[tuple[Block, list[Block]]]:
    """Yield the Python blocks of all documents, each with the earlier ones of its page, and those of the reference."""
    for document in DOCUMENTS:
        page = blocks(document, "python")
        yield from ((block, page[:index]) for index, block in enumerate(page))
    yield from ((with_preparation(example), []) for example in examples())


@pytest.mark.skipif(not os.environ.get("GATEWAY_TEST_TYPES"), reason="`nox -s types` sets GATEWAY_TEST_TYPES")
@pytest.mark.parametrize("checker", CHECKERS)
def test_programs(checker: str, tmp_path: Path) -> None:
    """One run checks all programs, and reports only the planted error."""
    documents: dict[str, str] = {}
    for number, (block, earlier) in enumerate([*programs(), (PLANTED, [])]):
        path = tmp_path / f"program_{number}.py"
        path.write_text(module_of(block, earlier), encoding="utf-8")
        documents[path.name] = block.document
    examples = str(ROOT / "examples")  # where the programs of the tutorials end, which import each other
    settings = {"pythonVersion": "3.11", "extraPaths": [examples]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    where = [str(tmp_path)] if checker == "mypy" else [f"--project={tmp_path}"]
    command = [sys.executable, "-m", *CHECKERS[checker], *where]
    environment = os.environ | {"MYPYPATH": examples}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    errors = [
        f"{documents[Path(found['path']).name]}:{found['line']}: {line[found.end() :]}"
        for line in done.stdout.splitlines()
        if (found := ERROR.search(line))
    ]
    others = [error for error in errors if not error.startswith("planted.md:7: ")]
    assert others == [], "\n".join(others)
    assert len(errors) == 1, done.stdout + done.stderr


def test_introduced_names() -> None:
    """The text before a program names the client, the card and the ids that it uses without defining them."""
    for block in [block for document in DOCUMENTS for block in blocks(document, "python")]:
        text = "\n".join(read(block.document).splitlines()[: block.line - 1])
        assert [name for name in given_names(block) if f"`{name}`" not in text] == [], str(block)
