"""The command as such: help, version, wrong usage, missing extras."""

import importlib.metadata
import platform
import socket
import ssl
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from typer.main import get_command

from gateway_async.cli.app import COMMANDS, app
from gateway_async.cli.inbox import InboxCommand
from gateway_async.cli.trigger import EVENTS
from tests.support.in_process import run
from tests.support.processes import run_python

WITHOUT = """
import sys
from gateway_async.cli import main
sys.modules["{}"] = None
sys.argv = ["gateway-async", "sandbox"]
main()
"""


@pytest.mark.parametrize("option", ["--version", "-v"])
def test_version(option: str) -> None:
    """The version of the package comes first; those of Python, TLS and the libraries follow, each once."""
    ended = run(option)
    first, *others = ended.stdout.splitlines()
    assert (ended.returncode, first) == (0, f"gateway-async {importlib.metadata.version('gateway-async')}")
    assert {f"Python {platform.python_version()} ({platform.python_implementation()})", ssl.OPENSSL_VERSION} <= {
        *others
    }
    assert [line for line in others if line.startswith("httpx ")] == [f"httpx {importlib.metadata.version('httpx')}"]


CARD, PASSWORD = "5454545454545454", "planted-82c1"
ADDRESS = f"postgresql://till:{PASSWORD}@127.0.0.1:1/db"


@pytest.mark.parametrize(
    "arguments",
    [
        ("get", CARD, "x"),
        ("get", "contacts", "1", CARD),
        ("create", "transactions", f"account_number={CARD}"),
        ("create", "transactions", "cvv=7391", "exp_date=1230"),
        ("create", "transactions", "--json", f'{{"account_number":"{CARD}","cvv":"7391"}}'),
        ("create", "transactions", f'{{"transaction": {{"account_number": {CARD}, "cvv": 7391}}}}'),
        ("create", "transactions", "--cvw=7391", "--set=cvv=7391", f"password={PASSWORD}"),
        ("list", "contacts", f"https://till:{PASSWORD}@shop.test/?cvv=7391"),
        ("migrate", ADDRESS),
        ("migrate", ADDRESS, "--plan"),
        ("migrate", "verify", ADDRESS),
        ("migrate", "--columns", ADDRESS, "in.csv"),
        ("sandbox", "--json", "--port", "0", "--data", ADDRESS),
        ("sandbox", "--json", "--port", "0", "--data", ADDRESS.replace("postgresql", "redis")),
    ],
    ids=" ".join,
)
def test_wrong_usage_shows_no_secret(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.returncode != 0
    assert ended.stderr
    assert [secret for secret in (CARD, "7391", PASSWORD) if secret in ended.stderr + ended.stdout] == []


HELP = {
    ("--help",): "migrate verify",
    ("-h",): "- 4: the outcome of a write is unknown",
    ("get", "contacts", "-h"): "--api-id",
    ("migrate", "-h"): "- 130, 143: stopped by Ctrl-C, by SIGTERM",
    ("migrate", "verify", "-h"): "--sample",
}


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help(arguments: tuple[str, ...]) -> None:
    """`-h` is `--help`, with exit statuses and options; `test_terminal.py` has that of every command."""
    ended = run(*arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Usage: gateway-async")
    assert HELP[arguments] in ended.stdout


MESSAGES = {
    ("nonsense",): "No such command 'nonsense'.",
    ("lsten",): "No such command 'lsten'. Did you mean 'listen', 'list'?",
    ("sandbox", "--prt", "1"): "No such option: --prt (Possible options: --port)",
    ("sandbox", "--port"): "Option '--port' requires an argument.",
    ("sandbox", "--terminals", "x"): "Invalid value for '--terminals': 'x' is not one of 'auto', 'manual'.",
    ("sandbox", "--port", "65536"): "Invalid value for '--port': Input should be less than or equal to 65535",
    ("sandbox", "--terminal-delay", "nan"): (
        "Invalid value for '--terminal-delay': Input should be less than or equal to 300"
    ),
    ("sandbox", "--data", "."): "Invalid value for '--data': file '.' is a directory.",
    ("sandbox", "extra"): "Got unexpected extra argument(s) (extra)",
    ("ledger",): "Missing argument 'FILE'.",
    ("inbox", "none.db"): "FILE: none.db does not exist",
    ("ledger", "none.db", "--resolve", "a"): "--resolve and --as: use both or neither (expected --as done|not_made)",
    ("ledger", "none.db", "--as", "done"): "--resolve and --as: use both or neither (expected --as done|not_made)",
    (
        "ledger",
        "none.db",
        "--resolve",
        "a",
        "--as",
        "x",
    ): "Invalid value for '--as': 'x' is not one of 'done', 'not-made'.",
    ("ledger", "none.db", "--resolve", "a", "--as", "done", "--recover"): (
        "--recover, --resolve, --reconcile and --all: only one of them can be used"
    ),
    ("ledger", "none.db", "--reconcile", "0001-01-01T00:00+01:00"): (
        "Invalid value for '--reconcile': not a time (expected 2026-01-01 or 2026-01-01T12:00)"
    ),
    ("ledger", "none.db", "--reconcile", "2020-01-01"): (
        "--reconcile: too early (expected within --keep-days, 30 days)"
    ),
    ("ledger", "none.db", "--reconcile", "2026-01-01", "--keep-days", "inf"): "FILE: none.db does not exist",
    ("inbox", "none.db", "--replay", "9" * 19): (
        f"Invalid value for '--replay': Input should be less than or equal to {2**63 - 1}"
    ),
    ("inbox", "none.db", "--discard", "0"): "Invalid value for '--discard': Input should be greater than or equal to 1",
    ("ledger", "none.db", "--until", "2026-01-01"): "--until: needs --reconcile",
    ("inbox", "none.db", "--dead", "--replay-dead"): (
        "--dead, --waiting, --all, --replay, --replay-dead, --discard: only one of them can be used"
    ),
    ("listen", "--username", "shop"): "--username and --password: use both or neither",
    ("listen", "--username", "a:b", "--password", "c"): "username: must not contain a colon in Basic authorization",
    ("listen", "--resource", "contact"): "--resource, --product-transaction-id, --url: need --create-configs",
    ("listen", "--create-configs"): (
        "--product-transaction-id: required for transaction and transactionbatch "
        "(not for --resource contact --resource accountvault)"
    ),
    ("listen", "--create-configs", "--resource", "contact"): (
        "--url: required, because api.example.test cannot reach 127.0.0.1"
    ),
    (
        "trigger",
        "contact.sell",
    ): f"Invalid value for 'EVENT': 'contact.sell' is not one of {', '.join(map(repr, EVENTS))}.",
    ("migrate", "cards.csv", "--plan", "--serve", "0"): "serve: not allowed with --plan",
    ("get", "contact", "1"): "No such command 'contact'. Did you mean 'contacts'?",
    ("check",): "GATEWAY_BASE_URL: is not set in the environment",
    ("list", "contacts", "--sort", "-"): "GATEWAY_BASE_URL: is not set in the environment",
    ("ledger", "--json", "none.db"): "FILE: none.db does not exist",
}


@pytest.mark.parametrize("arguments", MESSAGES, ids=" ".join)
def test_usage_messages(arguments: tuple[str, ...]) -> None:
    """Each is one line: Typer's own text, or ours about options that contradict each other. Nothing is sent."""
    ended = run(*arguments, **({"GATEWAY_BASE_URL": "https://api.example.test"} if arguments[0] == "listen" else {}))
    message, *rest = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message == f"gateway-async: {MESSAGES[arguments]}"
    assert [line for line in rest if not line.startswith(("Help: ", "gateway-async: "))] == []


STORES = {
    ("ledger", "ADDRESS"): "FILE",
    ("inbox", "ADDRESS", "--replay-dead"): "FILE",
    ("check", "--ledger", "ADDRESS"): "--ledger",
    ("check", "--inbox", "ADDRESS"): "--inbox",
    ("migrate", "journal", "ADDRESS", "--name", "cards"): "journal",
    ("migrate", "verify", "--journal", "ADDRESS", "--name", "cards"): "journal",
    ("migrate", "CARDS", "--journal", "ADDRESS", "--name", "cards"): "journal",
}


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:planted@h:abc/db",
        "postgres://h:99999/db",
        "postgresql://[::1/db",
        "postgresql+asyncpg://u:planted@h/db",
        "postgresql:u:planted@h/db",
    ],
)
@pytest.mark.parametrize("arguments", STORES, ids=" ".join)
def test_an_invalid_address(tmp_path: Path, arguments: tuple[str, ...], address: str) -> None:
    """A bad port or bracket in the address of a database is one line, before anything else is done."""
    (tmp_path / "cards.csv").write_text("key,account_number\n")
    given = {"ADDRESS": address, "CARDS": str(tmp_path / "cards.csv")}
    ended = run(*(given.get(each, each) for each in arguments))
    said = f"gateway-async: {STORES[arguments]}: invalid address (expected postgresql://"
    assert (ended.returncode, ended.stdout) == (2, "")
    assert [line.startswith(said) for line in ended.stderr.splitlines()] == [True]
    assert "planted" not in ended.stderr


def test_only_errors_of_files_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([PermissionError(13, "Permission denied", "cards.csv"), TimeoutError(), ConnectionResetError()])
    monkeypatch.setattr(InboxCommand, "run", Mock(side_effect=errors))
    ended = run("inbox", "inbox.db")
    assert (ended.returncode, ended.stderr) == (1, "gateway-async: [Errno 13] Permission denied: 'cards.csv'\n")
    for bug in (TimeoutError, ConnectionResetError):  # Python shows where it comes from
        with pytest.raises(bug):
            run("inbox", "inbox.db")


@pytest.mark.parametrize("module", ["gateway_async", "gateway_async.cli"])
def test_python_m(module: str) -> None:
    """`python -m gateway_async` is the command."""
    ended = run_python("-m", module, "-v")
    assert (ended.returncode, ended.stdout.split()[0]) == (0, "gateway-async")


def test_lazy_commands() -> None:
    """The help of the command loads no subcommand, so that it and completions are fast."""
    help_of_all = "import sys; from typer.testing import CliRunner; from gateway_async.cli.app import app\n"
    done = run_python("-c", f"{help_of_all}CliRunner().invoke(app, ['--help']); print(*sys.modules)")
    heavy = {f"gateway_async.cli.{command.module}" for command in COMMANDS.values()} | {
        *("gateway_async.migration", "gateway_async.postbacks", "gateway_async.sandbox"),
        *("jinja2", "starlette", "uvicorn"),
    }
    assert "gateway_async.cli.app" in done.stdout.split()
    assert heavy & {*done.stdout.split()} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_summaries(command: str) -> None:
    """The list of commands says of each what its own help says."""
    listed: Any = get_command(app)
    said = " ".join(listed.resolve_command(None, command.split())[1].help.split("\n\n")[0].split())
    assert said.startswith(COMMANDS[command].summary)


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
