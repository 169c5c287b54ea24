"""Completion: the words that the command offers, and the script that asks for them, in real shells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import run
from tests.support.waiting import PATIENCE

SHELL_ARGUMENTS = {"bash": ("--norc", "--noprofile"), "zsh": ("-f",), "fish": ("--no-config",)}

PROGRAMS = {
    "bash": """
source "$SCRIPT"
complete -p gateway-async >/dev/null || exit 9
COMP_WORDS=({words})
COMP_CWORD={index}
_gateway_async_completion gateway-async
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "zsh": """
autoload -U compinit; compinit -D; source "$SCRIPT"
_TYPER_COMPLETE_ARGS="$WORDS" _GATEWAY_ASYNC_COMPLETE=complete_zsh gateway-async
""",
    "fish": 'source "$SCRIPT"; complete -C "$WORDS"',
}

WORDS = {
    "gateway-async li": {"list", "listen"},
    "gateway-async create transaction": {"transactions"},
    "gateway-async list contacts --last": {"--last-name"},
    "gateway-async create contacts --last": {"--last-name"},
    "gateway-async listen --forward": {"--forward-to", "--forward-attempts"},
    "gateway-async trigger contact.": {"contact.create", "contact.update", "contact.delete"},
    "gateway-async create transactions --field transaction_am": {"transaction_amount="},
    "gateway-async mig": {"migrate"},
    "gateway-async migrate ve": {"verify"},
    "gateway-async migrate verify --sa": {"--sample"},
    "gateway-async migrate --max-re": {"--max-rejected"},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "gateway-async"
    command.write_text(f"#!{sys.executable}\nfrom gateway_async.cli import main\nmain()\n")
    command.chmod(0o755)
    return os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


@pytest.fixture(scope="module", params=SHELL_ARGUMENTS)
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


@pytest.fixture(scope="module")
def script(shell: str, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(shell) / "completion"
    path.write_text(run_shell(shell, "gateway-async --show-completion; true", environment))
    return path


def run_shell(shell: str, program: str, environment: dict[str, str]) -> str:
    arguments = [str(shutil.which(shell)), *SHELL_ARGUMENTS[shell], "-c", program]
    return subprocess.check_output(arguments, env=environment, text=True, timeout=PATIENCE)  # noqa: S603  our own program


def complete(shell: str, words: str, environment: dict[str, str]) -> set[str]:
    """Return what the shell offers for the last of the words."""
    program = PROGRAMS[shell].format(words=words, index=len(words.split()) - 1)
    shown = run_shell(shell, program, environment)
    if shell == "zsh":
        last = words.rsplit(maxsplit=1)[-1]
        return {word for word in shown.replace("\\", "").split('"') if word.startswith(last)}
    return {line.partition("\t")[0] for line in shown.splitlines() if line}


@pytest.mark.parametrize("words", WORDS)
def test_completion(words: str) -> None:
    """Commands, resources, options, events and fields are completed."""
    parts = words.split()
    asked = {"_GATEWAY_ASYNC_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(parts) - 1)}
    assert set(run(**asked).stdout.splitlines()) == WORDS[words]


@pytest.mark.parametrize("words", ["gateway-async trigger contact."])
def test_shell_completion(shell: str, script: Path, words: str, environment: dict[str, str]) -> None:
    """The script asks the command for the words of its shell, and the shell offers them."""
    assert complete(shell, words, environment | {"SCRIPT": str(script), "WORDS": words}) == WORDS[words]


def test_installation_writes_into_the_home_folder(shell: str, environment: dict[str, str], tmp_path: Path) -> None:
    run_shell(shell, "gateway-async --install-completion; true", environment | {"HOME": str(tmp_path)})
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_GATEWAY_ASYNC_COMPLETE" in text for text in written)
