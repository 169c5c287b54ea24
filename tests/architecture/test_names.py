"""Folders have a dozen files, public class names are unique, and functions are named by verbs."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from .source import ids, modules, tree

MOST_FILES = 13
"""The limit for one folder, without its `__init__.py` and `__main__.py`."""

BY_NOUN = {"_wire", "models", "resources", "cli", "cli/migrate", "sandbox/handlers", "sandbox/schema"}
"""Folders with one file for each noun, command or kind of data, where more files are not harder to learn."""

IRREGULAR = "begun done found given gone held kept known left made met read_back sent shown taken told written"
PARTICIPLE = re.compile(rf"_*(?:{IRREGULAR.replace(' ', '|')}|(?!(?:exce|fe|ne|proce|se)ed)[a-z]+ed)(?:_\w+)?")
"""Names whose first word is a past participle."""


def folders() -> list[Path]:
    """List every folder of the package, as a path within it."""
    return sorted({path.parent for path in modules()})


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.as_posix())
def test_a_folder_has_a_dozen_files(folder: Path) -> None:
    """No folder has more than a dozen files, but for those with one file for each noun."""
    files = [path for path in modules() if path.parent == folder and path.name not in ("__init__.py", "__main__.py")]
    assert len(files) <= MOST_FILES or folder.as_posix() in BY_NOUN


def test_public_class_names_are_unique() -> None:
    """A class name means one thing in the package, and one in the sandbox."""
    names = Counter(
        (path.parts[0] == "sandbox", node.name)
        for path in modules()
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        if path.parent.name != "state_machines"  # each module is one machine, with a `State` and a `Trigger`
    )
    assert sorted(name for (_, name), times in names.items() if times > 1) == []


@pytest.mark.parametrize("path", modules(), ids=ids)
def test_no_async_function_is_named_by_a_participle(path: Path) -> None:
    """An async function is named by a verb: `find`, not `found`."""
    names = [node.name for node in ast.walk(tree(path)) if isinstance(node, ast.AsyncFunctionDef)]
    assert [name for name in names if PARTICIPLE.fullmatch(name)] == []


PARTICIPLES = ["_sent", "found", "looked_up", "_read_back", "taken_together", "prepared"]
VERBS = ["send", "feed", "_feed_all", "read", "resolve_cancelled", "_on_intent_resolved"]


@pytest.mark.parametrize("name", [*PARTICIPLES, *VERBS])
def test_a_participle_is_noticed(name: str) -> None:
    """A name that begins with a past participle is found, regular or not, and one that begins with a verb is not."""
    assert bool(PARTICIPLE.fullmatch(name)) == (name in PARTICIPLES)
