"""`gateway-async get`, `list`, `create`, `update` and `delete`: calls from a shell."""

import json
import re
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from gateway_async.cli import records
from gateway_async.resources import RESOURCES
from gateway_async.sandbox import Sandbox
from tests.support.in_process import run
from tests.support.leaks import shown_in
from tests.support.processes import Ended, run_on_terminal, start_command

CARD = "4111111111111111"


def parsed(ended: Ended) -> dict[str, Any]:
    assert (ended.returncode, ended.stderr) == (0, "")
    record: dict[str, Any] = json.loads(ended.stdout)
    return record


def run_with_input(text: str, environment: dict[str, str], *arguments: str) -> Ended:
    """Run a command that reads its standard input."""
    with start_command(arguments, environment, stdin=PIPE) as process:
        return process.collect(text)


@pytest.fixture
def contact(environment: dict[str, str]) -> dict[str, Any]:
    fields = ("last_name=Ada", "email_trx_receipt=true", "date_of_birth=2000-01-02", "contact_api_id=ada")
    ended = run("create", "contacts", *(f"--field={field}" for field in fields), **environment)
    assert ended.stderr.startswith("gateway-async: date_of_birth: other users can see it")
    return dict(json.loads(ended.stdout))


def test_create_and_get(contact: dict[str, Any], environment: dict[str, str]) -> None:
    """A text becomes the type of its field, and the record is read by its id or by the integrator's."""
    assert (contact["email_trx_receipt"], contact["date_of_birth"]) == (True, "***")
    by_id = parsed(run("get", "contacts", contact["id"], **environment))
    by_api_id = parsed(run("get", "contacts", "ada", "--api-id", "--expand", "location", **environment))
    assert (by_id["id"], by_api_id["id"]) == (contact["id"], contact["id"])
    assert by_api_id["location"]["id"] == environment["GATEWAY_LOCATION_ID"]


def test_fields_are_options(environment: dict[str, str]) -> None:
    """Hyphens and underscores are the same, `--field` is another way, and options come before a body."""
    created = parsed(
        run("create", "contacts", "--last-name", "Ada", "--contact_api_id", "a", "-f", "city=Rome", **environment)
    )
    assert (created["last_name"], created["contact_api_id"], created["city"]) == ("Ada", "a", "Rome")
    changed = parsed(run("update", "contacts", created["id"], "--first_name", "Eva", "--city=Oslo", **environment))
    assert (changed["first_name"], changed["city"]) == ("Eva", "Oslo")
    counted = [
        run("list", "contacts", option, "Ada", "--count", **environment).stdout
        for option in ("--last-name", "--last_name")
    ]
    assert counted == ["1\n", "1\n"]
    body = json.dumps({"last_name": "Ada", "city": "Rome"})
    assert (
        parsed(run_with_input(body, environment, "create", "contacts", "--data", "-", "--city", "Bonn"))["city"]
        == "Bonn"
    )


def test_secret_option(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """An option reads a secret from standard input too, and warns of one in the arguments."""
    fields = ("--exp-date", "1230", "--contact-id", sandbox.contact_id)
    created = run_with_input(f"{CARD}\n", environment, "create", "account_vaults", "--account-number", "@-", *fields)
    assert (parsed(created)["last_four"], CARD in created.stdout) == ("1111", False)
    more = ("--ssn4", "4829", "--extra", "userPin=7391")
    warned = run("create", "account_vaults", "--account-number", CARD, *more, *fields, **environment)
    assert (warned.returncode, json.loads(warned.stdout)["last_four"]) == (0, "1111")
    warnings = [line.partition("gateway-async: ")[2] for line in warned.stderr.splitlines()]
    seen = "other users can see it in the process list"
    named = [f"{name}: {seen} (expected @- and standard input)" for name in ("account_number", "ssn4")]
    assert sorted(warnings) == [*named, f"userPin: {seen}"]
    assert shown_in(warned.stdout + warned.stderr, ["4829", "7391"]) == []


@pytest.mark.parametrize(
    "arguments", [("get", "users", "me"), ("create", "contacts", "--last-name", "Ada"), ("list", "contacts")]
)
def test_json(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    """With `--json` a terminal gets a line for each record; without it, a person gets one that is easier to read."""
    shown = run_on_terminal(*arguments, "--json", **environment).stdout
    assert json.loads(shown)["id"]
    assert len(shown.splitlines()) == 1
    assert len(run_on_terminal(*arguments, **environment).stdout.splitlines()) > (0 if arguments[0] == "list" else 1)


def test_update_and_delete(contact: dict[str, Any], environment: dict[str, str]) -> None:
    """A change is printed; what is deleted cannot be read, with status 1."""
    assert parsed(run("update", "contacts", contact["id"], "-f", "city=Rome", **environment))["city"] == "Rome"
    deleted = run("delete", "contacts", contact["id"], **environment)
    assert (deleted.returncode, deleted.stdout, deleted.stderr) == (0, "", "")
    missing = run("get", "contacts", contact["id"], **environment)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith("gateway-async: GET /v2/contacts/")
    assert "(409)" in missing.stderr


def test_list(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """A list prints a record on each line, and filters by fields and times."""
    sandbox.add_vaults(25)
    listed = run("list", "account_vaults", "--account_type", "visa", "--sort", "-id", "--limit", "3", **environment)
    ids = [json.loads(line)["id"] for line in listed.stdout.splitlines()]
    assert (listed.returncode, len(ids), ids) == (0, 3, sorted(ids, reverse=True))
    counts = {
        ("--created_ts", "last 30 days"): "25\n",
        ("--created_ts", "2001-01-01..2002-01-01T12:00"): "0\n",
        ("--filter", "account_type=mc"): "0\n",
        ("--account_type", "visa,mc"): "25\n",
    }
    assert {given: run("list", "account-vaults", "--count", *given, **environment).stdout for given in counts} == counts


def test_a_card_number_in_an_argument_is_taken_with_a_warning(sandbox: Sandbox, environment: dict[str, str]) -> None:
    fields = ("-f", f"account_number={CARD}", "-f", "exp_date=1330", "-f", f"contact_id={sandbox.contact_id}")
    created = run("create", "account_vaults", *fields, **environment)
    assert (created.returncode, created.stdout) == (2, "")
    assert "account_number: other users can see it" in created.stderr
    assert "exp_date: must be MMYY" in created.stderr
    assert CARD not in created.stderr


@pytest.mark.parametrize("wrapped", [False, True])
def test_json_body(environment: dict[str, str], tmp_path: Path, wrapped: bool) -> None:
    """A body comes from a file or standard input, with or without the resource around it; a decline is status 3."""
    sale = {"action": "sale", "transaction_amount": 6.16, "account_number": CARD, "exp_date": "1230"}
    body = json.dumps({"transaction": sale} if wrapped else sale)
    (tmp_path / "sale.json").write_text(body)
    ledger = str(tmp_path / "payments.db")
    declined = run("create", "transactions", "--data", str(tmp_path / "sale.json"), "--ledger", ledger, **environment)
    record = json.loads(declined.stdout)
    assert (declined.returncode, declined.stderr, record["reason_code_id"]) == (3, "", 1616)
    assert len(run("ledger", ledger, "--all").stdout.splitlines()) == 1
    approved = ("--data", "-", "-f", "transaction_amount=1.00")
    assert (
        parsed(run_with_input(body, environment, "create", "transactions", *approved))["transaction_amount"] == "1.00"
    )


@pytest.mark.parametrize("form", ["{%s}", '{"accountvault": {%s}}', '{"accountvault": {}, "accountvault": {%s}}'])
def test_repeated_name(environment: dict[str, str], form: str) -> None:
    """One of two card numbers would be stored, so the body is refused, without a number."""
    body = form % f'"account_number": "{CARD}", "exp_date": "1230", "account_number": "5454545454545454"'
    ended = run_with_input(body, environment, "create", "account_vaults", "--data", "-")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--data: has account" in ended.stderr
    assert "more than once" in ended.stderr
    assert CARD not in ended.stderr


def test_inner_name(environment: dict[str, str]) -> None:
    """Of two items with one name, one would be lost."""
    body = '{"title": "Tea", "due_date": "2030-01-01", "item_list": {"Tea": 1, "Tea": 2}}'
    ended = run_with_input(body, environment, "create", "quick_invoices", "--data", "-")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--data: has Tea more than once" in ended.stderr


def test_a_sale_at_a_terminal_waits_until_the_customer_has_paid(sandbox: Sandbox, environment: dict[str, str]) -> None:
    fields = ("-f", "action=sale", "-f", "transaction_amount=1.00", "-f", f"terminal_id={sandbox.terminal_id}")
    assert parsed(run("create", "router_transactions", *fields, **environment))["status_id"] == 101


def test_unknown_outcome(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """A write whose outcome is unknown has a status of its own."""
    sandbox.fault("POST /v2/transactions", "close_after_commit")
    sandbox.fault("GET /v2/transactions/{id}", "error_before_commit", times=100)
    fields = ("-f", "action=sale", "-f", "transaction_amount=1.00", "-f", "exp_date=1230", "-f", "account_number=@-")
    ended = run_with_input(CARD, environment, "create", "transactions", *fields)
    assert (ended.returncode, ended.stdout) == (4, "")


WRONG = {
    ("create", "transactions", "-f", "actoin=sale"): "actoin: unknown field, did you mean action?",
    ("create", "transactions", "-f", "sale"): "--field: must have the form NAME=VALUE",
    ("create", "contacts", "-f", "city=Rome"): "last_name: is required",
    ("create", "contacts", "-f", "last_name=@none"): "last_name: cannot read the file: No such file or directory",
    ("create", "contacts", "-f", "last_name=A", "-f", "last_name=B"): "--field: a name is given more than once",
    ("create", "contacts", "-f", "last_name=A", "--last-name", "B"): "--field: a name is given more than once",
    ("create", "contacts", "--last-name", "A", "--city", "@-"): "city: standard input has no more lines",
    ("list", "contacts", "--filter", "x=1", "--filter", "x=2"): "--filter: a name is given more than once",
    ("create", "contacts", "--data", "none.json"): "--data: cannot read none.json: No such file or directory",
    ("list", "contacts", "--created_ts", "1..2"): "created_ts: not a range of times (expected TODAY",
    ("list", "contacts", "--filter", "x"): "--filter: must have the form NAME=VALUE",
    ("list", "contacts", "--color", "red"): "No such option: --color",
    ("create", "contacts", "--last-nam", "Ada"): "No such option: --last-nam (Possible options: --",
    ("get", "contacts", ""): "id: must not be empty",
    ("update", "postback_configs"): "Missing argument 'ID'.",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    """Each mistake is named, and status 2 says that nothing was sent."""
    ended = run_with_input("", environment, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert WRONG[arguments] in ended.stderr


def test_odd_characters(environment: dict[str, str]) -> None:
    """A record is whole in any encoding, and changes no terminal."""
    name = "Łovelace\x9b2J"
    for encoding in ("utf-8", "latin-1"):
        record = parsed(run("create", "contacts", "--last-name", name, PYTHONIOENCODING=encoding, **environment))
        assert record["last_name"] == name
    assert "\x9b" not in run("get", "contacts", record["id"], **environment).stdout


def test_own_user(sandbox: Sandbox, environment: dict[str, str]) -> None:
    """The id `me` is the user of the credentials."""
    assert parsed(run("get", "users", "me", **environment))["id"] == sandbox.user_id


def test_create_help() -> None:
    """The help of a create has the fields of all classes that it may send."""
    shown = run("create", "account_vaults", "-h").stdout
    assert [
        name for name in ("account-number", "routing", "ticket", "exp-date") if f"  --{name} VALUE" not in shown
    ] == []
    assert re.search(
        r"--contact-id VALUE +Required\.|--last-name VALUE +Required\.", run("create", "contacts", "-h").stdout
    )


@pytest.mark.parametrize("group", [records.GET, records.LIST, records.CREATE, records.UPDATE, records.DELETE])
def test_nouns(group: records.VerbGroup) -> None:
    """A verb has the resources of the client that have this method, and the help lists them."""
    resources = [*group.commands]
    shown = run(str(group.name), "--help").stdout
    assert [resource for resource in resources if resource not in shown] == []
    assert {*resources} <= RESOURCES.keys()
    assert ("tokens" in resources, "contacts" in resources) == (False, True)
