"""CONTRIBUTING and the architecture page show the code as it is: tree, layout, table and recipe."""

import graphlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gateway_async._wire.retry_policy import format_table
from gateway_async.models.contacts import Contact, ContactCreate

from . import module_tree
from .documents import PACKAGE, ROOT, blocks, read

MAX_LINES = 200


def test_every_module_imports_only_from_modules_above_it() -> None:
    tree = module_tree.module_tree()
    assert tree.index("  models/") < tree.index("  resources/") < tree.index("  client.py")


def test_no_order_is_printed_for_modules_that_import_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_tree, "PACKAGE", tmp_path)
    (tmp_path / "credentials.py").write_text("from gateway_async.models.page import Page\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/__init__.py").touch()
    (tmp_path / "models/page.py").write_text("from gateway_async.client import AsyncGateway\n")
    (tmp_path / "client.py").touch()
    assert [path.name for path in module_tree.import_order(tmp_path)] == ["client.py", "models", "credentials.py"]
    (tmp_path / "client.py").write_text("from gateway_async import credentials\n")
    with pytest.raises(graphlib.CycleError):
        module_tree.import_order(tmp_path)


def test_layout() -> None:
    """Each line of the layout names a folder, and each public folder of the package has a line."""
    (layout,) = blocks("CONTRIBUTING.md", "text")
    package, rest = layout.text.split("\ntests/")
    shown = {line.split("/")[0].strip() for line in package.splitlines()[1:]}
    assert shown == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert [name for name in re.findall(r"^(\w+)/", f"tests/{rest}", re.MULTILINE) if not (ROOT / name).is_dir()] == []


def test_paths() -> None:
    """Every path of a module in the text is one of the project, but for the recipe's own."""
    text, _, recipe = read("CONTRIBUTING.md").partition("## Adding an endpoint")
    paths = {*re.findall(r"`([\w/]+/\w+\.py)`", text + recipe.partition("## Tests")[2])}
    assert [path for path in paths if not (PACKAGE / path).is_file() and not (ROOT / path).is_file()] == []
    assert "_wire/retry_policy.py" in paths


def test_the_decision_table_is_the_one_that_decides() -> None:
    assert f"\n{format_table()}\n" in read("docs/why/money-rules.md")


def test_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spec and the resource of the recipe can be made as they are printed, given a model."""
    model = ModuleType("gateway_async.models.coupons")
    vars(model).update(Coupon=Contact, CouponCreate=ContactCreate)
    monkeypatch.setitem(sys.modules, model.__name__, model)
    (recipe,) = blocks("CONTRIBUTING.md", "python")
    namespace = {"__name__": "gateway_async.resources.coupons"}
    exec(recipe.placed, namespace)  # noqa: S102  our own document
    assert {"COUPON", "Coupons"} <= namespace.keys()


def test_the_sessions_it_names_exist() -> None:
    sessions = set(re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE))
    named_sessions = set(re.findall(r"nox -s (\w+)", read("CONTRIBUTING.md")))
    assert named_sessions
    assert named_sessions <= sessions


def test_length() -> None:
    """Explanations belong on the pages in docs/."""
    assert len(read("CONTRIBUTING.md").splitlines()) <= MAX_LINES
