"""`gateway-async migrate`: a file into the vault, and all that can be seen of it."""

import csv
import fcntl
import json
import os
import re
import signal
import sqlite3
import stat
import termios
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from subprocess import PIPE
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from gateway_async._secrets import luhn_valid
from gateway_async.cli.app import app
from gateway_async.cli.migrate.options import client_factory
from gateway_async.migration.journal import protocol
from gateway_async.migration.journal.store import SqliteJournal
from gateway_async.migration.rows.columns import FIELDS
from gateway_async.sandbox import Sandbox
from tests.support.leaks import shown_in
from tests.support.processes import PYTHON, Ended, Start, run, run_on_terminal, start_command
from tests.support.servers import POSTGRES, postgres_only
from tests.support.waiting import PATIENCE

MAPPED = ("--map", "Card No=account_number", "--map", "Expiry=exp_date", "--key", "Customer")


def card(number: int) -> str:
    """A test number of its own for each row."""
    body = f"411111{number:09d}"
    return next(body + str(digit) for digit in range(10) if luhn_valid(body + str(digit)))


def write(path: Path, rows: int, *, wrong: int = 0) -> Path:
    lines = ["Customer,Card No,Expiry"]
    lines += [f"c{row},{card(row)},{'13/30' if row < wrong else '12/30'}" for row in range(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def migrate(environment: Mapping[str, str], *arguments: str | Path) -> Ended:
    """Run `gateway-async migrate` to its end, in this process; what it prints holds no card number."""
    unset = dict.fromkeys(("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"))
    given = ["migrate", *map(str, arguments)]
    result = CliRunner().invoke(app, given, env={**unset, "COLUMNS": "80", **environment})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "411111" not in result.output
    return Ended(given, result.exit_code, result.stdout, result.stderr)


def migrate_apart(environment: Mapping[str, str], *arguments: str | Path) -> Ended:
    """The same in a process of its own, as it is installed."""
    ended = run("migrate", *map(str, arguments), **environment)
    assert "411111" not in ended.stdout + ended.stderr
    return ended


def said(ended: Ended) -> str:
    """Standard error as one line, without frames."""
    return " ".join(ended.stderr.replace("│", " ").split())


def events(ended: Ended) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ended.stdout.splitlines()]


def stored(sandbox: Sandbox) -> dict[str, int]:
    """How often each id was stored."""
    counts: dict[str, int] = sandbox.ledger()["stored"]
    return counts


def test_whole_migration(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """Rows are stored, rejects written, ids too, and both reports; the second run skips what is stored."""
    file = write(tmp_path / "cards.csv", 40, wrong=3)
    names = ("vaults.csv", "rejects.csv", "report.html", "report.json")
    out, rejects, html, values = (tmp_path / name for name in names)
    options = (*MAPPED, "--out", out, "--rejects", rejects, "--report", html, "--report-json", values)
    ended = migrate_apart(environment, file, *options)
    assert (ended.returncode, ended.stderr) == (3, "")
    for shown in ("3 of 40 were rejected", "37 stored", "exp_date: ", "are masked", str(out), str(rejects)):
        assert shown in ended.stdout
    assert set(stored(sandbox).values()) == {1}
    assert len(out.read_text().splitlines()) == 1 + len(stored(sandbox)) == 38
    assert rejects.read_text().splitlines()[1].startswith("c0,************")
    assert html.read_text().startswith("<!doctype html>")
    assert json.loads(values.read_text())["stored"] == 37
    again = migrate(environment, file, *options, "--json")
    assert events(again)[-1]["skipped"] == 37
    assert [*events(again)[-1]["files"]] == ["vault ids", "rejects", "JSON report", "report"]
    assert len(stored(sandbox)) == 37


def test_corrected_rejects(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """Rejects with card numbers are private; corrected, they are stored with the same journal."""
    file, rejects = write(tmp_path / "cards.csv", 5, wrong=2), tmp_path / "rejects.csv"
    migrate(environment, file, *MAPPED, "--rejects", rejects, "--rejects-with-card-numbers")
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600
    mended = tmp_path / "mended.csv"
    mended.write_text(rejects.read_text().replace("13/30", "12/30"))
    ended = migrate(environment, mended, *MAPPED, "--journal", tmp_path / "cards.journal")
    assert (ended.returncode, len(stored(sandbox))) == (0, 5)
    assert "over all runs: 5 rows: 5 stored, 0 rejected, 0 repeated, 0 unknown" in ended.stdout
    assert "this run: 2 stored, 0 rejected, 0 repeated, 0 unknown, 0 stored before" in ended.stdout
    assert "Complete: every row is stored." in ended.stdout


def test_earlier_rejects(environment: dict[str, str], tmp_path: Path) -> None:
    """When all rows have ended and none was rejected, they are set aside, and the command says where."""
    file, rejects = write(tmp_path / "cards.csv", 3, wrong=1), tmp_path / "rejects.csv"
    options = (*MAPPED, "--rejects", rejects, "--force")
    migrate(environment, file, *options)
    write(file, 4)
    stopped = migrate(environment, file, *options, "--max-rows", "1")
    assert (stopped.returncode, rejects.exists()) == (5, True)
    ended = migrate(environment, file, *options)
    assert (ended.returncode, rejects.exists(), (tmp_path / "rejects.csv~").exists()) == (0, False, True)
    assert f"the rejects of an earlier run are now in {rejects}~" in " ".join(ended.stdout.split())


def test_plan(tmp_path: Path) -> None:
    """A plan sends nothing and needs neither credentials nor a journal."""
    file = write(tmp_path / "cards.csv", 9, wrong=2)
    ended = migrate({}, file, *MAPPED, "--plan")
    assert (ended.returncode, ended.stderr) == (3, "")
    assert "9 rows, 7 can be sent" in ended.stdout
    assert "2 are rejected, 0 repeat the key of another row" in ended.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["cards.csv"]
    (event,) = events(migrate({}, file, *MAPPED, "--plan", "--json"))
    assert (event["event"], event["rows"]) == ("plan", 9)


def test_a_plan_of_standard_input_needs_no_journal(tmp_path: Path) -> None:
    text = write(tmp_path / "cards.csv", 3).read_text()
    result = CliRunner().invoke(app, ["migrate", "-", "--format", "csv", *MAPPED, "--plan"], input=text)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "3 rows, 3 can be sent" in result.stdout


@pytest.mark.parametrize("name", ["empty.csv", "header.csv", "empty.jsonl", "blank.jsonl"])
@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_empty_input(environment: dict[str, str], tmp_path: Path, name: str, plan: tuple[str, ...]) -> None:
    """An export may have failed. Nothing was sent."""
    contents = {"header.csv": "key,account_number,exp_date\n", "blank.jsonl": "\n\n"}
    (tmp_path / name).write_text(contents.get(name, ""))
    ended = migrate(environment, tmp_path / name, *plan)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"{name} has no rows (expected at least one)" in said(ended)


@pytest.mark.parametrize("plan", [(), ("--plan",)])
def test_empty_part(environment: dict[str, str], tmp_path: Path, plan: tuple[str, ...]) -> None:
    """A small file has fewer rows than parts, and a script that starts the parts must not take that for a failure."""
    file = write(tmp_path / "cards.csv", 2)
    for part, rows in (("1/3", 1), ("2/3", 1), ("3/3", 0)):
        ended = migrate(environment, file, *MAPPED, "--shard", part, "--json", *plan)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert events(ended)[-1]["rows"] == rows


def test_equal_figures(environment: dict[str, str], tmp_path: Path) -> None:
    """Plan, both runs, JSON, page, terminal, journal and verification have the same figures, which add up."""
    file, html, values = (tmp_path / name for name in ("cards.csv", "report.html", "report.json"))
    given = ["c0,4,1230", f"c0,{card(0)},12/30", f"c1,{card(1)},12/30", f"c0,{card(2)},12/30", f"c1,{card(1)},12/30"]
    given += ["short", f",{card(3)},12/30", f"c2,{card(4)},2030-09-27", f"c3,{card(5)},12/30", f"c3,{card(5)},13/30"]
    file.write_text("\n".join(["Customer,Card No,Expiry", *given]))
    expected = {"rows": 10, "stored": 3, "rejected": 5, "repeated": 2, "unknown": 0, "sending": 0}
    planned = migrate({}, file, *MAPPED, "--plan", "--json")
    (plan,) = events(planned)
    assert (planned.returncode, plan["rows"], plan["ready"]) == (3, 10, 3)
    assert (plan["rejected"], plan["repeated"], plan["duplicate_keys"]["examples"]) == (5, 2, [[5, 3], [6, 4]])
    for number in (1, 2):
        ended = migrate(environment, file, *MAPPED, "--report", html, "--report-json", values)
        report = json.loads(values.read_text())
        assert (ended.returncode, report["totals"]) == (3, expected)
        assert "3 stored · 5 rejected · 2 repeated · 0 unknown" in ended.stdout
        shown = dict(re.findall(r"<dt>(\w+)</dt><dd>([\d,]+)</dd>", html.read_text()))
        assert shown == {"Stored": "3", "Rejected": "5", "Repeated": "2", "Unknown": "0"}
        now, before = (3, 0) if number == 1 else (0, 3)
        for text in (ended.stdout, html.read_text()):
            assert f"{now} stored, 5 rejected, 2 repeated, 0 unknown, {before} stored before" in text
    counted = migrate({}, "journal", tmp_path / "cards.journal")
    assert [line.split() for line in counted.stdout.splitlines()] == [
        ["stored", "3"], ["rejected", "5"], ["repeated", "2"], ["unknown", "0"], ["sending", "0"], ["rows", "10"],
    ]  # fmt: skip
    rows = events(migrate({}, "journal", tmp_path / "cards.journal", "--json"))
    assert Counter(row["state"] for row in rows) == {"stored": 3, "rejected": 5, "repeated": 2}
    assert ("c1", "stored", card(1)[-4:]) in [(row["key"], row["state"], row["last_four"]) for row in rows]
    listed = migrate({}, "journal", tmp_path / "cards.journal", "--state", "repeated")
    assert "c0\t5\t" in listed.stdout
    assert "key: line 3 has the same key" in listed.stdout
    verified = migrate(environment, "verify", file, *MAPPED, "--json")
    (result,) = events(verified)
    assert (verified.returncode, result["matching"], result["not_stored"], result["totals"]) == (3, 3, 7, expected)
    assert "3 stored, 5 rejected, 2 repeated, 0 unknown" in migrate(environment, "verify", file, *MAPPED).stdout


def test_json_for_programs(environment: dict[str, str], tmp_path: Path) -> None:
    """One object a line and nothing else: progress, and the end with its status."""
    ended = migrate(environment, write(tmp_path / "cards.csv", 20), *MAPPED, "--json")
    *progress, end = events(ended)
    assert {event["event"] for event in progress} == {"progress"}
    assert (end["event"], end["stored"], end["complete"], end["exit_status"]) == ("end", 20, True, ended.returncode)


ON_DASK = ("--dask", "tcp://127.0.0.1:1", "--journal", "postgresql://127.0.0.1/cards", "--name", "n", "--rate", "5")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("none.csv",), "source: none.csv: No such file or directory"),
        ((".",), "FILE: . is not a file (expected - for a pipe to standard input)"),
        (("-", "--plan"), "format: not given and not clear from the file name"),
        (("cards.csv",), "'Card No': not a field of an account vault"),
        (("cards.csv",), "(expected --map 'Card No=FIELD' or --ignore 'Card No'"),
        (("cards.csv",), "gateway-async migrate fields lists the fields"),
        (("cards.csv", *MAPPED[:4], "--ignore", "Customer"), "key: no column names the rows (expected a column key"),
        (("cards.csv", *MAPPED[:4], "--ignore", "Customer", "--plan"), "or --key COLUMN"),
        (("keyless.jsonl",), "key: no column names the rows"),
        (("cards.csv", *MAPPED, "--map", "Card"), "--map: must have the form NAME=VALUE"),
        (("cards.csv", *MAPPED, "--map", "Card No=exp_date"), "--map: a name is given more than once"),
        (("cards.csv", *MAPPED, "--set", "city_name=X"), "'city_name' is not a field of an account vault"),
        (("cards.csv", *MAPPED, "--journal", "none/cards.journal"), "journal: folder "),
        (("cards.csv", *MAPPED, "--rejects", "cards.csv"), "rejects: cards.csv is the input"),
        (("cards.csv", *MAPPED, "--out", "none/out.csv"), "out: folder "),
        (("cards.csv", *MAPPED, "--report", "none/report.html"), "report: folder "),
        (("cards.csv", *MAPPED, "--report", "cards.csv", "--force"), "report: cards.csv is the input"),
        (("cards.csv", *MAPPED, "--report-json", "./cards.csv", "--force"), "report-json: cards.csv is the input"),
        (("cards.csv", *MAPPED, "--out", "cards.csv", "--force"), "out: cards.csv is the input"),
        (("cards.csv", *MAPPED, "--report", "cards.journal"), "report: cards.journal is the journal"),
        (("cards.csv", *MAPPED, "--out", "a.csv", "--rejects", "a.csv"), "rejects: a.csv is --out"),
        (("cards.csv", *MAPPED, "--report", "a", "--report-json", "a"), "report-json: a is --report"),
        (
            ("cards.csv", *MAPPED, "--report", "diary.html"),
            "not a report of a migration (expected --force to replace it)",
        ),
        (("cards.csv", *MAPPED, "--rejects", "/dev/null"), "rejects: /dev/null is not a regular file"),
        (("cards.csv", *MAPPED, "--journal", "\udcfc.journal"), "expected --name"),
        (("empty.csv", *MAPPED), "columns: none: the file is empty"),
        (("cards.csv", *MAPPED, "--rejects-with-card-numbers"), "only allowed with --rejects"),
        (("cards.csv", *MAPPED, "--window", "night"), "window: must be two times of day like 22:00-06:00"),
        (("cards.csv", *MAPPED, "--wait-for-window"), "only allowed with --window"),
        (("cards.csv", *MAPPED, "--redis", "redis://127.0.0.1"), "redis: only allowed with --dask"),
        (("cards.csv", *MAPPED, "--dask", "127.0.0.1:1"), "expected --journal postgresql://"),
        (("cards.csv", *MAPPED, *ON_DASK, "--redis", "redis://:planted@h:abc"), "redis: the port must be a number"),
        (("cards.csv", *MAPPED, *ON_DASK, "--shard", "1/2"), "shard: not allowed with --dask"),
        (("cards.csv", *MAPPED, "--shard", "1/2", "--rejects", "rejects.csv"), "rejects: not allowed with --shard"),
        (("cards.csv", *MAPPED, *ON_DASK, "--redis", "http://127.0.0.1"), "redis: must be redis://, rediss://"),
        (("cards.csv", *MAPPED), "GATEWAY_BASE_URL: is not set in the environment"),
    ],
)
def test_what_cannot_be_right_is_refused_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    content = write(tmp_path / "cards.csv", 2).read_text()
    (tmp_path / "diary.html").write_text("Dear diary")
    (tmp_path / "empty.csv").touch()
    (tmp_path / "keyless.jsonl").write_text('\n{"account_number": "4111 1111 1111 1111", "exp_date": "1230"}\n')
    ended = migrate({}, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in said(ended)
    assert (tmp_path / "cards.csv").read_text() == content


def test_foreign_journal(environment: dict[str, str], tmp_path: Path) -> None:
    """A journal of another migration is refused by both names, as ids are made of them."""
    file = write(tmp_path / "cards.csv", 1)
    assert migrate(environment, file, *MAPPED, "--name", "spring").returncode == 0
    ended = migrate(environment, file, *MAPPED, "--name", "autumn")
    assert ended.returncode == 1
    assert "'spring'" in said(ended)
    assert "'autumn'" in said(ended)
    no_journal = migrate(environment, file, *MAPPED, "--journal", file)
    assert (no_journal.returncode, "cannot be used: it is not a journal" in said(no_journal)) == (1, True)


def test_wrong_credentials(environment: dict[str, str], tmp_path: Path) -> None:
    """The command stops at once with status 1, and shows how to continue."""
    wrong = {**environment, "GATEWAY_USER_API_KEY": "wrong"}
    ended = migrate(wrong, write(tmp_path / "cards.csv", 50), *MAPPED)
    assert ended.returncode == 1
    assert "the credentials were not accepted" in ended.stdout
    assert "Continue with:" in ended.stdout


@postgres_only
def test_passwords(environment: dict[str, str], tmp_path: Path) -> None:
    """Neither the output nor a report has that of an address, or a constant of the command that must not be shown."""
    file, page, report = write(tmp_path / "cards.csv", 30), tmp_path / "report.html", tmp_path / "report.json"
    scheme, _, rest = POSTGRES.partition("://")
    journal = f"{scheme}://{rest.partition('@')[0]}:planted-82c1@{rest.partition('@')[2]}?application_name=x"
    command = ("migrate", str(file), *MAPPED, "--journal", journal, "--name", token_hex(6), "--set", "ssn4=4829")
    files = ("--report", str(page), "--report-json", str(report), "--max-rows", "1", "--force")
    told = ""
    for options in ((), ("--json",)):
        ended = run(*command, *files, *options, **environment)
        assert ended.returncode == 5, ended.stderr
        told += ended.stdout + ended.stderr + page.read_text() + report.read_text()
    assert shown_in(told, ["planted-82c1", "4829"]) == []
    shown = f"{rest.partition('@')[0]}:***@{rest.partition('@')[2]}?application_name=x' "
    assert told.count(shown) >= 4
    assert "--set 'ssn4=***'" in told
    assert "   # *** hides a secret: write it there, or take a database's password from PGPASSWORD" in told


def test_max_rows(
    sandbox: Sandbox, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--max-rows` is exact, and the command to continue with is without it; status 5."""
    file = write(tmp_path / "cards.csv", 30, wrong=2)
    for number, option in ((1, ("--max-rows", "3")), (2, ("--max_rows=3",))):
        monkeypatch.setattr("sys.argv", ["gateway-async", "migrate", *option, str(file), *MAPPED])
        ended = migrate(environment, *option, file, *MAPPED)
        assert (ended.returncode, len(stored(sandbox))) == (5, 3 * number)
        assert "maximum of 3 rows stored" in ended.stdout
        assert f"migrate {file} --map " in ended.stdout.partition("Continue with:")[2]


def test_stopped_rerun(environment: dict[str, str], tmp_path: Path) -> None:
    """Runs that stop before the rejects of an earlier one give their number, reasons and place, and keep their file."""
    file, rejects, values = write(tmp_path / "cards.csv", 7, wrong=2), tmp_path / "rejects.csv", tmp_path / "r.json"
    header, *rows = file.read_text().splitlines()
    file.write_text("\n".join([header, *reversed(rows)]), encoding="utf-8")  # the wrong ones are the last
    migrate(environment, file, *MAPPED, "--rejects", rejects)
    fuller = rejects.read_text()
    new = [f"new{row},{card(9 + row)},{expiry}" for row, expiry in enumerate(("13/30", *["12/30"] * 4))]
    file.write_text("\n".join([header, *new, rows[1], rows[0]]), encoding="utf-8")
    ended = migrate(environment, file, *MAPPED, "--max-rows", "1", "--rejects", rejects, "--report-json", values)
    report = json.loads(values.read_text())
    assert (ended.returncode, report["rejected"], report["totals"]["rejected"]) == (5, 1, 3)
    assert [reason["rows"] for reason in report["reasons"]] == [3]
    assert len(rejects.read_text().splitlines()) == 1 + 1
    assert "other rejects: 2 that this run did not reach, in the journal" in ended.stdout
    assert f"did not reach all rejects of an earlier one, which are in {rejects}~." in ended.stdout
    migrate(environment, file, *MAPPED, "--max-rows", "1", "--rejects", rejects)
    assert (tmp_path / "rejects.csv~").read_text() == fuller
    without = migrate(environment, file, *MAPPED, "--max-rows", "1")
    assert (without.returncode, "rejects: in the journal\n" in without.stdout) == (5, True)


def test_a_journal_that_does_not_count_delays_no_output_file(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: SqliteJournal) -> Any:
        await anyio.sleep_forever()

    monkeypatch.setattr(protocol, "RESPONSE_SECONDS", 0.3)
    monkeypatch.setattr(SqliteJournal, "counts", hang)
    file, rejects, values = write(tmp_path / "cards.csv", 5, wrong=2), tmp_path / "rejects.csv", tmp_path / "r.json"
    ended = migrate(environment, file, *MAPPED, "--rejects", rejects, "--report-json", values)
    report = json.loads(values.read_text())
    assert (ended.returncode, report["stored"], report["totals"]) == (3, 3, None)
    assert [reason["rows"] for reason in report["reasons"]] == [2]
    assert len(rejects.read_text().splitlines()) == 1 + 2


def test_unwritable_file(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written is status 1, also after `--max-rows`; a former report stays whole."""
    file, page = write(tmp_path / "cards.csv", 30), tmp_path / "report.html"
    assert migrate(environment, file, *MAPPED, "--report", page, "--max-rows", "1").returncode == 5
    former = page.read_text()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gateway_async.migration.output.files.os.fsync", full)
    ended = migrate(environment, file, *MAPPED, "--report", page, "--max-rows", "1")
    assert ended.returncode == 1
    assert "--report could not be written" in said(ended)
    assert "report: " not in ended.stdout
    assert (page.read_text(), [*tmp_path.glob("*.part")]) == (former, [])


def test_failure_share(environment: dict[str, str], tmp_path: Path) -> None:
    """The share counts ended rows, not those read ahead, which are all in a small file."""
    ended = migrate(environment, write(tmp_path / "cards.csv", 40), *MAPPED, "--rate", "20", "--json")
    *progress, _ = events(ended)
    assert len(progress) > 1
    for event in progress:
        assert event["share"] == pytest.approx(event["stored"] / 40, abs=0.05)


def test_too_many_rejects(environment: dict[str, str], tmp_path: Path) -> None:
    """Something may be wrong with the whole file."""
    file = write(tmp_path / "cards.csv", 300, wrong=9)
    ended = migrate(environment, file, *MAPPED, "--max-rejected", "3", "--rate", "50")
    assert ended.returncode == 5
    assert "more than 3 rows were rejected" in ended.stdout


def test_closed_window(environment: dict[str, str], tmp_path: Path) -> None:
    """The message says when the window opens."""
    now = time.localtime()
    window = f"{(now.tm_hour + 2) % 24:02}:00-{(now.tm_hour + 3) % 24:02}:00"
    ended = migrate(environment, write(tmp_path / "cards.csv", 3), *MAPPED, "--window", window)
    assert ended.returncode == 2
    assert f"window: {window} opens in" in said(ended)
    assert "expected --wait-for-window" in said(ended)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c(
    sandbox: Sandbox, environment: dict[str, str], tmp_path: Path, start: Start, number: int, status: int
) -> None:
    """Calls in progress end, files are written, and the printed command stores the rest once."""
    file, out = write(tmp_path / "cards.csv", 150), tmp_path / "vaults.csv"
    arguments = (str(file), *MAPPED, "--out", str(out))
    process = start("migrate", *arguments, "--rate", "5", **environment)
    until_some_are_stored(sandbox)
    os.kill(process.pid, number)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    assert "Finishing the calls in progress" in errors
    assert f"{PYTHON} -m gateway_async migrate {file}" in output
    assert 0 < len(out.read_text().splitlines()) - 1 == len(stored(sandbox)) < 150
    assert migrate(environment, *arguments).returncode == 0
    assert (len(stored(sandbox)), set(stored(sandbox).values())) == (150, {1})


def test_second_ctrl_c(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path, start: Start) -> None:
    """Even a call without a response ends; the next run looks up what may be stored, and nothing is twice."""
    file = write(tmp_path / "cards.csv", 4)
    sandbox.fault("POST /v2/accountvaults", "silence", times=4)
    process = start("migrate", str(file), *MAPPED, **environment)
    until_some_are_stored(sandbox, most=0)
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "exited immediately" in errors
    sandbox.clear_faults()
    assert migrate(environment, file, *MAPPED).returncode == 0
    assert (len(stored(sandbox)), set(stored(sandbox).values())) == (4, {1})


def test_silent_pipe(environment: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C ends the wait for a header."""
    arguments = ("migrate", "-", "--format", "csv", "--journal", str(tmp_path / "cards.journal"))
    with start_command(arguments, environment, stdin=PIPE) as process:
        assert process.stdin
        print("key,", end="", file=process.stdin, flush=True)
        while fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


def until_some_are_stored(sandbox: Sandbox, most: int = 3) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(stored(sandbox)) <= most:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_report(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """Gateway, location, input, begin and end with offset, totals of all runs, rejects: page, JSON, terminal."""
    file, rejects = write(tmp_path / "cards.csv", 12, wrong=2), tmp_path / "rejects.csv"
    html, values = tmp_path / "report.html", tmp_path / "report.json"
    options = (*MAPPED, "--rejects", rejects, "--report", html, "--report-json", values)
    assert migrate(environment, file, *options, "--max-rows", "4").returncode == 5
    ended = migrate(environment, file, *options)
    report = json.loads(values.read_text())
    begun, over = (datetime.fromisoformat(report[name]) for name in ("started_at", "ended_at"))
    assert begun.tzinfo is not None
    assert begun <= over <= datetime.now(UTC)
    assert (report["gateway"], report["location"], report["input"]) == (
        sandbox.base_url,
        sandbox.location_id,
        str(file),
    )
    totals = {"rows": 12, "stored": 10, "rejected": 2, "repeated": 0, "unknown": 0, "sending": 0}
    assert (report["stored"], report["totals"]) == (6, totals)
    assert (report["rejects"], report["journal"]) == (str(rejects), str(tmp_path / "cards.journal"))
    for shown in (html.read_text(), ended.stdout):
        for said in (sandbox.base_url, sandbox.location_id, str(file), str(rejects), str(begun), str(over)):
            assert said in shown
        assert "12 rows: 10 stored, 2 rejected, 0 repeated, 0 unknown" in shown
        assert "6 stored, 2 rejected, 0 repeated, 0 unknown, 4 stored before" in shown
    without = migrate(environment, file, *MAPPED)
    assert f"gateway-async migrate journal {tmp_path / 'cards.journal'} --state rejected\n" in without.stdout


def test_failures(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """Lookups without a result and rejected rows do not count. Other failures have a reason."""
    file, values = write(tmp_path / "cards.csv", 40), tmp_path / "report.json"
    migrate(environment, file, *MAPPED, "--max-rows", "1")
    with closing(sqlite3.connect(tmp_path / "cards.journal")) as journal, journal:
        journal.execute(
            "UPDATE vaults SET state = 'sending', api_id = 'other'"
        )  # as a kill leaves it, before it is sent
    with file.open("a") as more:
        more.write(f"twice,{card(1)},12/30\n")
    sandbox.fault("POST /v2/accountvaults", "rate_limit", times=3)
    options = ("--set", f"contact_id={'f' * 24}", "--name", "cards", "--report-json", values)
    refused = migrate(environment, file, *MAPPED, *options)
    report = json.loads(values.read_text())
    assert (refused.returncode, report["rejected"]) == (3, 41)
    assert (report["failed_attempts"], report["failures"]) == (
        3,
        [{"reason": "too many requests (429)", "attempts": 3}],
    )
    assert "3 attempts failed: 3 too many requests (429)" in refused.stdout


def test_fields() -> None:
    """Each field that a column can fill is listed, with its length and what requires it, as a table and as JSON."""
    listed = migrate({"COLUMNS": "200"}, "fields")
    assert listed.returncode == 0
    (line,) = [line for line in listed.stdout.splitlines() if line.startswith("account_number")]
    assert line.split("\t")[0] == "account_number"
    assert "a card; a bank account" in line
    assert "4 to 19" in line
    assert "--key" in run_on_terminal("migrate", "fields").stdout
    facts = {each["name"]: each for each in events(migrate({}, "fields", "--json"))}
    assert tuple(facts) == FIELDS
    assert facts["exp_date"]["required"] == "a card"
    assert (facts["title"]["minimum"], facts["title"]["maximum"], facts["title"]["required"]) == (1, 64, "")
    assert "checking, savings" in facts["account_type"]["meaning"]
    assert facts["dl_state"]["meaning"] == "text; only together with dl_number"
    assert all(each["meaning"] for each in facts.values())


def test_verify(environment: dict[str, str], tmp_path: Path) -> None:
    """Status 0 if all accounts match, 3 if rows of the input are not stored; also a sample and JSON."""
    file = write(tmp_path / "cards.csv", 12, wrong=1)
    migrate(environment, file, *MAPPED)
    ended = migrate(environment, "verify", "--journal", tmp_path / "cards.journal")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "11 accounts checked: 11 matching" in " ".join(ended.stdout.split())
    with_input = migrate(environment, "verify", file, *MAPPED)
    assert with_input.returncode == 3
    assert "not stored" in with_input.stdout
    (result,) = events(migrate(environment, "verify", file, *MAPPED, "--sample", "4", "--json"))
    assert (result["checked"], result["not_stored"], result["good"]) == (4, 1, False)
    for command in (("verify", "--journal"), ("journal",)):
        missing = migrate(environment, *command, tmp_path / "none.journal")
        assert (missing.returncode, "none.journal does not exist" in said(missing)) == (2, True)
    assert not (tmp_path / "none.journal").exists()


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_verification(environment: dict[str, str], tmp_path: Path, suffix: str) -> None:
    """Of 150 rows that are not stored and one account that differs, that one is shown first; reasons are counted."""
    file, out = write(tmp_path / "cards.csv", 153), tmp_path / f"findings.{suffix}"
    migrate(environment, file, *MAPPED, "--max-rows", "3")
    file.write_text(file.read_text().replace(f"c1,{card(1)},12/30", f"c1,{card(1)},11/30"))
    ended = migrate(environment, "verify", file, *MAPPED, "--out", out)
    assert ended.returncode == 3
    shown = ended.stdout.splitlines()
    first = next(line for line in shown if line.startswith("c"))
    assert first.split("\t")[:1] == ["c1"]
    assert "different" in first
    assert "… and 51 more; --out FILE writes all." in ended.stdout
    assert "150\tnot stored\trow: not migrated yet" in shown
    assert f"findings: {out}" in ended.stdout
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    lines = out.read_text().splitlines()
    findings = map(json.loads, lines) if suffix == "jsonl" else csv.DictReader(lines)
    assert Counter(finding["finding"] for finding in findings) == {"different": 1, "not stored": 150}
    again = migrate(environment, "verify", file, *MAPPED, "--out", out, "--json")
    (result,) = events(again)
    assert {"finding": "not stored", "reason": "row: not migrated yet", "rows": 150} in result["reasons"]
    (tmp_path / "diary.csv").write_text("Dear diary")
    refused = migrate(environment, "verify", file, *MAPPED, "--out", tmp_path / "diary.csv")
    assert (refused.returncode, "expected --force to replace it" in said(refused)) == (2, True)


def test_unreadable_vaults(sandbox: Sandbox, environment: dict[str, str], tmp_path: Path) -> None:
    """Wrong credentials, or a gateway that answers nothing: status 1, in a sentence, and not once for each row."""
    file = write(tmp_path / "cards.csv", 120)
    migrate(environment, file, *MAPPED)
    refused = migrate({**environment, "GATEWAY_USER_API_KEY": "wrong"}, "verify", file, *MAPPED)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the credentials were not accepted" in said(refused)
    sandbox.fault("GET /v2/accountvaults/{id}", "garbage", times=1000)
    gone = migrate(environment, "verify", file, *MAPPED)
    assert gone.returncode == 1
    assert "Stopped before the end: 100 accounts in a row could not be read" in gone.stdout


@pytest.mark.parametrize(("concurrency", "connections"), [(64, 100), (256, 256)])
def test_connections(
    environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, concurrency: int, connections: int
) -> None:
    """The client of a migration has as many connections as calls at the same time, and the usual 100 at least."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    use = client_factory(concurrency)().health().ordinary
    assert use is not None
    assert use.limit == connections
