"""The name by which the command was called, for commands that users copy from the output."""

import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["command_name"]

_NAME = "gateway-async"


def command_name() -> str:
    """Return the name for a shell: `gateway-async`, its path, or `python -m gateway_async`."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{_shortest('python', sys.executable)} -m gateway_async"
    if called.name.removesuffix(".exe") != _NAME:
        return _NAME  # another program, such as pytest
    return _shortest(_NAME, sys.argv[0])


def _shortest(name: str, path: str) -> str:
    """Return `name` if it leads to this program, otherwise the path."""
    found = shutil.which(name)
    if found is not None and Path(found).absolute() == Path(path).absolute():
        return name
    return shlex.quote(path)
