"""`gateway-async sandbox`: what it prints, what it serves, how it ends."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from gateway_async import AsyncGateway, ContactCreate, UserApiKey
from tests.support.processes import Facts, Process, Serve, Start, run
from tests.support.waiting import PATIENCE

KEYS = [
    "base_url",
    "developer_id",
    "user_id",
    "user_api_key",
    "user_hash_key",
    "username",
    "password",
    "domain",
    "location_id",
    "contact_id",
    "cc_product_transaction_id",
    "ach_product_transaction_id",
    "terminal_id",
]
LAST_LINE = "Press Ctrl-C to stop.\n"


def client(facts: Facts) -> AsyncGateway:
    credentials = UserApiKey(facts["user_id"], facts["user_api_key"])
    return AsyncGateway(facts["base_url"], developer_id=facts["developer_id"], credentials=credentials)


def welcome_of(process: Process) -> list[str]:
    """The lines that a person sees when the sandbox is ready."""
    assert process.stdout
    return [line.removesuffix("\n") for line in iter(process.stdout.readline, LAST_LINE)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_json(serve: Serve, number: signal.Signals) -> None:
    """`--json` prints one line with every fact, and a signal is the normal end: status 0, not a word more."""
    process, facts = serve()
    assert list(facts) == KEYS
    assert all(facts.values())
    assert process.stop(number) == (0, "", "")


@pytest.mark.asyncio
async def test_data_file(serve: Serve, tmp_path: Path) -> None:
    """With `--data`, ids, credentials and records are there again after a restart, at whatever address."""
    data = str(tmp_path / "sandbox.db")
    process, before = serve("--data", data)
    async with client(before) as gateway:
        contact = await gateway.contacts.create(ContactCreate(last_name="Smith", location_id=before["location_id"]))
    process.stop()
    _, after = serve("--data", data)
    assert {**after, "base_url": ""} == {**before, "base_url": ""}
    async with client(after) as gateway:
        assert (await gateway.contacts.get(contact.id)).last_name == "Smith"


def test_manual_terminals(serve: Serve) -> None:
    """With `--terminals manual` a sale waits until a card is presented; a signal ends the sandbox meanwhile."""
    process, facts = serve("--terminals", "manual")
    names = {"developer-id": "developer_id", "user-id": "user_id", "user-api-key": "user_api_key"}
    headers = {name: facts[fact] for name, fact in names.items()}
    sale = {"action": "sale", "payment_method": "cc", "transaction_amount": "1.00"}
    sale |= {name: facts[name] for name in ("location_id", "terminal_id")}
    with httpx.Client(base_url=facts["base_url"], headers=headers, trust_env=False) as http:
        with pytest.raises(httpx.ReadTimeout):
            http.post("/v2/routertransactions", json={"routertransaction": sale}, timeout=0.3)
        terminal = http.get(f"/_sandbox/terminals/{facts['terminal_id']}").json()
    assert [call["amount"] for call in terminal["waiting"]] == ["1.00"]
    assert process.stop() == (0, "", "")


def test_welcome(start: Start, tmp_path: Path) -> None:
    """Without `--json` a person gets lines to paste: no control character, and no space behind a backslash."""
    process = start("sandbox", "--port", "0", "--data", str(tmp_path / "sandbox.db"))
    lines = welcome_of(process)
    assert [line for line in lines if line != line.rstrip() or not line.isprintable()] == []
    (address,) = [line.strip() for line in lines if "/_sandbox/" in line]
    assert "POST /_sandbox/reset" in httpx.get(address, trust_env=False).json()["calls"]
    status, log, errors = process.stop(signal.SIGINT)
    assert (status, errors) == (0, "")
    assert log.split()[1:4] == ["GET", "/_sandbox/", "200"]


@pytest.mark.skipif((sh := shutil.which("sh")) is None, reason="pastes into sh")
def test_pasted_welcome(start: Start) -> None:
    """The `export` lines that are shown are all that `AsyncGateway.from_env()` needs."""
    lines = welcome_of(start("sandbox", "--port", "0"))
    exports = [line for line in lines if "export" in line]
    program = f"{sys.executable} -c 'import gateway_async; print(gateway_async.AsyncGateway.from_env())'"
    pasted = "\n".join([*exports, program])
    said = subprocess.check_output([str(sh), "-c", pasted], text=True, timeout=PATIENCE)  # noqa: S603  our own lines
    assert said == f"AsyncGateway('{exports[0].partition('=')[2]}')\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing/sandbox.db", "it cannot be opened or created (does its folder exist, and can you write to it?)"),
        ("sandbox.db", "another process is using it"),
        ("theirs.txt", "it is not a database"),
    ],
)
def test_unusable_file(serve: Serve, tmp_path: Path, name: str, reason: str) -> None:
    """A one-line error with status 1; another sandbox goes on, and another program's file is not changed."""
    process, _ = serve("--data", str(tmp_path / "sandbox.db"))
    theirs, data = tmp_path / "theirs.txt", tmp_path / name
    theirs.write_text("Dear sandbox, this is not a database. " * 20)
    before = theirs.read_bytes()
    ended = run("sandbox", "--json", "--port", "0", "--data", str(data))
    line = f"gateway-async: cannot use the data file {data}: {reason}\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", line)
    assert theirs.read_bytes() == before
    assert process.stop() == (0, "", "")


def test_postback_host() -> None:
    """An address where the name of a host is asked for is a one-line error with status 1."""
    ended = run("sandbox", "--json", "--port", "0", "--allow-postback-host", "http://shop.test/")
    line = "gateway-async: --allow-postback-host: must be host names or addresses, without scheme, port and path.\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", line)


def test_postback_hosts(serve: Serve) -> None:
    """Hosts that are allowed are taken, several too."""
    process, facts = serve("--allow-postback-host", "shop.test", "--allow-postback-host", "::1")
    assert facts["base_url"]
    assert process.stop() == (0, "", "")


@pytest.mark.parametrize(("options", "name"), [((), "json"), (("--postback-format", "form"), "form")])
def test_format_of_postbacks(serve: Serve, options: tuple[str, ...], name: str) -> None:
    """Postbacks are JSON, or forms with an option."""
    process, facts = serve(*options)
    shown = httpx.get(f"{facts['base_url']}/_sandbox/postbacks/format", trust_env=False)
    assert shown.json() == {"format": name}
    assert process.stop() == (0, "", "")


def test_request_log(start: Start) -> None:
    """Each request is a line with its status and what was wrong; keys, tokens and card numbers are not shown."""
    process = start("sandbox", "--port", "0")
    url = next(line.split()[-1] for line in welcome_of(process) if "_sandbox" in line).removesuffix("/_sandbox/")
    with httpx.Client(base_url=url, trust_env=False) as http:
        http.get("/v2/contacts", params={"user-api-key": "planted-key", "account_number": "4111111111111111"})
        http.delete("/v2/token/planted-token")
        http.get("/v2/contacts/4111111111111111")
        http.post("/_sandbox/clock", json={"then": 1})
    status, log, errors = process.stop()
    lines = [line.split()[1:4] for line in log.splitlines()]
    assert (status, errors) == (0, "")
    assert lines == [
        ["GET", "/v2/contacts", "401"],
        ["DELETE", "/v2/token/***", "401"],
        ["GET", "/v2/contacts/***", "401"],
        ["POST", "/_sandbox/clock", "400"],
    ]
    assert "developer-id" in log
    assert not any(secret in log for secret in ("planted", "4111"))


def test_closed_connection(start: Start) -> None:
    """A fault that closes the connection is shown as such."""
    process = start("sandbox", "--port", "0")
    url = next(line.split()[-1] for line in welcome_of(process) if "_sandbox" in line).removesuffix("/_sandbox/")
    plan = {"operation": "GET /v2/contacts", "fault": "reset_before_commit"}
    with httpx.Client(base_url=url, trust_env=False) as http:
        assert http.post("/_sandbox/faults", json=plan).status_code == 201
        with pytest.raises(httpx.NetworkError):
            http.get("/v2/contacts")
    assert "GET    /v2/contacts  no response" in process.stop()[1]


@pytest.mark.parametrize("options", [(), ("--quiet",)], ids=["", "quiet"])
def test_ignored_fields(start: Start, options: tuple[str, ...]) -> None:
    """A field that the gateway does not know is a line of the log; with `--quiet` nothing is printed."""
    process = start("sandbox", "--port", "0", *options)
    lines = [line.strip().removeprefix("export ") for line in welcome_of(process)]
    facts = dict(line.removeprefix("GATEWAY_").split("=") for line in lines if line.startswith("GATEWAY_"))
    headers = {name.lower().replace("_", "-"): facts[name] for name in ("DEVELOPER_ID", "USER_ID", "USER_API_KEY")}
    contact = {"last_name": "Ada", "location_id": facts["LOCATION_ID"], "color": "red"}
    with httpx.Client(base_url=facts["BASE_URL"], headers=headers, trust_env=False) as http:
        assert http.post("/v2/contacts", json={"contact": contact}).status_code == 201
    status, log, errors = process.stop()
    assert (status, errors) == (0, "")
    assert ("ignored unknown fields" in log, "color" in log, log == "") == (not options, not options, bool(options))


def test_host(serve: Serve) -> None:
    """With `--host` it listens beyond this machine, warns of that, and shows an address that can be called."""
    process, facts = serve("--host", "0.0.0.0")  # noqa: S104  what a container needs
    assert facts["base_url"].startswith("http://127.0.0.1:")
    assert httpx.get(f"{facts['base_url']}/_sandbox/", trust_env=False).status_code == 200
    line = "gateway-async: --host: every machine that reaches 0.0.0.0 can use this sandbox and its /_sandbox/ calls\n"
    assert process.stop() == (0, "", line)


def test_date_header(serve: Serve) -> None:
    """Responses have the date of the sandbox's clock, refused ones too."""
    _, facts = serve()
    with httpx.Client(base_url=facts["base_url"], trust_env=False) as http:
        http.post("/_sandbox/clock", json={"now": 1_000_000_000})
        assert http.get("/v2/contacts").headers["date"] == "Sun, 09 Sep 2001 01:46:40 GMT"
