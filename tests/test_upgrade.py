"""`python -m gateway_async.upgrade`: it finds what a program written for 0.2 calls by its former name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gateway_async
from gateway_async import LedgerError, Record, Reply, SendStage, postbacks
from gateway_async.migration import Report
from gateway_async.observe import AttemptEnded, AttemptFailed, CallEnded
from gateway_async.postbacks.http.response import ReceiverResponse
from gateway_async.sandbox.http.request_log import LoggedRequest
from gateway_async.telemetry import Readiness
from gateway_async.upgrade import CHANGES, NameChange, NameKind, find_in_python, find_in_text, main, table
from tests.docs.documents import ROOT, read

PAGE = "docs/guides/upgrading.md"
PROGRAM = """
import gateway_async as sdk
from gateway_async import AsyncGateway, LedgerError, OutcomeUnknownError, QuickInvoiceUpdate, Reached
from gateway_async.migration import Report, migrate_vaults
from gateway_async.observe import AttemptFailed, CallEnded, Event, OutcomeLookedUp, TerminalProgress
from gateway_async.postbacks import Postback, PostbackReceiver, PostgresInbox, Reconciled
from gateway_async.sandbox import Sandbox
from gateway_async.telemetry.readiness import Readiness

sandbox = Sandbox(0, "127.0.0.1", None, "manual")
receiver = PostbackReceiver("shop", "secret", inbox=PostgresInbox(database="postgresql://127.0.0.1/shop"))


def observe(event: Event) -> None:
    match event:
        case AttemptFailed(verdict="look up"):
            print(event.error)
        case CallEnded():
            print(event.status)
        case OutcomeLookedUp(outcome="not there"):
            print("not there")


def show(progress: TerminalProgress) -> str:
    return "please wait" if progress.state == "looking it up" else ""


async def handle(postback: Postback) -> None:
    print(postback.reconciled)


async def work(gateway: AsyncGateway, ready: Readiness, report: Report) -> None:
    sandbox.fault("POST /v2/transactions", "double_answer")
    try:
        await gateway.transactions.increment("1", amount="15.00")
        await gateway.transactions.tip_adjust("1", "2.00", amount="17.00")
    except OutcomeUnknownError as error:
        if error.reached is sdk.Reached.RESPONSE_CUT:
            raise
    except LedgerError as error:
        print(error.path)
    update = QuickInvoiceUpdate(title="Tea", cell_phone="5551234567")
    await gateway.quick_invoices.update("1", update)
    await gateway.quick_invoices.resend("1", True)
    reply = await gateway.request("GET", "/v2/contacts")
    print(reply.status, ready.open_intents, report.waiting)
    await receiver.work(True)
"""
FOUND = [
    "3: gateway_async.Reached → SendStage",
    "6: gateway_async.postbacks.Reconciled → CatchUpResult",
    "8: gateway_async.telemetry.readiness → gateway_async.telemetry (import the names from the package)",
    "10: Sandbox(…, terminals) → terminals=… (by keyword only)",
    "11: PostgresInbox(database=…) → dsn",
    "16: AttemptFailed.verdict → next_step (a `NextStep`, which equals its text)",
    "19: Reply.status or AttemptFailed.status or CallEnded.status → status_code (as in every error)",
    '20: "not there" of OutcomeLookedUp.outcome → not found',
    '21: "not there" of OutcomeLookedUp.outcome → not found',
    '25: "looking it up" of TerminalState.LOOKING_UP → looking up',
    "29: Postback.reconciled → caught_up",
    '33: "double_answer" of sandbox.fault → duplicate_response (the old name still works)',
    "35: transactions.increment(amount=…) → new_total",
    "36: transactions.tip_adjust(amount=…) → new_total",
    "38: SendStage.RESPONSE_CUT → RESPONSE_TRUNCATED",
    "38: gateway_async.Reached → SendStage",
    "41: LedgerError.path → location",
    "42: QuickInvoiceUpdate(cell_phone=…) is gone (the gateway refuses it; `extra` still sends it)",
    "44: quick_invoices.resend(…, email) → email=… (by keyword only)",
    "46: Readiness.open_intents → open_intent_count",
    "46: Reply.status or AttemptFailed.status or CallEnded.status → status_code (as in every error)",
    "46: Report.waiting → waits_for",
    "47: PostbackReceiver.work(…, until_empty) → until_empty=… (by keyword only)",
]
SETTINGS = """
check:
  command:
    - gateway-async
    - check
    - --table
    - payments
alert: 'looked up: not there'
run: gateway-async create contacts \\
    --json contact.json
"""


def found_in(source: str) -> list[str]:
    """Return the lines that the command prints, without the name of the file."""
    return [f"{found.line}: {found.text}" for found in find_in_python(source)]


def test_a_program_for_the_former_version_is_read() -> None:
    assert found_in(PROGRAM) == FOUND


def test_the_same_program_with_the_new_names_is_clean() -> None:
    new = PROGRAM
    for old, name in {
        "Reconciled": "CatchUpResult",
        "Reached": "SendStage",
        "RESPONSE_CUT": "RESPONSE_TRUNCATED",
        "telemetry.readiness": "telemetry",
        '"127.0.0.1", None, "manual"': '"127.0.0.1", None, terminals="manual"',
        "database=": "dsn=",
        "verdict=": "next_step=",
        ".status": ".status_code",
        "not there": "not found",
        "looking it up": "looking up",
        ".reconciled": ".caught_up",
        "double_answer": "duplicate_response",
        "amount=": "new_total=",
        "error.path": "error.location",
        ', cell_phone="5551234567"': "",
        '"1", True': '"1", email=True',
        ".open_intents": ".open_intent_count",
        "report.waiting": "report.waits_for",
        "work(True)": "work(until_empty=True)",
    }.items():
        assert old in new
        new = new.replace(old, name)
    assert found_in(new) == []


@pytest.mark.parametrize(
    "source",
    [
        "import httpx\nprint(httpx.get('http://127.0.0.1').status)",
        "import gateway_async\nprint(await_ledger.open_intents())",
        "from gateway_async import AsyncGateway\nawait_ = gateway.reconcile(since=None)",
        "import gateway_async\n# Reached, Reconciled, error.path",
        "import subprocess\nsubprocess.run(['gateway-async', 'list', 'contacts', '--json'])",
    ],
    ids=["another library", "a method of the same name", "a new method", "a comment", "another command"],
)
def test_other_uses_of_a_word_are_left_alone(source: str) -> None:
    assert found_in(source) == []


def test_commands_and_messages_are_found_in_scripts_and_settings() -> None:
    assert [f"{found.line}: {found.text}" for found in find_in_text(SETTINGS)] == [
        "4: gateway-async check --table → --ledger-table, --inbox-table",
        "8: looked up: not there → looked up: not found",
        "9: gateway-async create --json → --data (`--json` prints the record on one line)",
    ]
    program = "import subprocess\nsubprocess.run(['gateway-async', 'check', '--table', 'payments'])"
    assert found_in(program) == ["2: gateway-async check --table → --ledger-table, --inbox-table"]


def test_the_command_searches_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "shop.py").write_text(PROGRAM, encoding="utf-8")
    for name in (".venv/shop.py", "site-packages/shop.py", "rows.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def", encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{tmp_path}/broken.py:1: not searched: invalid syntax"
    assert printed[1:] == [f"{tmp_path}/shop.py:{line}" for line in FOUND]


def test_odd_files_neither_end_the_search_nor_pass_for_clean_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "from gateway_async import Reached\nname = 'Zoë'\n"
    found = "gateway_async.Reached → SendStage"
    contents = {
        "bom.py": (program.encode("utf-8-sig"), f"1: {found}"),
        "declared.py": (f"# coding: latin-1\n{program}".encode("latin-1"), f"2: {found}"),
        "deep.py": (b"+".join([b"1"] * 200_000), "1: not searched: too deeply nested"),
        "undeclared.py": (program.encode("latin-1"), "1: not searched: "),
    }
    for name, (content, _) in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "dangling.py").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    assert main([str(tmp_path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(contents)
    for line, (name, (_, expected)) in zip(printed, contents.items(), strict=True):
        assert line.startswith(f"{tmp_path}/{name}:{expected}")


def test_a_clean_folder_ends_with_0(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gateway_async.upgrade", "examples", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "nothing found\n")


def test_a_missing_path_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["no-such-folder"])
    assert "no-such-folder: not found" in capsys.readouterr().err


OWNERS = {
    "AttemptEnded": AttemptEnded,
    "AttemptFailed": AttemptFailed,
    "CallEnded": CallEnded,
    "Claim": postbacks.Claim,
    "LedgerError": LedgerError(reason="", location=""),
    "LoggedRequest": LoggedRequest,
    "Postback": postbacks.Postback,
    "PostbackReceiver": postbacks.PostbackReceiver,
    "Readiness": Readiness,
    "ReceiverResponse": ReceiverResponse,
    "Record": Record,
    "Reply": Reply,
    "Report": Report,
    "SendStage": SendStage,
    "gateway_async": gateway_async,
    "gateway_async.postbacks": postbacks,
}


@pytest.mark.parametrize(
    "change",
    [one for one in CHANGES if one.kind in (NameKind.NAME, NameKind.ATTRIBUTE, NameKind.METHOD)],
    ids=lambda change: f"{change.owner}.{change.old}",
)
def test_each_old_name_is_gone_and_each_new_one_exists(change: NameChange) -> None:
    owner = OWNERS[change.owner]
    names = {*dir(owner), *getattr(owner, "__annotations__", {})}
    assert change.old not in names
    assert not change.new or change.new in names


def test_the_page_has_the_table() -> None:
    assert table() in read(PAGE)
