"""Completion in real shells: what the script that the command prints makes of words."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHELLS = ("bash", "zsh", "fish")
SHELL_ARGUMENTS = {"bash": ("--norc", "--noprofile"), "zsh": ("-f",), "fish": ("--no-config",)}

BASH = """
source "$SCRIPT"
complete -p gateway-async >/dev/null || exit 9
COMP_WORDS=({words})
COMP_CWORD={index}
_gateway_async_completion gateway-async
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

WORDS = {
    "gateway-async li": {"list", "listen"},
    "gateway-async create transaction": {"transactions"},
    "gateway-async list contacts --last": {"--last-name"},
    "gateway-async create contacts --last": {"--last-name"},
    "gateway-async listen --forward": {"--forward-to", "--forward-attempts"},
    "gateway-async trigger contact.": {"contact.create", "contact.update", "contact.delete"},
    "gateway-async create transactions --field transaction_am": {"transaction_amount="},
    "gateway-async migrate ve": {"verify"},
    "gateway-async migrate --max-re": {"--max-rejected"},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a shell that has the command on its path."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "gateway-async"
    command.write_text(f"#!{sys.executable}\nfrom gateway_async.cli import main\nmain()\n")
    command.chmod(0o755)
    return os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}


def run_shell(arguments: list[str], environment: dict[str, str]) -> str:
    """Run a shell to its end, and return what it printed."""
    return subprocess.check_output(arguments, env=environment, text=True, timeout=50)  # noqa: S603  our own program


def script_of(shell: str, environment: dict[str, str], folder: Path) -> Path:
    """Let the command print its script in a shell of this name, and save it."""
    program = str(shutil.which(shell))
    arguments = [program, *SHELL_ARGUMENTS[shell], "-c", "gateway-async --show-completion; true"]
    shown = run_shell(arguments, environment)
    path = folder / f"completion.{shell}"
    path.write_text(shown)
    return path


def complete(shell: str, words: str, environment: dict[str, str], folder: Path) -> set[str]:
    """Return what the shell offers for the last of the words."""
    script = script_of(shell, environment, folder)
    if shell == "bash":
        program = BASH.format(words=words, index=len(words.split()) - 1)
    elif shell == "zsh":
        asked = '_TYPER_COMPLETE_ARGS="$WORDS" _GATEWAY_ASYNC_COMPLETE=complete_zsh gateway-async'
        program = f'autoload -U compinit; compinit -D; source "$SCRIPT"; {asked}'
    else:
        program = 'source "$SCRIPT"; complete -C "$WORDS"'
    given = environment | {"SCRIPT": str(script), "WORDS": words}
    arguments = [str(shutil.which(shell)), *SHELL_ARGUMENTS[shell], "-c", program]
    shown = run_shell(arguments, given)
    if shell == "zsh":
        return {word for word in shown.replace("\\", "").split('"') if word.startswith(words.rsplit(maxsplit=1)[-1])}
    return {line.partition("\t")[0] for line in shown.splitlines() if line}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("words", WORDS)
def test_completion(shell: str, words: str, environment: dict[str, str], tmp_path: Path) -> None:
    """Commands, resources, options, events and fields are completed."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert complete(shell, words, environment, tmp_path) == WORDS[words]


@pytest.mark.parametrize("shell", SHELLS)
def test_installation(shell: str, environment: dict[str, str], tmp_path: Path) -> None:
    """`--install-completion` writes into the home folder, and a new shell has the completion."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    home = environment | {"HOME": str(tmp_path)}
    program = [str(shutil.which(shell)), *SHELL_ARGUMENTS[shell], "-c", "gateway-async --install-completion; true"]
    run_shell(program, home)
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any("_GATEWAY_ASYNC_COMPLETE" in text for text in written)
