"""The command as it was called, for commands that users copy from the output."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway_async._secrets import MASK
from gateway_async.cli.masking import mask_arguments

__all__ = ["command_line", "command_name"]

_NAME = "gateway-async"


def command_name() -> str:
    """Return the name for a shell: `gateway-async`, its path, or `python -m gateway_async`."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        python = Path(sys.executable).name.removesuffix(".exe")
        return f"{_shortest(python, sys.executable)} -m gateway_async"
    if called.name.removesuffix(".exe") != _NAME:
        return _NAME  # another program, such as pytest
    return _shortest(_NAME, sys.argv[0])


def command_line(arguments: Sequence[str], remark: str = "") -> str:
    """Return a command for a shell, with a remark as a comment. Secrets in the arguments are masked."""
    masked = mask_arguments(arguments)
    remarks = [remark] if remark else []
    if masked != list(arguments):
        remarks.append(f"{MASK} hides a secret: write it there, or take a database's password from PGPASSWORD")
    comment = f"   # {'; '.join(remarks)}" if remarks else ""
    return f"{command_name()} {shlex.join(masked)}{comment}"


def _shortest(name: str, path: str) -> str:
    """Return `name` if it leads to this program, otherwise the path."""
    found = shutil.which(name)
    if found is not None and Path(found).absolute() == Path(path).absolute():
        return name
    return shlex.quote(path)
