"""A document's shell block with what it needs: a sandbox, files, servers, and the values of its placeholders."""

import json
import os
import re
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import anyio
import attrs

from gateway_async import Intent, PostgresLedger, SqliteLedger, TransactionCreate
from gateway_async._wire.postback import postback_of
from gateway_async.cli.output import ExitStatus
from gateway_async.postbacks import SqliteInbox
from gateway_async.sandbox import Sandbox
from tests.support.intents import SALE
from tests.support.servers import POSTGRES, REDIS
from tests.support.sqlite_files import ask_sqlite

from .documents import ROOT, Block, blocks
from .shell_session import Command, Ended, Server, ShellSession, commands

SOURCES = ("LICENSE", "README.md", "docs", "gateway_async", "hatch_build.py", "noxfile.py", "pyproject.toml")
"""Files of the checkout that its installation and its sessions need."""
OFFLINE = {
    "PYTHONPATH": sysconfig.get_path("purelib"),
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip sets such an option by a false value
    "PIP_NO_COMPILE": "0",
}
"""Variables by which pip installs the package from files of this machine, beside those that are installed."""

OPTIONAL_PROGRAMS = ("curl", "pg_dump", "psql", "sqlite3")
CARD = "4111111111111111"
CARDS = [f"customer-{number},{CARD},12/30" for number in range(11)] + ["customer-11,4111111111111111,13/30"]
"""Rows of cards.csv, the last with a month that does not exist."""

SERVERS: Mapping[str, Server] = {
    "gateway-async sandbox": Server("--port 0", "Press Ctrl-C", "http://127.0.0.1:8080"),
    "gateway-async listen": Server("--port 0", "Press Ctrl-C"),
    "uvicorn": Server("--port 0", "Application startup complete", "http://127.0.0.1:8000"),
    "gunicorn": Server("--bind 127.0.0.1:0", "Application startup complete", "http://127.0.0.1:8000"),
    "dask scheduler": Server(
        "--host 127.0.0.1 --port 0 --dashboard-address 127.0.0.1:0", "Scheduler at:", "tcp://scheduler:8786"
    ),
    "dask worker": Server("--host 127.0.0.1 --dashboard-address 127.0.0.1:0", "Registered to:"),
}
"""Commands that serve, by their first words."""


def serves(text: str) -> bool:
    """Return whether a command runs until a signal ends it."""
    return any(f"{text} ".startswith(f"{start} ") for start in SERVERS)


def server_of(text: str) -> Server:
    """Return how to run a command that serves."""
    start = next(start for start in SERVERS if f"{text} ".startswith(f"{start} "))
    found = re.search(r" --workers (\d+)", text)
    workers = int(found[1]) if found else 1
    killed = (start, workers) == ("uvicorn", 1)  # with one process, uvicorn leaves the signal to the system
    return attrs.evolve(SERVERS[start], workers=workers, status=128 + signal.SIGTERM if killed else 0)


STATUSES: Mapping[str, int] = {
    "gateway-async ledger payments.db": ExitStatus.ATTENTION,
    'gateway-async ledger "$DATABASE" --table payment_ledger --all': ExitStatus.ATTENTION,
    "gateway-async inbox inbox.db": ExitStatus.ATTENTION,
    "gateway-async check --ledger payments.db --inbox inbox.db": ExitStatus.ATTENTION,
    "gateway-async migrate cards.csv --plan": ExitStatus.ATTENTION,
    "gateway-async migrate cards.csv --max-rows 10": ExitStatus.STOPPED,
    "gateway-async migrate cards.csv --out vaults.csv --rejects rejects.csv --report report.html": ExitStatus.ATTENTION,
    "gateway-async migrate /shared/cards.csv --name cards --journal postgresql://cards@database/migrations "
    "--out vaults.csv": ExitStatus.ATTENTION,
    "gateway-async migrate verify cards.csv": ExitStatus.ATTENTION,
    "python -m gateway_async.upgrade src tests deploy": 1,
    "python -m tests.simulation --seeds 0..1000 --plant lost-lease": 1,  # a rule is broken
}
"""Exit statuses other than 0: an open call in the ledger, a dead postback, a wrong row, a former name in a program."""


NOX = "nox --no-venv --no-install"
SHORT_FORMS: Mapping[str, str] = {
    "gateway-async demo": "gateway-async demo --help",  # tests/cli/test_demo.py runs it
    "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/nox": (
        "python3 -m venv --without-pip .venv && pip --python .venv install '.[dev]' && .venv/bin/python -m nox --list"
    ),
    "pytest": "pytest tests/test_errors.py",
    "pytest -m contract": "pytest -m contract tests/contract/test_rows.py",
    "pytest -m docs": "pytest -m docs tests/docs/test_picture.py",
    "pytest -m house": "pytest -m house tests/architecture/test_field_docstrings.py",
    "pytest -m chaos": "pytest -m chaos tests/crash_testing/test_invariants.py",
    'pytest -m "not slow" -n 8': 'pytest -m "not slow" -n 1 tests/test_errors.py',
    "pytest tests/contract -k paylink": "pytest tests/contract/test_rows.py -k paylink",
    "python -m tests.simulation --seeds 0..1000 --processes 2": (
        "python -m tests.simulation --seeds 10..14 --processes 2"
    ),
    "python -m tests.simulation --seeds 0..1000 --plant lost-lease": (
        "python -m tests.simulation --seeds 10..14 --plant lost-lease"
    ),
    "nox -s reliability": f"{NOX} -s reliability -- cut-ledger --short",
    "nox -s reliability -- --short": f"{NOX} --list -s reliability -- --short",
    "nox -s reliability -- steady-load --share 0.1": "python -m tests.reliability cut-ledger --share 0.001",
    "nox -s reliability -- --without retry-budget": "python -m tests.reliability --without retry-budget",
    "nox -s reliability -- --list": "python -m tests.reliability --list",
    "nox -s benchmarks": f"{NOX} -s benchmarks -- decoding --rounds 1",
    "nox -s benchmarks -- calls": f"{NOX} --list -s benchmarks -- calls",
    "python benchmarks/calls.py --rounds 3 --calls 300": "python benchmarks/decoding.py --rounds 1",
}
"""Shorter forms of commands that take minutes: fewer tests, rows, seeds and rounds, and no installation of packages."""


@attrs.define
class Scene:
    """A block with what it needs: a sandbox, a shell in a folder, and a database.

    Attributes:
        remaining: the commands that have not been run.
        values: replacements of addresses and placeholders, beside those of `VALUES`.
    """

    block: Block
    sandbox: Sandbox
    shell: ShellSession
    database: str
    remaining: list[Command]
    values: dict[str, str] = attrs.Factory(dict)

    @property
    def folder(self) -> Path:
        """The working directory of the shell."""
        return self.shell.folder

    def run(self, part: str = "", status: int | None = None, given: str = "") -> Ended:
        """Run the next command, which contains `part`, and compare its exit status and its output."""
        command = self.remaining.pop(0)
        assert part in command.text
        text = self.replace(SHORT_FORMS.get(command.text, command.text))
        if serves(command.text):
            running = self.shell.serve(text, server_of(text))
            self.values[running.server.address or text] = running.address
            return Ended(0, running.output, "")
        ended = self.shell.run(text, given)
        expected = STATUSES.get(command.text, 0) if status is None else status
        assert ended.status == expected, f"{text}\n{ended.output}{ended.errors}"
        assert "Traceback" not in ended.errors
        assert command.output in ("", ended.output)
        return ended

    def run_all(self) -> None:
        while self.remaining:
            self.run()

    def replace(self, text: str) -> str:
        """Replace the addresses and placeholders of a command."""
        values = {name: partial(make, self) for name, make in VALUES.items()} | {
            name: partial(str, value) for name, value in self.values.items()
        }
        names = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
        return re.sub(rf"(?<![\w-])(?:{names})(?!\w)", lambda match: values[match[0]](), text)

    def end_servers(self) -> None:
        """End the servers, and compare their exit statuses."""
        expected = [running.server.status for running in self.shell.running]
        assert self.shell.end_servers() == expected
        self.shell.running.clear()


VALUES: Mapping[str, Callable[[Scene], str]] = {
    "ID": lambda scene: scene.sandbox.contact_id,
    "API_ID": lambda _: "order-18",
    "NUMBER": lambda _: "1",
    "2026-11-01": lambda _: f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}",
    "2026-11-02": lambda _: f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}",
    "http://127.0.0.1:8080": lambda scene: scene.sandbox.base_url,
    "/shared/cards.csv": lambda scene: f"{scene.folder}/cards.csv",
    "postgresql://cards@database/migrations": lambda scene: scene.database,
    "postgresql://127.0.0.1/shop": lambda scene: scene.database,
    "redis://redis:6379/0": lambda _: REDIS,
    "redis://127.0.0.1:6379/0": lambda _: REDIS,
    "/path/to/gateway-async": lambda _: f"{ROOT}",
}
"""Values of the addresses and placeholders in the documents."""


async def sell(sandbox: Sandbox, ledger: SqliteLedger | None, api_id: str, amount: str = "12.50") -> None:
    """Charge a card of the sandbox's contact; the amount 6.16 is declined."""
    sale = TransactionCreate(
        action="sale",
        account_number=CARD,
        exp_date="1230",
        transaction_amount=amount,
        transaction_api_id=api_id,
        contact_id=sandbox.contact_id,
    )
    async with sandbox.gateway(ledger=ledger) as gateway:
        await gateway.transactions.create(sale)


async def record(ledger: SqliteLedger | PostgresLedger, intent: Intent) -> None:
    """Record an open call, and close the ledger."""
    async with aclosing(ledger):
        await ledger.record_intent(intent)


def write_ledger(scene: Scene) -> None:
    """Write a ledger with an executed sale whose outcome is not recorded, as after a crash."""
    path = scene.folder / "payments.db"
    anyio.run(sell, scene.sandbox, SqliteLedger(path), "order-17")
    ask_sqlite(path, "UPDATE intents SET outcome = NULL")


def write_inbox(scene: Scene) -> None:
    """Write an inbox with two dead postbacks."""

    async def fill() -> None:
        async with aclosing(SqliteInbox(scene.folder / "inbox.db")) as inbox:
            for record in ("first", "second"):
                raw = {"id": record, "modified_ts": 1_700_000_000}
                await inbox.store(postback_of("UPDATE", "transaction", raw))
            for claimed in await inbox.claim(2, 60):
                await inbox.fail(claimed, "ValueError: no such order", None)

    anyio.run(fill)


def write_table(scene: Scene) -> None:
    """Write a ledger with an open call into the database."""
    anyio.run(record, PostgresLedger(scene.database), SALE)


def write_cards(scene: Scene) -> None:
    lines = ["key,account_number,exp_date", *CARDS, ""]
    (scene.folder / "cards.csv").write_text("\n".join(lines), encoding="utf-8")


def write_sale(scene: Scene) -> None:
    sale = {"action": "sale", "account_number": CARD, "exp_date": "1230", "transaction_amount": "12.50"}
    (scene.folder / "sale.json").write_text(json.dumps(sale), encoding="utf-8")


def write_tutorial(scene: Scene) -> None:
    program, *_ = blocks("docs/start/first-call.md", "python")
    (scene.folder / "first.py").write_text(program.text, encoding="utf-8")


def create_order(scene: Scene) -> None:
    """Make the sale order-1001, after a declined one."""
    anyio.run(sell, scene.sandbox, None, "order-1000", "6.16")
    anyio.run(sell, scene.sandbox, None, "order-1001")


def write_former_program(scene: Scene) -> None:
    """Write a program and a settings file for version 0.2, and a folder without any."""
    for name in ("src", "tests", "deploy"):
        (scene.folder / name).mkdir()
    program = "\n" * 18 + "def show(failed: AttemptFailed) -> None: print(failed.verdict)\n"
    (scene.folder / "src/shop.py").write_text(program, encoding="utf-8")
    command = "check:\n  image: shop\n  command:\n    - gateway-async\n    - check\n    - --table\n    - payments\n"
    (scene.folder / "deploy/check.yaml").write_text(command, encoding="utf-8")


def link_checkout(scene: Scene, *names: str) -> None:
    """Link files and folders of the checkout into the folder of the shell."""
    for name in names:
        (scene.folder / name).symlink_to(ROOT / name)


def copy_checkout(scene: Scene, name: str) -> None:
    """Copy a folder of the checkout whose programs write into it, and link the others."""
    shutil.copytree(ROOT / name, scene.folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    link_checkout(scene, *SOURCES)


INPUTS: Mapping[str, Callable[[Scene], None]] = {
    "payments.db": write_ledger,
    "inbox.db": write_inbox,
    "$DATABASE": write_table,
    "cards.csv": write_cards,
    "sale.json": write_sale,
    "first.py": write_tutorial,
    "order-1001": create_order,
    "gateway_async.upgrade": write_former_program,
    "examples": lambda scene: link_checkout(scene, "examples"),
    "tests.simulation": lambda scene: link_checkout(scene, "tests"),
    "tests/contract": lambda scene: link_checkout(scene, "tests", *SOURCES),
    "'.[dev]'": lambda scene: link_checkout(scene, *SOURCES),
    "nox -s reliability": lambda scene: copy_checkout(scene, "tests"),
    "nox -s benchmarks": lambda scene: copy_checkout(scene, "benchmarks"),
}
"""Preparations of a block, by a text that it contains."""


def environment_of(text: str, folder: Path, sandbox: Sandbox, database: str) -> dict[str, str]:
    """Return the variables of a user who has pasted those of the sandbox."""
    return {
        **bare_environment(folder),
        **sandbox.environment(),
        **({"DATABASE": database} if database else {}),
        **({**OFFLINE, "PIP_IGNORE_INSTALLED": "1"} if "pip install" in text else {}),
    }


def bare_environment(folder: Path) -> dict[str, str]:
    """Return the variables of a user without settings."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }


def uses_database(block: Block) -> bool:
    """Return whether a block names a PostgreSQL."""
    return "$DATABASE" in block.text or "postgresql://" in block.text


def skip_reason(block: Block) -> str:
    """Return why a block cannot run on this machine; "" if it can."""
    programs = {command.text.split()[0] for command in commands(block)}
    if missing := [name for name in OPTIONAL_PROGRAMS if name in programs and not shutil.which(name)]:
        return f"install {', '.join(missing)}"
    if "benchmarks" in block.text and not find_spec("openai"):
        return "pip install -e '.[benchmarks]'"
    if re.search(r"\bnox\b", block.text) and not find_spec("nox"):
        return "pip install -e '.[dev]'"
    if not POSTGRES and uses_database(block):
        return "set GATEWAY_TEST_POSTGRES=postgresql://postgres@127.0.0.1:5432/test"
    if not REDIS and "redis://" in block.text:
        return "start a Redis on 127.0.0.1 and set GATEWAY_TEST_REDIS=redis://127.0.0.1:6379/0"
    return ""
