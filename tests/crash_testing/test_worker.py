"""The process that is killed, and how it finds its scenario."""

from pathlib import Path

import pytest

from gateway_async.crash_testing import invariants as rules
from gateway_async.crash_testing.worker import load


def test_module() -> None:
    """A scenario may be settings of a package and import its neighbors."""
    wanted: object = rules.effects_of
    assert load(str(Path(rules.__file__).resolve()), rules.__name__, "effects_of") is wanted


@pytest.mark.parametrize("module", ["__main__", "elsewhere.unknown", "json"])
def test_file(tmp_path: Path, module: str) -> None:
    """A program, or a test file that pytest imported under a name of its own, is loaded from its path."""
    source = tmp_path / "terminal_process.py"
    source.write_text("class Till:\n    @staticmethod\n    async def sale(gateway): return 'sold'\n")
    scenario = load(str(source), module, "Till.sale")
    with pytest.raises(StopIteration, match="sold"):
        scenario(None).__await__().send(None)
