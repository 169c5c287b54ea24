"""Standard output is closed, full or a pipe whose reader has left; in each case a write is reported, with its ids."""

import json
import os
import re
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE

import anyio
import httpx
import pytest

from gateway_async import AsyncGateway, CardVaultCreate, ContactCreate
from gateway_async.migration import migrate_vaults
from gateway_async.postbacks import SqliteInbox
from gateway_async.sandbox import Sandbox
from tests.cli.test_inbox import fill
from tests.cli.test_ledger import OPEN, lose, write
from tests.support.processes import COMMAND, ENVIRONMENT, Ended, Process, Start, start_command
from tests.support.waiting import PATIENCE

CARD = "4111111111111111"
SALE = ("--account-number", "@-", "--exp-date", "1230", "--action", "sale")
FULL, CLOSED, LEFT = ">/dev/full", ">&-", "a pipe whose reader has left"
REASONS = {FULL: "No space left on device", CLOSED: "it is closed", LEFT: "Broken pipe"}


def run_in_shell(redirections: str, *arguments: str, **environment: str) -> Ended:
    """Run the command by a shell, which can close streams."""
    line = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, *COMMAND, *arguments]
    return ended(Process(line, env=ENVIRONMENT | environment, stdin=PIPE))


def ended(process: Process) -> Ended:
    """The end of a command that reads a card number, without a traceback."""
    with process:
        ended = process.collect(f"{CARD}\n")
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    return ended


def run_without_output(place: str, *arguments: str, **environment: str) -> Ended:
    """Run the command with standard output in a place where it cannot be written."""
    if place == CLOSED:
        return run_with_closed([1], *arguments, **environment)
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        return ended(start_command(arguments, environment, stdin=PIPE, stdout=writer if place == LEFT else full))
    finally:
        os.close(writer)
        os.close(full)


def run_with_closed(streams: Sequence[int], *arguments: str, **environment: str) -> Ended:
    """Run the command with closed standard streams, by their numbers."""
    return ended(start_command(arguments, environment, stdin=PIPE, closed=streams))


@pytest.fixture
def cards(sandbox: Sandbox, tmp_path: Path) -> Path:
    rows = (f"c{number},{CARD},1230,{sandbox.contact_id}\n" for number in range(3))
    (tmp_path / "cards.csv").write_text("key,account_number,exp_date,contact_id\n" + "".join(rows))
    return tmp_path / "cards.csv"


# --- writes


@pytest.mark.parametrize("place", [FULL, CLOSED, LEFT])
def test_sale(sandbox: Sandbox, environment: dict[str, str], place: str) -> None:
    """One sentence on standard error has the id of the payment, and the status is one of its own."""
    ended = run_without_output(place, "create", "transactions", *SALE, "--transaction-amount", "5.25", **environment)
    [payment] = sandbox.ledger()["transactions"]
    said = f"transaction {payment['id']} was created, but standard output cannot be written: {REASONS[place]}"
    assert (ended.returncode, ended.stderr) == (6, f"gateway-async: {said}\n")


def test_decline(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """A decline that cannot be printed still ends with status 3, and standard error tells its id."""
    ended = run_without_output(FULL, "create", "transactions", *SALE, "--transaction-amount", "6.16", **environment)
    [payment] = sandbox.ledger()["transactions"]
    assert ended.returncode == 3
    assert f"transaction {payment['id']} was created and declined, but" in ended.stderr


@pytest.mark.parametrize("redirections", [">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"])
def test_without_standard_error(environment: dict[str, str], redirections: str) -> None:
    """The status alone says that the record was made."""
    arguments = ("create", "contacts", "--last-name", "Ada")
    assert run_in_shell(redirections, *arguments, **environment).returncode == 6


@pytest.mark.parametrize("place", [CLOSED, FULL])
def test_lost_messages(sandbox: Sandbox, environment: dict[str, str], cards: Path, place: str) -> None:
    """A warning or a progress line that cannot be written stops nothing, and the output is complete."""
    fields = ("--account-number", CARD, "--exp-date", "1230", "--contact-id", sandbox.contact_id)
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        streams = {"closed": [2]} if place == CLOSED else {"stderr": full}
        stored = start_command(["create", "account_vaults", *fields], environment, **streams).collect()
        migrated = start_command(["migrate", str(cards)], environment, **streams).collect()
    assert (stored.returncode, json.loads(stored.stdout)["last_four"]) == (0, "1111")
    assert (migrated.returncode, "3 stored" in migrated.stdout) == (0, True)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("place", [FULL, CLOSED, LEFT])
def test_migration(
    sandbox: Sandbox, environment: dict[str, str], cards: Path, place: str, options: tuple[str, ...]
) -> None:
    """All rows are stored, and the status does not say that nothing was sent."""
    ended = run_without_output(place, "migrate", str(cards), *options, **environment)
    counts = "3 stored, 0 rejected, 0 repeated, 0 unknown"
    journal = cards.with_suffix(".journal")
    said = f"gateway-async: {counts}, in the journal {journal}, but standard output cannot be written: {REASONS[place]}"
    assert (ended.returncode, ended.stderr.splitlines()) == (6, [said])
    assert len(sandbox.ledger()["accountvaults"]) == 3


def test_departed_reader(environment: dict[str, str], cards: Path, start: Start) -> None:
    """The reader of its progress takes one line; the rows are stored, and the end is reported."""
    process = start("migrate", str(cards), "--json", "--rate", "1", **environment)
    assert process.stdout
    assert json.loads(process.stdout.readline())["event"] == "progress"
    process.stdout.close()
    assert process.wait(PATIENCE) == 6
    assert process.stderr
    assert "gateway-async: 3 stored, 0 rejected" in process.stderr.read()


def test_other_writes(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """A change of a record, an outcome in a ledger, a postback that waits again and an event of a sandbox."""
    ledger, lost, inbox = (tmp_path / name for name in ("payments.db", "lost.db", "inbox.db"))
    write(ledger, [OPEN], [])
    anyio.run(lose, sandbox, lost)
    sandbox.clear_faults()
    anyio.run(fill, SqliteInbox(inbox))
    said = {
        ("update", "contacts", sandbox.contact_id, "--city", "Rome"): f"contact {sandbox.contact_id} was updated",
        ("ledger", str(ledger), "--resolve", "order-17", "--as", "done"): r"the ledger was updated \(order-17 done\)",
        ("ledger", str(lost), "--recover"): r"the ledger was updated \(lost found \w+\)",
        ("inbox", str(inbox), "--replay-dead"): "postback 1 is waiting again",
        ("trigger", "contact.create"): r"contact.create was triggered with \w+",
    }
    for arguments, sentence in said.items():
        ended = run_without_output(FULL, *arguments, **environment)
        assert ended.returncode == (3 if arguments[0] == "trigger" else 6)
        assert re.fullmatch(
            f"gateway-async: {sentence}, but standard output .+: No space left on device\n", ended.stderr
        )


# --- reads


READS: dict[str, tuple[str, ...]] = {
    "help": ("--help",),
    "version": ("--version",),
    "get": ("get", "users", "me"),
    "list": ("list", "contacts"),
    "count": ("list", "contacts", "--count"),
    "check": ("check",),
    "ledger": ("ledger", "FILES/payments.db"),
    "inbox": ("inbox", "FILES/inbox.db", "--json"),
    "fields": ("migrate", "fields"),
    "journal": ("migrate", "journal", "FILES/cards.journal", "--state", "stored"),
    "verify": ("migrate", "verify", "--journal", "FILES/cards.journal"),
    "plan": ("migrate", "FILES/cards.csv", "--plan"),
    "sandbox": ("sandbox", "--port", "0"),
    "listen": ("listen", "--port", "0"),
    "demo": ("demo",),
}


async def store(sandbox: Sandbox, journal: Path) -> None:
    new = CardVaultCreate(
        contact_id=sandbox.contact_id, account_number=CARD, exp_date="1230", account_vault_api_id="c1"
    )
    async with sandbox.gateway() as gateway:
        await migrate_vaults(gateway, [new], journal=journal)


@pytest.mark.parametrize("place", [FULL, CLOSED])
@pytest.mark.parametrize("name", READS)
def test_a_lost_read(sandbox: Sandbox, environment: dict[str, str], cards: Path, name: str, place: str) -> None:
    """Nothing is said about a reader that has left, and one line about another place."""
    write(cards.parent / "payments.db", [OPEN], [])
    anyio.run(fill, SqliteInbox(cards.parent / "inbox.db"))
    anyio.run(store, sandbox, cards.with_suffix(".journal"))
    arguments = [each.replace("FILES", str(cards.parent)) for each in READS[name]]
    if place == FULL:
        left = run_without_output(LEFT, *arguments, **environment)
        assert (left.returncode, left.stderr) == (141, "")
    ended = run_without_output(place, *arguments, **environment)
    said = f"gateway-async: standard output cannot be written: {REASONS[place]}\n"
    assert (ended.returncode, ended.stderr) == (1, said)


def test_a_long_list_ends_when_its_reader_has_had_enough(
    sandbox: Sandbox, environment: dict[str, str], start: Start
) -> None:
    sandbox.add_vaults(3000)
    process = start("list", "account_vaults", **environment)
    assert process.stdout
    assert json.loads(process.stdout.readline())["id"]
    process.stdout.close()
    assert process.wait(PATIENCE) == 141
    assert process.stderr
    assert process.stderr.read() == ""


def test_nonblocking_pipe(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """Each record arrives, although the pipe is full again and again."""
    sandbox.add_vaults(2000)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with start_command(["list", "account_vaults"], environment, stdout=writer) as process:
        while select.select((), (writer,), (), 0)[1]:  # the pipe is not full yet
            time.sleep(0.01)
        os.close(writer)
        with open(reader, encoding="utf-8") as output:  # noqa: PTH123  a descriptor
            assert len([json.loads(record) for record in output]) == 2000
        assert process.wait(PATIENCE) == 0


# --- services


def test_sandbox_log(start: Start) -> None:
    """The sandbox serves on without one, and its end is the usual one."""
    process = start("sandbox", "--port", "0")
    assert process.stdout
    url = next(line.split()[-2] for line in process.stdout if "ready at" in line)
    for line in process.stdout:
        if "Press Ctrl-C" in line:
            break
    process.stdout.close()
    for _ in range(3):
        assert httpx.get(f"{url}/_sandbox/clock", trust_env=False).status_code == 200
    process.terminate()
    assert process.wait(PATIENCE) == 0


@pytest.mark.asyncio
async def test_listener(sandbox: Sandbox, gateway: AsyncGateway, environment: dict[str, str], start: Start) -> None:
    """A postback that cannot be shown is not acknowledged, and the configs are deleted."""
    process = start("listen", "--json", "--port", "0", "--create-configs", "--resource", "contact", **environment)
    assert process.stdout
    assert json.loads(process.stdout.readline())["event"] == "ready"
    process.stdout.close()
    contact = await gateway.contacts.create(ContactCreate(last_name="Ada"))
    assert await anyio.to_thread.run_sync(process.wait, PATIENCE) == 141
    assert process.stderr
    assert process.stderr.read() == ""
    assert [each["state"] for each in sandbox.postbacks(record_id=contact.id)] != ["delivered"]
    before = len(sandbox.postbacks())
    await gateway.contacts.create(ContactCreate(last_name="Ben"))
    assert len(sandbox.postbacks()) == before
