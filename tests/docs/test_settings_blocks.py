"""The settings files in the documents: TOML of a migration, and Dockerfile and YAML of a deployment.

No image is built, and no container is started. The command of the image runs, and the numbers of the files agree.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from gateway_async.sandbox import Sandbox
from tests.support.in_process import run
from tests.support.waiting import PATIENCE

from .documents import DOCUMENTS, ROOT, Block, blocks, read
from .shell_scene import CARD, environment_of, server_of
from .shell_session import ShellSession

DEPLOYMENT = "docs/guides/deployment.md"
TOML = [
    block
    for document in DOCUMENTS
    if not document.startswith("docs/tutorials/")  # test_tutorials.py uses theirs
    for block in blocks(document, "toml")
]
(DOCKERFILE,) = (block.text for block in blocks(DEPLOYMENT, "dockerfile"))
COMPOSE, KUBERNETES = (yaml.safe_load(block.text) for block in blocks(DEPLOYMENT, "yaml"))
SANDBOX_IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SANDBOX_COMPOSE, (SANDBOX_DEPLOYMENT, SANDBOX_SERVICE) = (
    [*yaml.safe_load_all(block.text)] for block in blocks("docs/sandbox/containers.md", "yaml")
)


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


def command_of_the_image(file: str = DOCKERFILE) -> list[str]:
    """Return the words of CMD."""
    words: list[str] = json.loads(instruction("CMD", file))
    return words


def instruction(name: str, file: str = DOCKERFILE) -> str:
    """Return the only argument of an instruction of a Dockerfile."""
    (argument,) = re.findall(rf"^{name} (.+)$", file, re.MULTILINE)
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
        response = httpx.get(address + container()[probe]["httpGet"]["path"], timeout=PATIENCE, trust_env=False)
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


def test_the_page_shows_the_image_of_the_sandbox() -> None:
    assert [block.text for block in blocks("docs/sandbox/containers.md", "dockerfile")] == [SANDBOX_IMAGE]
    assert len([block for document in DOCUMENTS for block in blocks(document, "dockerfile")]) == 2


def test_the_files_of_the_sandbox_image_make_its_wheel(tmp_path: Path) -> None:
    for *sources, folder in map(str.split, re.findall(r"^COPY (.+)$", SANDBOX_IMAGE, re.MULTILINE)):
        for source in sources:
            target = tmp_path / folder.strip("/")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                target.mkdir(exist_ok=True)
                shutil.copy(ROOT / source, target)
    options = ("--no-index", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(tmp_path / "wheels"))
    command = [sys.executable, "-m", "pip", "wheel", *options, str(tmp_path / "source")]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    assert len([*(tmp_path / "wheels").glob("*.whl")]) == 1


def test_the_command_of_the_sandbox_image_serves(shell: ShellSession) -> None:
    text = shlex.join(command_of_the_image(SANDBOX_IMAGE))
    text = text.replace("0.0.0.0", "127.0.0.1").replace("/data/", f"{shell.folder}/")  # noqa: S104  not beyond it
    address = shell.serve(text, server_of(text)).address
    port = address.rpartition(":")[2]
    check: list[str] = json.loads(instruction("HEALTHCHECK CMD", SANDBOX_IMAGE))
    ended = shell.run(shlex.join(check).replace(":8080", f":{port}"))
    assert (ended.status, ended.errors) == (0, "")
    response = httpx.get(f"{address}/_sandbox", headers={"Host": f"sandbox:{port}"}, trust_env=False)
    assert response.status_code == 200
    assert shell.end_servers() == [0]
    assert (shell.folder / "sandbox.db").exists()


def test_the_health_check_fails_without_a_sandbox(shell: ShellSession) -> None:
    check: list[str] = json.loads(instruction("HEALTHCHECK CMD", SANDBOX_IMAGE))
    assert shell.run(shlex.join(check).replace(":8080", ":1")).status == 1


def test_the_files_of_the_sandbox_container_agree() -> None:
    (compose,) = SANDBOX_COMPOSE
    pod = SANDBOX_DEPLOYMENT["spec"]["template"]["spec"]
    (deployed,) = pod["containers"]
    (user,) = re.findall(r"useradd --uid (\d+)", SANDBOX_IMAGE)
    assert {pod["securityContext"]["runAsUser"], pod["securityContext"]["fsGroup"]} == {int(user)}
    port = int(instruction("EXPOSE", SANDBOX_IMAGE))
    words = command_of_the_image(SANDBOX_IMAGE)
    assert words[words.index("--port") + 1] == str(port)
    assert deployed["readinessProbe"]["httpGet"] == {"path": "/_sandbox", "port": port}
    assert [deployed["ports"], SANDBOX_SERVICE["spec"]["ports"]] == [[{"containerPort": port}], [{"port": port}]]
    service = compose["services"]["sandbox"]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    folder = instruction("VOLUME", SANDBOX_IMAGE)
    assert [mount["mountPath"] for mount in deployed["volumeMounts"]] == [folder]
    assert service["volumes"] == [f"sandbox:{folder}"]
    name = words[words.index("--allow-host") + 1]
    assert SANDBOX_SERVICE["metadata"]["name"] == name
    assert compose["services"]["shop"]["environment"]["GATEWAY_BASE_URL"] == f"http://{name}:{port}"
