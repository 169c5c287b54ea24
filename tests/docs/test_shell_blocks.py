"""Every shell block of the documents runs in bash, and has the effects that its page claims."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from socket import socket
from typing import Any
from urllib.parse import urlsplit

import anyio
import attrs
import httpx
import pytest

from gateway_async import PostgresLedger, SqliteLedger, __version__
from gateway_async.cli.output import ExitStatus
from gateway_async.postbacks import Postback, PostbackReceiver, SqliteInbox
from gateway_async.sandbox import Sandbox
from tests.support.intents import BARE, SALE
from tests.support.sqlite_files import ask_sqlite
from tests.support.waiting import PATIENCE, until

from .documents import DOCUMENTS, ROOT, Block, blocks, languages_of
from .shell_scene import (
    CARD,
    INPUTS,
    SERVERS,
    SHORT_FORMS,
    STATUSES,
    VALUES,
    Scene,
    environment_of,
    record,
    server_of,
    skip_reason,
    uses_database,
)
from .shell_session import Command, Ended, ShellSession, commands

PAGES = (*DOCUMENTS, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md")
BLOCKS = [
    block
    for document in PAGES
    for language in ("console", "sh")
    for block in blocks(document, language)
    if (document, language) != ("README.md", "sh")  # `.ci/run` runs them, which a test of the README checks
    and not document.startswith("docs/tutorials/")  # test_tutorials.py runs them, one after the other
]
TEXTS: Mapping[tuple[str, str], str] = {
    ("docs/index.md", "A sale whose response is lost"): "test_readme.py compares this output",
    ("docs/guides/concurrency.md", "Charge several stored cards"): "test_readme.py compares this output",
    ("docs/guides/logs-and-events.md", "See what the SDK does"): "test_readme.py compares this output",
    ("docs/guides/logs-and-events.md", "In production"): "test_readme.py compares this output",
    ("docs/reference/errors.md", "The error tree"): "test_links.py compares this tree",
    ("CONTRIBUTING.md", "Layout"): "test_contributing.py compares this tree",
    ("docs/start/concepts.md", "What the gateway has"): "a drawing",
    ("docs/start/concepts.md", "What this package adds"): "a drawing",
    ("docs/why/architecture.md", "Architecture"): "a drawing",
}
"""The blocks of plain text, each with its test, or with the reason why it has none."""

UNFORKED = ("docs/start/first-call.md", "docs/start/installation.md")
"""The first pages of a user: their commands are the real ones, each with a Python of its own."""

LANGUAGES = {"console", "dockerfile", "python", "sh", "text", "toml", "yaml"}
"""Languages of blocks; the tests of this folder know what to do with each."""


def check_migration(scene: Scene) -> None:
    """The plan sends nothing, a limit is exact, and every correct row is stored once and has its line."""
    assert "12 rows, 11 can be sent" in scene.run("--plan").output
    assert stored(scene) == []
    scene.run("--max-rows 10")
    assert stored(scene) == [1] * 10
    scene.run("--out vaults.csv --rejects rejects.csv --report report.html")
    assert stored(scene) == [1] * 11
    assert keys(scene.folder / "vaults.csv") == {f"customer-{number}" for number in range(11)}
    assert keys(scene.folder / "rejects.csv") == {"customer-11"}
    assert "customer-11" in (scene.folder / "report.html").read_text(encoding="utf-8")
    assert "11 matching, 0 different" in scene.run("verify").output


def stored(scene: Scene) -> list[int]:
    """Return how often each account was stored."""
    return [*scene.sandbox.ledger()["stored"].values()]


def keys(path: Path) -> set[str]:
    """Return the keys of the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["key"] for row in csv.DictReader(file)}


def check_migration_on_dask(scene: Scene) -> None:
    """The workers of the cluster store every correct row once."""
    scene.run("dask scheduler")
    scene.run("dask worker")
    scene.run("migrate", status=ExitStatus.ATTENTION)
    assert stored(scene) == [1] * 11


def open_calls(ledger: SqliteLedger | PostgresLedger) -> list[str | None]:
    """Return the integrator ids of the open calls."""

    async def read() -> list[str | None]:
        async with aclosing(ledger):
            return [intent.api_id for intent in await ledger.open_intents()]

    return anyio.run(read)


def check_ledger_command(scene: Scene) -> None:
    """A lookup finds the sale, a decision closes the other call, and the ledger agrees with the gateway."""
    if scene.database:
        assert "\tmine\t" in scene.run("--all").output
        return
    file = scene.folder / "payments.db"
    check_recovery(scene)
    anyio.run(record, SqliteLedger(file), attrs.evolve(SALE, api_id="order-18"))
    scene.run("--resolve API_ID --as not_made")
    assert open_calls(SqliteLedger(file)) == []
    assert scene.run("--reconcile").output == ""


def check_recovery(scene: Scene) -> None:
    """The open call is listed, its payment is found, and none is sent."""
    before = scene.sandbox.ledger()["charged"]
    assert "\torder-17\t" in scene.run("ledger payments.db").output
    assert "\tfound\t" in scene.run("--recover").output
    assert open_calls(SqliteLedger(scene.folder / "payments.db")) == []
    assert scene.sandbox.ledger()["charged"] == before == {"order-17": 1}


def check_backup(scene: Scene) -> None:
    """Back up or restore a ledger: the page has a block for each."""
    backup, restore = (
        block for block in blocks(scene.block.document, "console") if block.headline == scene.block.headline
    )
    if reason := skip_reason(backup):
        pytest.skip(reason)
    file, table = partial(SqliteLedger, scene.folder / "payments.db"), partial(PostgresLedger, scene.database)
    if scene.block == restore:
        check_restore(scene, file, table, commands(backup))
        return

    async def run() -> None:
        async with aclosing(file()) as used_file, aclosing(table()) as used_table:
            await used_file.record_intent(SALE)
            await used_table.record_intent(BARE)
            scene.run_all()

    anyio.run(run)
    assert open_calls(SqliteLedger(scene.folder / "backup.db")) == ["order-17", "mine"]
    assert "POST /v2/transactions" in (scene.folder / "ledger.sql").read_text(encoding="utf-8")
    assert {(scene.folder / name).stat().st_mode & 0o777 for name in ("backup.db", "ledger.sql")} == {0o600}


def check_restore(
    scene: Scene, file: Callable[[], SqliteLedger], table: Callable[[], PostgresLedger], backup: Sequence[Command]
) -> None:
    """The ledgers have the open calls of the backup, without the later one, and take a new one."""
    for command in backup:
        assert scene.shell.run(command.text).status == 0
    log = scene.folder / "payments.db-wal"

    async def crash() -> bytes:
        async with aclosing(file()) as ledger:
            await ledger.record_intent(BARE)
            return log.read_bytes()

    log.write_bytes(anyio.run(crash))  # a killed process leaves its log
    anyio.run(record, table(), BARE)
    scene.run_all()
    assert (open_calls(file()), open_calls(table())) == (["order-17"], ["mine"])
    for make in (file, table):
        anyio.run(record, make(), BARE)
        assert len(open_calls(make())) == 2


def check_unchanged(scene: Scene) -> None:
    """The check changes neither the ledger nor anything at the gateway."""
    before = scene.sandbox.ledger()
    scene.run("check")
    assert open_calls(SqliteLedger(scene.folder / "payments.db")) == ["order-17"]
    assert scene.sandbox.ledger() == before


def check_inbox(scene: Scene) -> None:
    """A dead postback is handled again, another one is given up, and none is left."""
    assert scene.run().output.count("\tdead\t") == 2
    scene.run("--replay NUMBER")
    handled: list[str] = []

    async def handle() -> None:
        receiver = PostbackReceiver(allow_unauthenticated=True, inbox=SqliteInbox(scene.folder / "inbox.db"))

        @receiver.on()
        async def append(postback: Postback[Any]) -> None:
            handled.append(postback.record_id)

        async with receiver:
            await until(lambda: handled)

    anyio.run(handle)
    assert handled == ["first"]
    scene.values["NUMBER"] = "2"
    scene.run("--discard NUMBER")
    assert scene.shell.run("gateway-async inbox inbox.db") == Ended(0, "", "")


def check_listening(scene: Scene) -> None:
    """The program of the page gets the postback through `listen`, which deletes its configs at the end."""
    program, *_ = blocks(scene.block.document, "python")
    (scene.folder / "shop.py").write_text(program.text, encoding="utf-8")
    scene.values["http://localhost:8000"] = scene.shell.serve("uvicorn shop:app", server_of("uvicorn shop:app")).address
    scene.run("listen")
    listening = scene.shell.running[-1]
    scene.run("trigger")
    anyio.run(until, lambda: "→ 204" in listening.output)
    scene.end_servers()
    assert scene.shell.run("gateway-async trigger contact.update").status == ExitStatus.ATTENTION


def check_completion(scene: Scene) -> None:
    """The first command completes words in new shells, and the second one prints its script."""
    scene.run("--install-completion")
    assert "gateway-async" in (scene.folder / "home/.bashrc").read_text(encoding="utf-8")
    assert "complete" in scene.run("--show-completion").output


def check_records(scene: Scene) -> None:
    """Each command prints its records as JSON. The sale is in the ledger, and the contact is changed and deleted."""
    assert json.loads(scene.run("list transactions").output)["transaction_api_id"] == "order-1000"
    assert scene.run("--count").output == "1\n"
    assert json.loads(scene.run("get transactions").output)["contact"]["last_name"] == "Smith"
    assert json.loads(scene.run("create contacts").output)["email"] == "ada@example.test"
    assert json.loads(scene.run("create account_vaults", given=f"{CARD}\n").output)["last_four"] == "1111"
    assert json.loads(scene.run("create transactions").output)["status_id"] == 101
    assert len(ask_sqlite(scene.folder / "payments.db", "SELECT * FROM intents WHERE outcome = 'done'")) == 1
    assert json.loads(scene.run("update").output)["city"] == "London"
    scene.run("delete")
    assert scene.shell.run(f"gateway-async get contacts {scene.sandbox.contact_id}").status == ExitStatus.FAILED


def check_sandbox(scene: Scene) -> None:
    """The sandbox has pages for a browser, and keeps its records in the file that is named."""
    command = scene.remaining[0].text
    scene.run("sandbox")
    page = httpx.get(scene.shell.running[0].address, follow_redirects=True, trust_env=False)
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (200, "text/html")
    scene.end_servers()
    assert (scene.folder / "sandbox.db").exists() == ("--data sandbox.db" in command)


def check_first_sandbox(scene: Scene) -> None:
    """The lines that the sandbox prints are the settings of a client."""
    lines = [line for line in scene.run("sandbox").output.splitlines() if line.startswith("  export ")]
    assert len(lines) == 5
    settings = "; ".join(line.strip() for line in lines)
    assert (
        f"{scene.shell.running[0].address} responds".removeprefix("http://")
        in scene.shell.run(f"{settings}; gateway-async check").output
    )


def check_lost_response(scene: Scene) -> None:
    """The response to the first sale is lost, the output is the same, and each id is charged once."""
    scene.run("curl")
    shown = next(block for block in blocks(scene.block.document, "console") if block.headline == "3. Run it")
    assert scene.run("first.py").output == commands(shown)[0].output
    assert [plan["affected"] for plan in scene.sandbox.faults()] == [1]
    assert set(scene.sandbox.ledger()["charged"].values()) == {1}


def check_start_page(scene: Scene) -> None:
    """The package is installed as on the page of the installation, whose test makes a virtual environment for it."""
    (installation,) = (block for block in BLOCKS if CHECKS.get((block.document, block.headline)) is check_installation)
    assert scene.remaining.pop(0) in commands(installation)
    scene.run("demo")


def check_ids(scene: Scene) -> None:
    """The commands print the ids of the location, the terminal and the contact."""
    scene.run("check")
    for name in ("location_id", "terminal_id", "contact_id"):
        assert json.loads(scene.run("list").output)["id"] == getattr(scene.sandbox, name)


def check_installation(scene: Scene) -> None:
    """A checkout and a wheel can be installed into the virtual environment, which then has the command.

    pip gets no index and no dependencies: `.ci/run` installs those, by the command of the README.
    """
    scene.run("venv")
    scene.run("activate")
    scene.run("/path/to/gateway-async")
    check_command(scene)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(scene.folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    scene.run("--find-links dist")
    check_command(scene)


def check_command(scene: Scene) -> None:
    """The command of the virtual environment is the one that the shell finds, and starts; it is then removed."""
    ended = scene.shell.run("command -v gateway-async && gateway-async -v")
    assert ended.output.startswith(f"{scene.folder}/.venv/bin/gateway-async\ngateway-async {__version__}\n")
    assert scene.shell.run("pip uninstall --yes gateway-async").status == 0


def check_contributing(scene: Scene) -> None:
    """The virtual environment gets the package, and nox finds its sessions.

    pip gets no index, makes no editable installation, and installs no dependencies. nox only lists the sessions.
    `.ci/run` installs all of them by the command of the README, and runs the sessions.
    """
    sessions = scene.run().output
    assert "* lint" in sessions
    assert "* types" in sessions
    assert "* tests-3.11" in sessions


def check_versions(scene: Scene) -> None:
    """The first command prints the version; the others end well."""
    assert scene.run("-v").output.startswith(f"gateway-async {__version__}\n")
    scene.run_all()


def check_workers(scene: Scene) -> None:
    """Both servers start their workers, which are ready for sales with the database and the leases."""
    scene.run("export DATABASE")
    for name in ("uvicorn", "gunicorn"):
        scene.run(name)
        ready = httpx.get(f"{scene.shell.running[-1].address}/ready", timeout=PATIENCE, trust_env=False)
        assert ready.json() == {"problems": [], "open_intents": 0, "calls_in_progress": 0}


def check_tests(scene: Scene) -> None:
    """Each command passes the tests of one file, in the place of all: the suite that runs this test has the others."""
    while scene.remaining:
        assert re.search(r"^=+ .*\d passed", scene.run("pytest").output, re.MULTILINE)


def check_simulation(scene: Scene) -> None:
    """No schedule breaks a rule, a schedule is replayed, and the planted bug is found: five seeds of a thousand."""
    assert "4 schedules, 0 with a broken rule" in scene.run("--processes").output
    assert scene.run("--seeds 101").output
    assert "at a terminal at the same time" in scene.run("--plant").output


def check_reliability(scene: Scene) -> None:
    """Rows pass, and fail without their protection: one row each in the place of all, in a copy of the tests."""
    assert "passed" in scene.run().output
    assert "* reliability" in scene.run("--short").output
    assert "passed" in scene.run("--share").output
    assert "FAILED, as it must" in scene.run("--without").output
    assert "steady-load" in scene.run("--list").output


CHECKS: Mapping[tuple[str, str], Callable[[Scene], None]] = {
    ("docs/guides/migration.md", "Migration"): check_migration,
    ("docs/guides/migration-dask.md", "Migration on several machines"): check_migration_on_dask,
    ("docs/guides/ledger.md", "Backup and restore"): check_backup,
    ("docs/guides/ledger.md", "Command"): check_ledger_command,
    ("docs/guides/operations.md", "After a crash"): check_recovery,
    ("docs/guides/postbacks.md", "Inboxes"): check_inbox,
    ("docs/guides/postbacks.md", "Development"): check_listening,
    ("docs/guides/deployment.md", "A service with several workers"): check_workers,
    ("docs/reference/command-line.md", "Completion"): check_completion,
    ("docs/reference/command-line.md", "Records"): check_records,
    ("docs/index.md", "gateway-async"): check_start_page,
    ("docs/sandbox/index.md", "Sandbox"): check_sandbox,
    ("docs/sandbox/pages.md", "The sandbox in a browser"): check_sandbox,
    ("docs/start/first-call.md", "1. Start the sandbox"): check_first_sandbox,
    ("docs/start/first-call.md", "5. Lose a response"): check_lost_response,
    ("docs/start/going-live.md", "Switch"): check_unchanged,
    ("docs/start/ids.md", "List them"): check_ids,
    ("docs/start/installation.md", "Installation"): check_installation,
    ("docs/start/installation.md", "Check the installation"): check_versions,
    ("docs/support.md", "Help"): check_versions,
    ("docs/why/reliability.md", "Reliability"): check_reliability,
    ("CONTRIBUTING.md", "Set-up"): check_contributing,
    ("tests/README.md", "Tests"): check_tests,
    ("tests/README.md", "The simulation"): check_simulation,
}
"""Checks of the claims of a page. Any other block only has to end with the documented exit status and output."""


@pytest.fixture
def scene(block: Block, sandbox: Sandbox, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """Prepare what a block needs, and end all of its processes afterwards."""
    if reason := skip_reason(block):
        pytest.skip(reason)
    database = request.getfixturevalue("ledger_database") if uses_database(block) else ""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    variables = environment_of(block.text, tmp_path, sandbox, database)
    shell = ShellSession(tmp_path, variables, forks=block.document not in UNFORKED)
    try:
        scene = Scene(block, sandbox, shell, database, commands(block))
        for name, prepare in INPUTS.items():
            if name in block.text:
                prepare(scene)
        yield scene
    finally:
        shell.close()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks(scene: Scene) -> None:
    """The commands of a block run in bash, end as documented, and do what their page claims."""
    CHECKS.get((scene.block.document, scene.block.headline), Scene.run_all)(scene)
    assert scene.remaining == []
    scene.end_servers()


WRONG = (
    "$ false",
    "$ gateway-async missing",
    "$ missing-program",
    "$ echo paid\ndeclined",
    "$ python -c 'raise OSError' || true",
    "$ gateway-async sandbox --data missing/sandbox.db",
)


@pytest.mark.parametrize("block", [Block("page.md", "Page", 1, "console", f"{text}\n") for text in WRONG], ids=WRONG)
def test_wrong_blocks(scene: Scene) -> None:
    """A block fails if a command fails, prints something else, shows a traceback, does not start or does not end."""
    with pytest.raises(AssertionError):
        scene.run_all()


@pytest.mark.parametrize(
    "block", [Block("page.md", "Page", 1, "console", "$ gateway-async sandbox\n")], ids=["sandbox"]
)
def test_a_failed_test_ends_its_servers(scene: Scene) -> None:
    scene.run()
    scene.shell.close()
    port = urlsplit(scene.shell.running[0].address).port

    def is_closed() -> bool:
        with socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    anyio.run(until, is_closed)


def test_commands() -> None:
    """A command has its continuation lines and no comment, and the lines below it are its output."""
    text = "$ echo 'a # b' \\\n    c#d   # comment\na # b c#d\n\n$ true\n"
    found = commands(Block("page.md", "Page", 1, "console", text))
    assert found == [Command("echo 'a # b' c#d", "a # b c#d\n\n"), Command("true")]
    sh = commands(Block("page.md", "Page", 1, "sh", "# comment\n\npytest   # everything\n"))
    assert sh == [Command("pytest")]
    with pytest.raises(ValueError, match="cannot read"):
        commands(Block("page.md", "Page", 1, "sh", "echo 'not closed\n"))


def test_languages() -> None:
    """No document has a block of a language that no test handles, such as `bash` or none."""
    languages = {language for document in PAGES for language in languages_of(document) if language[:1] != "{"}
    assert languages == LANGUAGES


def test_texts() -> None:
    """A block of plain text shows no command, and is either compared or a drawing."""
    pages = [page for page in PAGES if not page.startswith("docs/tutorials/")]  # test_tutorials.py compares theirs
    texts = [block for document in pages for block in blocks(document, "text")]
    assert sorted((block.document, block.headline) for block in texts) == sorted(TEXTS)
    programs = {command.text.split()[0] for block in BLOCKS for command in commands(block)}
    assert [str(block) for block in texts if programs & {line.split(" ")[0] for line in block.text.splitlines()}] == []


def test_a_block_that_installs_packages_makes_a_virtual_environment() -> None:
    # pip would change the environment that runs the tests.
    installing = [block for block in BLOCKS if "pip install" in block.text and "-m venv" not in block.text]
    assert [CHECKS.get((block.document, block.headline)) for block in installing] == [check_start_page]


def test_entries() -> None:
    """Each check, input, status, server and placeholder belongs to a block."""
    text = "\n".join(block.text for block in BLOCKS)
    lines = {command.text for block in BLOCKS for command in commands(block)}
    assert [name for name in VALUES if name not in text] == []
    assert CHECKS.keys() - {(block.document, block.headline) for block in BLOCKS} == set()
    assert (STATUSES.keys() | SHORT_FORMS.keys()) - lines == set()
    assert [name for name in INPUTS if name not in text] == []
    assert [start for start in SERVERS if not any(line.startswith(start) for line in lines)] == []
