"""Every public field of a model has a docstring under it, which editors show on hover."""

import ast
from collections.abc import Iterator
from pathlib import Path

from .source import modules, tree

MODELS = [path for path in modules() if path.parent == Path("models")]


def undocumented(module: ast.Module) -> Iterator[str]:
    """Yield the public fields of the public classes of a module that have no docstring."""
    for node in module.body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        for field, after in zip(node.body, [*node.body[1:], None], strict=True):
            if is_public_field(field) and not is_text(after):
                yield f"{node.name}.{ast.unparse(field).partition(':')[0]}"


def is_public_field(node: ast.stmt) -> bool:
    """Return whether a statement declares a public field of an instance."""
    return (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and not node.target.id.startswith("_")
        and not ast.unparse(node.annotation).startswith("ClassVar")
    )


def is_text(node: ast.stmt | None) -> bool:
    """Return whether a statement is a text alone, with words in it."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and bool(node.value.value.strip())
    )


def test_every_field_has_a_docstring() -> None:
    for path in MODELS:
        assert list(undocumented(tree(path))) == []
