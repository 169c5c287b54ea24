"""The command as such: help, version, wrong usage, missing extras."""

import importlib.metadata
import socket

import pytest

from tests.support.processes import run, run_python

WITHOUT = """
import sys
from gateway_async.cli import main
sys.modules["{}"] = None
sys.argv = ["gateway-async", "sandbox"]
main()
"""


def test_version() -> None:
    """`--version` is the version of the installed package."""
    ended = run("--version")
    assert (ended.returncode, ended.stdout) == (0, f"gateway-async {importlib.metadata.version('gateway-async')}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("demo", "--help"), ("sandbox", "--help")], ids=" ".join)
def test_help(arguments: tuple[str, ...]) -> None:
    """Every command explains itself."""
    ended = run(*arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Usage: gateway-async" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("nonsense",), "nonsense"),
        (("sandbox", "--port", "65536"), "--port"),
        (("sandbox", "--terminals", "sometimes"), "sometimes"),
        (("sandbox", "--terminal-delay", "nan"), "--terminal-delay"),
        (("sandbox", "--data", "."), "--data"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], named: str) -> None:
    """Wrong usage ends with status 2, names what is wrong, and prints nothing on standard output."""
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert named in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("package", ["typer", "rich", "uvicorn"])
def test_missing_extra(package: str) -> None:
    """Without the extra `cli` the command says in one line how to install it, and ends with status 2."""
    ended = run_python("-c", WITHOUT.format(package))
    advice = f"gateway-async: {package} is not installed: pip install 'gateway-async[cli]'\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", advice)


@pytest.mark.parametrize("arguments", [("sandbox", "--json"), ("listen",)], ids=" ".join)
def test_port_in_use(arguments: tuple[str, ...]) -> None:
    """A port that is taken is a one-line error with status 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run(*arguments, "--port", str(port))
    line = f"gateway-async: cannot listen on port {port} of 127.0.0.1: the port is in use (--port 0 picks a free one)\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", line)
