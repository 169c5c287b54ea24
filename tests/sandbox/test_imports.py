"""Imports of the sandbox: nothing of the client. `tests/architecture` checks their order."""

import subprocess
import sys

from tests.architecture.source import imported, layer, modules, tree

PACKAGE = "gateway_async.sandbox"


def test_it_imports_nothing_of_the_client() -> None:
    """The two cannot share a mistake: no import of the package but at `Sandbox.gateway`."""
    names = {name for path in modules() if path.parts[0] == "sandbox" for name in imported(tree(path))}
    elsewhere = {name for name in names if name.startswith("gateway_async") and layer(name) != "sandbox"}
    assert elsewhere == {"gateway_async", "gateway_async.client"}


def loaded_by(module: str) -> set[str]:
    """Return the modules of the package that importing one of them loads."""
    code = f"import sys, {module}; print(*(n for n in sys.modules if n.startswith('gateway_async')))"
    command = [sys.executable, "-c", code]
    return {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()}  # noqa: S603  # our own


def test_it_loads_nothing_of_the_client() -> None:
    """Importing the sandbox loads no module of the client beyond the index of the package."""
    loaded = {name for name in loaded_by(PACKAGE) if not name.startswith(PACKAGE)}
    assert loaded == loaded_by("gateway_async") <= {"gateway_async", "gateway_async.resources"}
