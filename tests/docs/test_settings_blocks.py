"""The settings files in the documents: TOML of a migration, and Dockerfile and YAML of a deployment.

No image is built, and no container is started. The command of the image runs, and the numbers of the files agree.
"""

import json
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from gateway_async.sandbox import Sandbox
from tests.support.in_process import run

from .documents import DOCUMENTS, ROOT, Block, blocks, read
from .shell_scene import CARD, environment_of, server_of
from .shell_session import ShellSession

DEPLOYMENT = "docs/guides/deployment.md"
TOML = [block for document in DOCUMENTS for block in blocks(document, "toml")]
(DOCKERFILE,) = (block.text for document in DOCUMENTS for block in blocks(document, "dockerfile"))
COMPOSE, KUBERNETES = (yaml.safe_load(block.text) for document in DOCUMENTS for block in blocks(document, "yaml"))


@pytest.fixture
def shell(tmp_path: Path, sandbox: Sandbox) -> Iterator[ShellSession]:
    """Open a shell as in the container: with the program and with the settings of the sandbox."""
    shutil.copy(ROOT / "examples/terminal_service.py", tmp_path)
    (tmp_path / "tmp").mkdir()
    name, _, ledger = instruction("ENV").partition("=")
    variables = {name: ledger.replace(instruction("VOLUME"), str(tmp_path))}
    shell = ShellSession(tmp_path, environment_of("", tmp_path, sandbox, "") | variables)
    yield shell
    shell.close()


def command_of_the_image() -> list[str]:
    """Return the words of CMD."""
    words: list[str] = json.loads(instruction("CMD"))
    return words


def instruction(name: str) -> str:
    """Return the only argument of an instruction of the Dockerfile."""
    (argument,) = re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)
    return str(argument)


def container() -> dict[str, Any]:
    """Return the container of the Kubernetes file."""
    (only,) = KUBERNETES["spec"]["containers"]
    return dict(only)


def recommended(setting: str) -> int:
    """Return the seconds that the table of the page recommends."""
    (seconds,) = re.findall(rf"^\| {re.escape(setting)}[^|]*\| (\d+) s \|", read(DEPLOYMENT), re.MULTILINE)
    return int(seconds)


@pytest.mark.parametrize("block", TOML, ids=str)
def test_migration(block: Block, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the file, columns of other names are stored, one is left out, and the constant is in every account."""
    settings = block.text.replace("the contact's id", sandbox.contact_id)
    (tmp_path / "columns.toml").write_text(settings, encoding="utf-8")
    rows = f"Customer,Card No,Valid until,Remark\n7,{CARD},12/30,pays late\n"
    (tmp_path / "cards.csv").write_text(rows, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = ("migrate", "cards.csv", "--columns", "columns.toml", "--out", "vaults.csv")
    ended = run(*command, **sandbox.environment())
    assert (ended.returncode, ended.stderr) == (0, "")
    key, vault_id, *_ = (tmp_path / "vaults.csv").read_text(encoding="utf-8").splitlines()[1].split(",")
    vault = json.loads(run("get", "account_vaults", vault_id, **sandbox.environment()).stdout)
    assert (key, vault["contact_id"], vault["exp_date"]) == ("7", sandbox.contact_id, "1230")


def test_image(shell: ShellSession) -> None:
    """CMD starts the service, the probes of the container get 200, and the status after SIGTERM is that of the page."""
    text = shlex.join(command_of_the_image()).replace("0.0.0.0", "127.0.0.1")  # noqa: S104  not beyond this machine
    address = shell.serve(text, server_of(text)).address
    for probe in ("livenessProbe", "readinessProbe"):
        response = httpx.get(address + container()[probe]["httpGet"]["path"], timeout=30, trust_env=False)
        assert response.status_code == 200
    assert shell.end_servers() == [128 + signal.SIGTERM]
    assert "| exit status after SIGTERM | killed by SIGTERM (143 in a shell) |" in read(DEPLOYMENT)
    assert (shell.folder / "payments.db").exists()


def test_graces() -> None:
    """The image, Compose and Kubernetes have the seconds of the table; `preStop` comes on top of them."""
    words = command_of_the_image()
    grace = int(words[words.index("--timeout-graceful-shutdown") + 1])
    (service,) = COMPOSE["services"].values()
    spec = KUBERNETES["spec"]
    assert grace == recommended("grace of the server")
    assert service["stop_grace_period"] == f"{recommended('grace of the container')}s"
    pause = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["terminationGracePeriodSeconds"] == recommended("grace of the container") + pause


def test_uvicorn_and_gunicorn_have_the_graces_of_the_table() -> None:
    (servers,) = (block.text for block in blocks(DEPLOYMENT, "console"))
    graces = re.findall(r"--(?:timeout-graceful-shutdown|graceful-timeout) (\d+)", servers)
    assert [*map(int, graces)] == [recommended("grace of the server")] * 2
    assert re.findall(r" --timeout (\d+)", servers) == [str(recommended("`gunicorn --timeout`"))]


def test_container() -> None:
    """User, port and volume are the same in the Dockerfile, in Compose and in Kubernetes."""
    (user,) = re.findall(r"useradd --uid (\d+)", DOCKERFILE)
    assert KUBERNETES["spec"]["securityContext"]["runAsUser"] == int(user)
    ports = {container()[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")}
    assert ports == {int(instruction("EXPOSE"))}
    (service,) = COMPOSE["services"].values()
    (volume,) = service["volumes"]
    name, _, folder = volume.partition(":")
    assert (name in COMPOSE["volumes"], folder) == (True, instruction("VOLUME"))
